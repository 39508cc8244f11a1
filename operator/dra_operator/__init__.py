"""Watches a cluster with Kopf, runs the scheduling cycle and feeds the binder.

`kopf run -m dra_operator --all-namespaces` imports this package for its handlers.
"""

import sys

# Kopf takes a second to import, and `dra-operator --help` comes by here as well.
if "kopf" in sys.modules:
    import dra_operator.program  # noqa: F401  registers them

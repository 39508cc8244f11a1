"""Every known reason why Kubernetes answers a world otherwise than we do, and where it comes from."""

import msgspec

from dra_oracle import rewriting
from dra_oracle.rewriting import Rewording


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A difference on purpose. `reword` puts the question so that Kubernetes has to answer as we do.

    `says` is part of what Kubernetes says wherever this is the reason.
    """

    name: str
    text: str
    reword: Rewording
    says: str = ""


REASONS = (
    Reason(
        name="failing-selector",
        text="A selector that fails on one device at run time ends the pod's attempt on all nodes; "
        "here that device does not match.",
        reword=rewriting.with_selections_spelled_out,
        says="CEL runtime error",
    ),
    Reason(
        name="all-beside-broken-pool",
        text="A request for all devices ends the pod's attempt on all nodes where the node reaches any incomplete or "
        "invalid pool; here it fails, on that node, only beside one that could hold devices it selects.",
        reword=rewriting.with_all_judged_by_its_own_pools,
        says="asks for all devices, but resource pool",
    ),
    Reason(
        name="all-against-constraint",
        text="A request for all devices of which one breaks a constraint ends the pod's attempt on all nodes; "
        "here the node, or that alternative, cannot serve it.",
        reword=rewriting.with_all_counted,
        says="because a claim constraint would not be satisfied",
    ),
    Reason(
        name="uncompilable-unnoticed",
        text="An expression that does not compile is noticed only when a device is put to it; here it makes its claim "
        "invalid.",
        reword=rewriting.with_what_does_not_compile_found_at_once,
    ),
    Reason(
        name="former-generation",
        text="A former generation that is complete by itself is used where the newer one has no slice for the node; "
        "here a pool counts by its newest generation in the whole cluster.",
        reword=rewriting.without_former_generations,
    ),
    Reason(
        name="slice-counts-disagree",
        text="Slices of one generation that name different resourceSliceCounts are counted by the first one seen; "
        "here such a pool is invalid, in whatever order its slices come.",
        reword=rewriting.without_broken_pools("disagreeing"),
    ),
    Reason(
        name="name-twice-in-pool",
        text="Two devices of one name make a pool invalid only where one node reaches both slices; here on every node.",
        reword=rewriting.without_broken_pools("duplicates"),
    ),
)

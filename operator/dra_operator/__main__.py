"""`dra-operator`: the operator as a program, with its own signals and exit code."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from dra_operator.settings import RENAMED, SETTINGS, Settings, SettingsError, flag_of

USAGE_ERROR = 2
# What differs from `kopf run`, where a laptop has one replica.
DEFAULTS = {"DRA_LEADER_ELECT": "true"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 0 after a clean stop, 1 after a failure, 2 for settings that cannot be used."""
    try:
        settings = Settings.from_environment({**DEFAULTS, **os.environ}, _flags(arguments))
    except SettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201  before there is a log
        return USAGE_ERROR
    # Only now, since Kopf takes a second to import.
    from dra_operator.program import run  # noqa: PLC0415

    return run(settings)


def _flags(arguments: Sequence[str] | None) -> Mapping[str, str]:
    parser = argparse.ArgumentParser(
        prog="dra-operator",
        description="Schedules and binds pods that need devices. Every flag is an environment variable, too.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Reads KUBECONFIG or the service account of its pod.",
    )
    for setting in SETTINGS:
        default = DEFAULTS.get(setting.variable, setting.default)
        parser.add_argument(
            setting.flag,
            f"--dra{setting.flag.removeprefix('-')}",
            dest=setting.flag,
            metavar="VALUE",
            help=f"{setting.help} ({setting.variable}, default: {default or 'none'})",
        )
    for old in RENAMED:
        parser.add_argument(flag_of(old), dest=flag_of(old), help=argparse.SUPPRESS)
    given = vars(parser.parse_args(arguments))
    return {flag: value for flag, value in given.items() if value is not None}


if __name__ == "__main__":
    sys.exit(main())

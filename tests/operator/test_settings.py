import subprocess
import sys
from pathlib import Path

import pytest

from dra_operator.settings import RENAMED, SETTINGS, LogFormat, Role, Setting, Settings, SettingsError


def test_nothing_has_to_be_set() -> None:
    settings = Settings.from_environment({})

    assert settings.roles == {Role.SCHEDULER, Role.BINDER, Role.NODECLAIMS}
    assert settings.scheduler_name == "dra-scheduler"
    assert settings.http_address == "127.0.0.1:8080"
    assert not settings.leader_elect


def test_variables_are_read() -> None:
    settings = Settings.from_environment(
        {
            "DRA_ROLES": " binder , kwok",
            "DRA_LEADER_ELECT": "TRUE",
            "DRA_LOG_FORMAT": "json",
            "DRA_SETTLE_SECONDS": "0.5",
        }
    )

    assert settings.roles == {Role.BINDER, Role.KWOK}
    assert settings.leader_elect
    assert settings.log_format is LogFormat.JSON
    assert settings.settle_seconds == 0.5


def test_gates_are_switched_by_name() -> None:
    gates = "DRAListTypeAttributes=true, DRAAdminAccess=false"
    features = Settings.from_environment({"DRA_FEATURE_GATES": gates}).feature_gates

    assert features.has("DRAListTypeAttributes")
    assert not features.has("DRAAdminAccess")
    assert features.has("DRADeviceTaintRules")


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    assert Settings.from_environment({"DRA_SCHEDULER_NAME": ""}).scheduler_name == "dra-scheduler"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("DRA_FEATURE_GATES", "DRAMagic=true", "unknown feature gate DRAMagic"),
        ("DRA_FEATURE_GATES", "DRAAdminAccess", "expected a comma list of GATE=true or GATE=false, got"),
        (
            "DRA_FEATURE_GATES",
            "DRAFractionalCapacityRange=false",
            "feature gate DRAFractionalCapacityRange is always on",
        ),
        ("DRA_ROLES", "scheduler,janitor", "expected a comma list of scheduler, binder, nodeclaims, kwok"),
        ("DRA_LEADER_ELECT", "yes", "expected true or false"),
        ("DRA_HTTP_ADDRESS", "8080", "expected host:port"),
        ("DRA_HTTP_ADDRESS", ":99999", "expected host:port"),
        ("DRA_LOG_FORMAT", "xml", "expected one of auto, console, json"),
        ("DRA_LOG_LEVEL", "loud", "expected one of debug"),
        ("DRA_CYCLE_PODS", "0", "expected a whole number from 1 to 10000"),
        ("DRA_SETTLE_SECONDS", "soon", "expected seconds from 0 to 60"),
        ("DRA_NODECLAIMS", "karpenter", "expected one of own, plan, gate, off"),
        ("DRA_GATE_TIMEOUT_SECONDS", "-1", "expected seconds from 0 to 86400"),
        ("DRA_LAUNCH_TIMEOUT_SECONDS", "0", "expected seconds from 1 to 86400"),
        ("DRA_WATCH_SILENCE_SECONDS", "nan", "expected seconds from 1 to 3600"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_what_was_expected(variable: str, value: str, expected: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({variable: value})

    assert str(refused.value).startswith(f"{variable}={value}: {expected}")
    assert "\n" not in str(refused.value)


def test_a_flag_stands_in_place_of_its_variable() -> None:
    assert Settings.from_environment({"DRA_ROLES": "janitor"}, {"--roles": "binder"}).roles == {Role.BINDER}


def test_two_processes_of_one_host_have_different_identities() -> None:
    assert Settings.from_environment({}).identity != Settings.from_environment({}).identity


@pytest.mark.parametrize(
    ("environment", "flags", "said"),
    [
        ({"DRA_OLD_SECONDS": "3"}, {}, "DRA_OLD_SECONDS is gone: set DRA_SETTLE_SECONDS instead"),
        ({}, {"--old-seconds": "3"}, "--old-seconds is gone: set --settle-seconds instead"),
        ({"DRA_DROPPED": "true"}, {}, "DRA_DROPPED is gone: leave it out"),
    ],
)
def test_a_setting_that_is_gone_is_refused_with_what_stands_in_its_place(
    environment: dict[str, str], flags: dict[str, str], said: str
) -> None:
    renamed = {"DRA_OLD_SECONDS": "DRA_SETTLE_SECONDS", "DRA_DROPPED": ""}

    with pytest.raises(SettingsError) as refused:
        Settings.from_environment(environment, flags, renamed=renamed)

    assert str(refused.value) == said


def test_a_setting_that_is_gone_and_empty_is_one_that_is_not_set() -> None:
    assert Settings.from_environment({"DRA_DROPPED": " "}, renamed={"DRA_DROPPED": ""}).roles


def test_what_stands_in_the_place_of_a_setting_that_is_gone_is_there() -> None:
    there = {one.variable for one in SETTINGS}

    assert not there & RENAMED.keys()
    assert {new for new in RENAMED.values() if new} <= there


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.variable)
def test_the_default_that_is_shown_is_one_that_can_be_set(setting: Setting) -> None:
    default = Settings.from_environment({})
    given = Settings.from_environment({setting.variable: setting.default})

    assert setting.field == "identity" or getattr(given, setting.field) == getattr(default, setting.field)
    assert setting.help.endswith(".")


def test_a_recording_goes_into_the_folder_that_is_named() -> None:
    assert Settings.from_environment({"DRA_RECORD": "/var/records"}).record == Path("/var/records")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dra_operator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_help_lists_every_variable_and_flag() -> None:
    shown = run("--help")

    assert shown.returncode == 0
    words = " ".join(shown.stdout.split()).replace("- ", "-")
    helps = [one.help.replace("- ", "-") for one in SETTINGS]
    assert [one.variable for one in SETTINGS if one.variable not in words or one.flag not in words] == []
    assert [text for text in helps if text not in words] == []


def test_a_flag_that_cannot_be_used_ends_the_program_with_one_line_and_code_2() -> None:
    refused = run("--roles", "janitor")

    assert refused.returncode == 2
    assert refused.stderr == "--roles janitor: expected a comma list of scheduler, binder, nodeclaims, kwok\n"


def test_help_does_not_wait_for_kopf() -> None:
    code = "import sys; sys.argv = ['dra-operator', '--help']\nimport dra_operator.__main__ as program\n"
    code += "try: program.main()\nexcept SystemExit: pass\nassert 'kopf' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60).returncode == 0

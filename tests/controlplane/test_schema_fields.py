"""The committed fields are those of the API servers that the tests build."""

from dra_controlplane.schema_fields import TARGET, rendered


def test_the_committed_fields_are_those_of_both_versions() -> None:
    assert TARGET.read_text() == rendered()

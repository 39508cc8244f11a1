from pathlib import Path

import msgspec
import pytest

from dra_controlplane.build import cache_root
from dra_oracle.build import SOURCE, OracleError, build_program
from dra_oracle.building import claim, device, held, piece, request, wish, world
from dra_oracle.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(900)

ONE = claim(request("r", wish()))


def test_the_program_is_built_once_into_the_cache(kubernetes: Kubernetes) -> None:
    assert build_program() == build_program()
    assert build_program().parent.parent == cache_root()


def test_a_failed_build_says_why(kubernetes: Kubernetes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "go"
    source.mkdir()
    (source / "go.mod").write_text((SOURCE / "go.mod").read_text())
    (source / "go.sum").write_text((SOURCE / "go.sum").read_text())
    (source / "main.go").write_text("package main\n\nfunc main() { unheardOf() }\n")

    with pytest.raises(OracleError, match="undefined: unheardOf"):
        build_program(source)


def test_a_world_that_kubernetes_cannot_read_is_refused(kubernetes: Kubernetes) -> None:
    odd = world([piece("s", device("a", capacity={"memory": {"value": "much"}}))], ONE)

    with pytest.raises(OracleError, match=r"cannot read this world: .*quantities"):
        kubernetes.ask(odd)


def test_an_unknown_feature_is_refused(kubernetes: Kubernetes) -> None:
    with pytest.raises(OracleError, match="no allocator feature"):
        kubernetes.ask(msgspec.structs.replace(world([], ONE), features=("Telepathy",)))


@pytest.mark.parametrize(
    ("taken", "verdict"),
    [
        ((), "allocated"),
        ((held("a"),), "impossible"),
        ((held("a", adminAccess=True),), "allocated"),
        ((held("a", shareID="x"),), "allocated"),
    ],
)
def test_what_is_held_is_sorted_as_kube_scheduler_does(
    kubernetes: Kubernetes, taken: tuple[object, ...], verdict: str
) -> None:
    shareable = device("a", allowMultipleAllocations=True)

    assert kubernetes.ask(msgspec.structs.replace(world([piece("s", shareable)], ONE), held=taken)).verdict == verdict


def test_selections_name_slice_and_position(kubernetes: Kubernetes) -> None:
    model = 'device.attributes["gpu.example.com"].model == "x"'
    slices = [piece("s", device("a", {"model": "y"}), device("b", {"model": "x"})), piece("t", device("c"), pool="q")]

    (selected,) = kubernetes.ask(world(slices, claim(request("r", wish("gpu", model))))).selections

    assert (selected.matching, selected.failing) == (((0, 1),), ((1, 0),))
    assert selected.possible == ("gpu.example.com",)


def test_the_search_is_counted_and_named(kubernetes: Kubernetes) -> None:
    answer = kubernetes.ask(world([piece("s", device("a"))], ONE))

    assert (answer.channel, answer.steps, len(answer.nanoseconds)) == ("incubating", 4, 1)

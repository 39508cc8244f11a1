from dra_oracle.parts import Part
from dra_oracle.shrinking import smallest
from dra_oracle.world import World
from dra_oracle.worlds import random_world


def has_a_taint(world: World) -> bool:
    return any(device.get("taints") for piece in world.slices for device in piece["spec"].get("devices", ()))


def test_nothing_is_left_but_what_the_difference_needs() -> None:
    seed = next(seed for seed in range(1_000) if has_a_taint(random_world(seed, frozenset(Part))))

    small = smallest(random_world(seed, frozenset(Part)), has_a_taint)

    assert (len(small.slices), len(small.claims), len(small.classes), len(small.held)) == (1, 0, 0, 0)
    assert set(small.slices[0]["spec"]["devices"][0]) == {"name", "taints"}


def test_a_world_that_an_error_comes_from_does_not_count() -> None:
    def fails_without_claims(world: World) -> bool:
        return bool(world.claims[0])

    assert len(smallest(random_world(0, frozenset(Part)), fails_without_claims).claims) == 1

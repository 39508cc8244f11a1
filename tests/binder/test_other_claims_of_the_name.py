"""An undo meets a claim of the name that is not the one it is about: somebody made it anew meanwhile."""

import msgspec

from dra_binder.turns import Turns
from dra_binder.undo import Leftover, discard, release
from dra_binding.world import World
from dra_scheduling.model.claims import ResourceClaim


async def test_a_claim_that_became_another_pods_before_the_undo_is_left_alone() -> None:
    world = World()
    world.add_extended()
    pod, theirs = world.pod(), world.add_stale("stale", uid="uid-of-another-pod")
    leftover = Leftover(pod=pod.key, uid=pod.metadata.uid, special=frozenset({theirs.key}), regular=frozenset())

    await release(world.ports.claims, Turns(), leftover, None)

    assert world.claim("stale") == theirs


async def test_a_claim_that_took_the_name_between_look_and_deletion_is_left_alone() -> None:
    world = World()
    world.add_extended()
    seen = world.add_stale("stale")
    world.server.remove(ResourceClaim, seen.key)
    anew = world.server.put(msgspec.structs.replace(seen, metadata=msgspec.structs.replace(seen.metadata, uid="")))

    await discard(world.ports.claims, seen)

    assert world.claim("stale") == anew

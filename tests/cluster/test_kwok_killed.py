"""The role `kwok` is killed at every write of a machine's life; the next one goes on where it stopped."""

import pytest

from dra_cluster.faults import Hold, Match
from dra_cluster.kwok import Kwok
from dra_cluster.operators import RunningOperator
from dra_cluster.proxy import Proxy

SLICES = r"/resourceslices"
LAUNCH = {
    "choose": Match(method="PATCH", path=r"/nodeclaims/[^/]+$", body="dra-scheduler.dev/instance"),
    "launch": Match(method="PATCH", path=r"/nodeclaims/[^/]+/status$", body="kwok://"),
    "come up": Match(method="POST", path=r"/nodes$"),
    "publish": Match(method="POST", path=rf"{SLICES}$"),
}
REMOVAL = {
    "remove the node": Match(method="DELETE", path=r"/nodes/[^/]+$"),
    "withdraw": Match(method="DELETE", path=rf"{SLICES}/[^/]+$"),
    "end the lease": Match(method="DELETE", path=r"/kube-node-lease/leases/[^/]+$"),
    "let go": Match(method="PATCH", path=r"/nodeclaims/[^/]+$", body=r'"finalizers":\[("karpenter.sh/termination")?\]'),
}


def hold_at(proxy: Proxy, match: Match, moment: str) -> Hold:
    hold = Hold()
    proxy.disturb(match, hold.before() if moment == "before" else hold.after())
    return hold


def kill_at(hold: Hold, provider: RunningOperator) -> None:
    hold.reached()
    provider.kill()
    hold.drop()
    provider.run()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", LAUNCH)
def test_a_launch_is_finished_by_the_next_one(
    kwok: Kwok, proxy: Proxy, provider: RunningOperator, write: str, moment: str
) -> None:
    hold = hold_at(proxy, LAUNCH[write], moment)
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kill_at(hold, provider)

    kwok.machines.until(name, "DevicesAsPromised", "True")
    assert kwok.published(name) == {1: [128, 2]}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_change_of_a_pool_is_finished_by_the_next_one(
    kwok: Kwok, proxy: Proxy, provider: RunningOperator, moment: str
) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", "True")
    hold = hold_at(proxy, Match(method="PUT", path=rf"{SLICES}/[^/]+$"), moment)
    kwok.annotate(name, restarts="*=again")
    kill_at(hold, provider)

    kwok.until_published(name, {2: [128, 2]})


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", REMOVAL)
def test_a_removal_is_finished_by_the_next_one(
    kwok: Kwok, proxy: Proxy, provider: RunningOperator, write: str, moment: str
) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", "True")
    hold = hold_at(proxy, REMOVAL[write], moment)
    kwok.end(name)
    kill_at(hold, provider)

    kwok.machines.gone(name)
    assert (kwok.node(name), kwok.slices(name), kwok.lease(name)) == ({}, [], {})

import pytest

from dra_cluster.binds import WRITES, assert_bound_once, begin_bind
from dra_cluster.faults import Hold
from dra_cluster.operators import RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import World


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_a_bind_is_finished_by_the_next_binder(
    world: World, proxy: Proxy, binder: RunningOperator, write: str, moment: str
) -> None:
    hold = Hold()
    proxy.disturb(WRITES[write], hold.before() if moment == "before" else hold.after())
    begin_bind(world)
    hold.reached()
    binder.kill()
    hold.drop()
    binder.run()

    assert_bound_once(world)

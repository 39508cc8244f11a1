"""NodePools as planning sees them: what every NodeClaim of a pool starts from."""

from collections.abc import Iterable

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.basics.resources import base_units
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeRequirement
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL


class PoolTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A NodePool that nodes may be made for.

    `min_values` are how many values of a label have to remain possible; `limits` are in base units.
    """

    pool: NodePool
    requirements: Requirements
    taints: tuple[Taint, ...]
    min_values: tuple[tuple[str, int], ...]
    limits: dict[str, int]

    @property
    def name(self) -> str:
        """The pool's name."""
        return self.pool.name


def template_of(pool: NodePool) -> PoolTemplate:
    """Return what NodeClaims of the pool start from."""
    spec = pool.spec.template.spec
    labels = {**pool.spec.template.metadata.labels, NODE_POOL_LABEL: pool.name}
    written = [Requirement(key=key, values=frozenset((value,))) for key, value in labels.items()]
    least: dict[str, int] = {}
    for requirement in spec.requirements:
        if requirement.min_values is not None:
            least[requirement.key] = max(least.get(requirement.key, 0), requirement.min_values)
    return PoolTemplate(
        pool=pool,
        requirements=Requirements.of_new_node(*written, *required(spec.requirements)),
        taints=spec.taints,
        min_values=tuple(sorted(least.items())),
        limits=dict(base_units({name: amount.nano for name, amount in pool.spec.limits.items()}).items())
        | {name: 0 for name, amount in pool.spec.limits.items() if amount.nano <= 0},
    )


def required(written: Iterable[NodeRequirement]) -> tuple[Requirement, ...]:
    """Return the sets of label values that the requirements of a NodePool, NodeClaim or InstanceType describe."""
    return tuple(map(Requirement.of, written))

"""Pools of devices from ResourceSlices, kept up to date slice by slice and found by node without walking all slices.

A pool is a driver and a name. Only slices of its highest generation in the whole cluster count, and whether they are
all there is judged for the whole cluster too, before anything is filtered by node.
"""

from dra_scheduling.basics.features import DEFAULT_FEATURES, DEVICE_TAINT_RULES, DEVICE_TAINTS, Features
from dra_scheduling.devices.generations import INCOMPLETE, INVALID, Pool, number_of
from dra_scheduling.devices.indexed_slice import EVERY_NODE, NO_NODE, DevicePlacement, IndexedSlice, NodePlace, Reach
from dra_scheduling.devices.ledger import Charge, Ledger
from dra_scheduling.devices.node_view import PoolOnNode, PoolProblem
from dra_scheduling.devices.partitionable_devices import charge_of
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.slices import Device, ResourceSlice

__all__ = [
    "EVERY_NODE",
    "INCOMPLETE",
    "INVALID",
    "NO_NODE",
    "NodePlace",
    "PoolIndex",
    "PoolOnNode",
    "PoolProblem",
    "Reach",
]


class PoolIndex:
    """Every pool of the cluster. It changes only through `apply` and `remove`, one slice at a time."""

    def __init__(self, features: Features = DEFAULT_FEATURES) -> None:
        self.features = features
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pieces: dict[str, IndexedSlice] = {}
        self._pools: dict[PoolKey, Pool] = {}
        self._anchored: dict[str, set[PoolKey]] = {}
        self._wide: set[PoolKey] = set()
        self._on_node: dict[str, tuple[PoolOnNode, ...]] = {}

    def apply(self, piece: ResourceSlice) -> Reach:
        """Add a slice, or replace the one of its name; return the nodes that this may concern."""
        known = self._pieces.get(piece.metadata.name)
        if known is not None and known.content.spec == piece.spec:
            return NO_NODE
        return self._exchange(known, IndexedSlice(piece, self.features, self._rules_in_order()))

    def remove(self, slice_name: str) -> Reach:
        """Let a slice go; return the nodes that this may concern."""
        known = self._pieces.get(slice_name)
        return NO_NODE if known is None else self._exchange(known, None)

    def apply_rule(self, rule: DeviceTaintRule) -> Reach:
        """Let a taint rule hold, instead of the one of its name; return the nodes that this may concern."""
        before = self._rules.get(rule.metadata.name)
        if before is not None and before.spec == rule.spec:
            return NO_NODE
        self._rules[rule.metadata.name] = rule
        return self._follow_rules([rule] if before is None else [before, rule])

    def remove_rule(self, name: str) -> Reach:
        """Let a taint rule hold no more; return the nodes that this may concern."""
        before = self._rules.pop(name, None)
        return NO_NODE if before is None else self._follow_rules([before])

    @property
    def rules_for_any_pool(self) -> tuple[DeviceTaintRule, ...]:
        """The taint rules that name no pool, by name: they hold for devices that are not published yet, too."""
        selectors = ((rule, rule.spec.device_selector) for rule in self._rules_in_order())
        return tuple(rule for rule, selector in selectors if selector is not None and selector.pool is None)

    def on_node(self, node: NodePlace) -> tuple[PoolOnNode, ...]:
        """Return the pools that the node reaches, by driver and pool name.

        A pool that is not complete or not valid is there too, and says so, even if the slices within reach are all
        obsolete and those of its present generation are still to come; so is one whose present generation is complete
        and only for other nodes. The answer is kept under the node's name: `forget_node` when its labels change.
        """
        found = self._on_node.get(node.name)
        if found is None:
            keys = sorted(self._wide | self._anchored.get(node.name, set()))
            views = (_view_of(self._pools[key], node) for key in keys)
            found = self._on_node[node.name] = tuple(view for view in views if view is not None)
        return found

    def has_slices(self, node: NodePlace) -> bool:
        """Whether the node reaches any slice, be it of an older generation or without devices."""
        keys = self._wide | self._anchored.get(node.name, set())
        return any(self._pools[key].is_seen_from(node) for key in keys)

    def wide(self) -> tuple[Pool, ...]:
        """Return the pools that nodes could reach by their labels, those that do not exist yet included, in order."""
        return tuple(self._pools[key] for key in sorted(self._wide))

    def find(self, key: PoolKey) -> Pool | None:
        """Return the pool of that name."""
        return self._pools.get(key)

    def forget_node(self, name: str) -> None:
        """Drop what is kept for a node that went or whose labels changed."""
        self._on_node.pop(name, None)

    def reach_of(self, key: PoolKey) -> Reach:
        """Return the nodes that may reach devices of the pool."""
        pool = self._pools.get(key)
        return NO_NODE if pool is None else pool.reach

    def problem(self, key: PoolKey) -> PoolProblem | None:
        """Return why a pool's devices must not be handed out, or None where they may or where there is no such pool."""
        pool = self._pools.get(key)
        return None if pool is None else pool.problem

    def reach_of_device(self, device: DeviceID) -> Reach:
        """Return the nodes that notice when the device is taken or becomes free.

        Where a pool has shared counters, these are all nodes of the pool.
        """
        pool = self._pools.get(device.pool_key)
        if pool is None:
            return NO_NODE
        home = self._home(device)
        if home is None or pool.totals:
            return pool.reach
        return home.placement(number_of(home, device.device)).reach

    def teach(self, key: PoolKey, ledger: Ledger) -> None:
        """Let the ledger remember what taken devices of the pool draw from its counters, as far as it is published."""
        pool = self._pools.get(key)
        if pool is None:
            return

        def charge(name: str) -> Charge | None:
            device = pool.current.device(name)
            return None if device is None else charge_of(device)

        ledger.learn(key, charge)

    def problems(self) -> tuple[tuple[PoolKey, PoolProblem], ...]:
        """Return the pools whose devices must not be handed out, in order, with the reasons."""
        return tuple((key, pool.problem) for key, pool in sorted(self._pools.items()) if pool.problem is not None)

    def device(self, device: DeviceID) -> Device | None:
        """Return the device as its pool's present generation publishes it, or None where it does not."""
        home = self._home(device)
        return None if home is None else home.devices[number_of(home, device.device)]

    def placement(self, device: DeviceID) -> DevicePlacement | None:
        """Return which nodes reach the device as its pool's present generation publishes it; None where it does not."""
        home = self._home(device)
        return None if home is None else home.placement(number_of(home, device.device))

    def is_reachable(self, device: DeviceID, node: NodePlace) -> bool:
        """Whether the device is published and the node reaches it."""
        home = self._home(device)
        return home is not None and bool(home.visible_on(node) >> number_of(home, device.device) & 1)

    def _home(self, device: DeviceID) -> IndexedSlice | None:
        pool = self._pools.get(device.pool_key)
        homes = pool.current.homes.get(device.device) if pool is not None else None
        return homes[0] if homes else None

    def _exchange(self, old: IndexedSlice | None, new: IndexedSlice | None) -> Reach:
        exchanged = [piece for piece in (old, new) if piece is not None]
        keys = {piece.key for piece in exchanged}
        before = {key: self._pools[key].standing for key in keys if key in self._pools}
        touched = NO_NODE
        for piece in exchanged:
            has_counters = piece.charges or piece.content.spec.shared_counters
            touched |= self.reach_of(piece.key) if has_counters else piece.reach
        if old is not None:
            del self._pieces[old.name]
            self._pools[old.key].remove(old)
        if new is not None:
            self._pieces[new.name] = new
            self._pools.setdefault(new.key, Pool(new.key, self.features)).add(new)
        for key in keys:
            if self._pools[key].standing != before.get(key) or self._pools[key].totals:
                touched |= self._pools[key].reach
        for piece in exchanged:
            self._register(piece)
        self._forget(touched)
        return touched

    def _register(self, piece: IndexedSlice) -> None:
        """Make the indexes by node say what is now true of the pool of a slice that came or went."""
        pool = self._pools.get(piece.key)
        if pool is None:
            return
        for node in piece.reach.nodes:
            if node in pool.nodes:
                self._anchored.setdefault(node, set()).add(pool.key)
            elif node in self._anchored:
                self._anchored[node].discard(pool.key)
                if not self._anchored[node]:
                    del self._anchored[node]
        if pool.wide:
            self._wide.add(pool.key)
        else:
            self._wide.discard(pool.key)
        if pool.is_gone:
            del self._pools[pool.key]

    def _rules_in_order(self) -> list[DeviceTaintRule]:
        if not (self.features.has(DEVICE_TAINT_RULES) and self.features.has(DEVICE_TAINTS)):
            return []
        return [rule for _, rule in sorted(self._rules.items())]

    def _follow_rules(self, changed: list[DeviceTaintRule]) -> Reach:
        """Taint anew what the changed rules select; return its reach."""
        rules = self._rules_in_order()
        touched = NO_NODE
        for piece in self._pieces.values():
            if any(piece.is_selected_by(rule) for rule in changed):
                piece.follow(rules)
                self._pools[piece.key].forget_views()
                touched |= self.reach_of(piece.key)
        self._forget(touched)
        return touched

    def _forget(self, touched: Reach) -> None:
        if touched.is_everywhere:
            self._on_node.clear()
        for node in touched.nodes:
            self._on_node.pop(node, None)


def _view_of(pool: Pool, node: NodePlace) -> PoolOnNode | None:
    """Return the pool as the node sees it, None where it sees nothing of it."""
    view = pool.current.view(pool, node)
    if view.everything:
        return view
    if pool.problem is None:
        return pool.superseded_on(node)
    return view if pool.is_seen_from(node) else None

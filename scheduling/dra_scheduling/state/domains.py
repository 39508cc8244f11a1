"""Verdicts on whole groups of nodes: those with one value of a label, such as a zone.

A rule that looks across nodes does not judge nodes one by one. It says which values of a label are closed to the pods
of a class, and keeps that up to date as pods come and go; only nodes of a value that was closed or opened are looked at
again. So a placement costs as many looks as it changes verdicts, however large the cluster is.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.state.change_log import ChangeLog, DomainChange
from dra_scheduling.state.node_state import NodeState

NOBODY = frozenset[str]()
OPEN: Mapping[str, Refusal] = {}


class NodeLabels:
    """Names of nodes by label and value. A label costs nothing before somebody asks for it."""

    __slots__ = ("_by_key", "_nodes")

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._by_key: dict[str, dict[str, set[str]]] = {}

    def values(self, key: str) -> Mapping[str, AbstractSet[str]]:
        """Return the values that nodes have of the label, each with the names of these nodes."""
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = {}
            for name, state in self._nodes.items():
                _add(found, name, state.node.metadata.labels.get(key))
        return found

    def nodes_with(self, key: str, value: str) -> AbstractSet[str]:
        """Return the names of the nodes with this value of the label."""
        return self.values(key).get(value, NOBODY)

    def changed(self, name: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
        """Take over the labels of a node; one that is not there has none."""
        for key, known in self._by_key.items():
            old, new = before.get(key), now.get(key)
            if old == new:
                continue
            if old is not None:
                known[old].discard(name)
                if not known[old]:
                    del known[old]
            _add(known, name, new)


class Domains:
    """Which values of one label of nodes are closed to the pods of a class, and why.

    `missing` is what is held against nodes without the label, None if they are open.
    """

    __slots__ = ("__weakref__", "_changes", "_closed", "_nodes", "key", "missing")

    def __init__(self, key: str, nodes: NodeLabels, changes: ChangeLog, missing: Refusal | None = None) -> None:
        self.key = key
        self.missing = missing
        self._nodes = nodes
        self._changes = changes
        self._closed = OPEN

    @property
    def values(self) -> Mapping[str, AbstractSet[str]]:
        """The values that nodes have of the label, each with the names of these nodes."""
        return self._nodes.values(self.key)

    def close(self, closed: Mapping[str, Refusal]) -> None:
        """Let these values be closed and no others. What is closed for another reason than before is judged anew."""
        before, self._closed = self._closed, closed
        for value in before.keys() | closed.keys():
            if before.get(value) != closed.get(value):
                self._changes.domain_changed(self, value)
                if value not in closed:
                    self._changes.openings += 1

    def refusal(self, labels: Mapping[str, str]) -> Refusal | None:
        """Return what is held against a node with these labels."""
        value = labels.get(self.key)
        return self.missing if value is None else self._closed.get(value)

    def refusal_of(self, value: str) -> Refusal | None:
        """Return why nodes with this value are closed."""
        return self._closed.get(value)

    def nodes_of(self, changes: Iterable[DomainChange]) -> frozenset[str]:
        """Return the nodes that are judged otherwise after these changes."""
        values = {one.value for one in changes if one.domains is self}
        return frozenset().union(*(self._nodes.nodes_with(self.key, value) for value in values))


def _add(known: dict[str, set[str]], name: str, value: str | None) -> None:
    if value is not None:
        known.setdefault(value, set()).add(name)

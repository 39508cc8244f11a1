"""Pods that ask for the same thing have one shape, and what is found out for one of them holds for all.

A shape is everything of a pod that a node's verdict depends on. Two pods whose claims were made from one template have
the same shape as long as neither claim is allocated.

What tells classes apart is what rules read (`Rule.signature`) and what pods take. Three pods ask for one cpu; the third
tolerates a taint. Names, labels that no rule reads and the images of containers make no difference:

>>> from dra_scheduling.allocation.pod_claims import ResolvedClaims
>>> from dra_scheduling.model.pods import Pod
>>> from dra_scheduling.wire import read_as
>>> asks = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
>>> plain, other, tolerant = (
...     read_as(Pod, {"metadata": {"name": name}, "spec": {"containers": [asks], "tolerations": tolerations}})
...     for name, tolerations in (("a", []), ("b", []), ("c", [{"key": "gpu", "operator": "Exists"}]))
... )
>>> cache, classes = PodClassCache(), ClassIndex()
>>> of_plain, of_other, of_tolerant = (
...     cache.shape_of(pod, ResolvedClaims(), classes) for pod in (plain, other, tolerant)
... )
>>> of_plain is of_other, of_plain is of_tolerant
(True, False)

A class has the verdicts of all nodes with it (`ranking`): a thousand pods of one class cost one look at every node, and
then one look for each node that changed. On a node without taints the third pod would fit just as well, so its class
need not even be asked there about taints: `plain_checks` are the rules that can keep the pods off a plain node.

>>> [check.rule.name for check in of_tolerant.checks], of_tolerant.plain_checks
(['NodeInitialized', 'NodeUnschedulable', 'TaintToleration'], ())
"""

from collections import OrderedDict
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.allocation.claim_validation import Title
from dra_scheduling.allocation.pod_claims import PodClaim, ResolvedClaims
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.resources import Resources
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import Split, extended_names, split
from dra_scheduling.extended_resources.special_claim import SpecialClaim, limit_refusal, special_claim
from dra_scheduling.fit.preferences import has_preferences
from dra_scheduling.fit.ranking import Ranking
from dra_scheduling.fit.rule import Rule
from dra_scheduling.fit.rules import DEFAULT_RULEBOOK, Rulebook, prepare
from dra_scheduling.model.claims import DeviceClaim, ResourceClaimSpec
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.host_ports import HostPort, host_ports

KEPT_SHAPES = 64
"""So many are kept in any case."""
KEPT_VERDICTS = 1_000_000
"""Verdicts of nodes that all shapes may hold together, some 200 bytes each; a shape by itself counts for some, too."""
OWN_WEIGHT = 20

NO_RESOURCES = frozenset[str]()

_encoder = msgspec.json.Encoder(enc_hook=str)


Asked = tuple[bytes, ...]
"""What claims ask for, as text: one claim after the other, under the names that messages use."""


class ExtendedNeed(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod needs on nodes that offer the same of its extended resources: from the node itself, and from DRA."""

    node: Resources
    special: SpecialClaim | None = None
    query: ClaimQuery | None = None
    """The claims of the pod, the special claim last; None where there is nothing to allocate."""


class Queries:
    """Queries by what claims ask for: pods that differ in anything else only have the answers of nodes in common.

    One lives as long as a shape has it.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known = WeakValueDictionary[Asked, ClaimQuery]()

    def of(self, asked: Asked, claims: tuple[ParsedClaim, ...]) -> ClaimQuery:
        """Return the query of these claims, which ask for this."""
        found = self._known.get(asked)
        if found is None:
            found = self._known[asked] = ClaimQuery(claims)
        return found


class PodClass:
    """What all pods of one shape need, with the verdicts of all nodes on it."""

    __slots__ = (
        "_asked",
        "_needs",
        "_queries",
        "_rulebook",
        "checks",
        "claims",
        "extended",
        "has_devices",
        "has_preferences",
        "plain_checks",
        "pod",
        "ports",
        "profile",
        "ranking",
        "requests",
        "resolved",
    )

    def __init__(
        self,
        pod: Pod,
        resolved: ResolvedClaims,
        claims: tuple[ParsedClaim, ...],
        queries: Queries | None = None,
        rulebook: Rulebook = DEFAULT_RULEBOOK,
    ) -> None:
        self.pod = pod
        self.resolved = resolved
        self.claims = claims
        self._queries = Queries() if queries is None else queries
        self._asked = tuple(map(_claim_key, resolved.unallocated))
        self.requests = pod_requests(pod)
        self.ports: tuple[HostPort, ...] = host_ports(pod)
        self.extended = extended_names(self.requests)
        self._rulebook = rulebook
        self.profile = rulebook.profile
        """What makes a node better for the pods than another one."""
        self.checks = prepare(rulebook.rules, self, rulebook.view)
        """The rules that have something to ask for the pods."""
        self.plain_checks = tuple(check for check in self.checks if check.rule.minds_plain_hosts)
        """Those of them that may keep the pods off a plain node; the others need not be asked there."""
        self.has_preferences = has_preferences(pod)
        self.has_devices = bool(self.extended or resolved.claims)
        domains = [one for check in self.checks if (one := check.domains) is not None]
        self.ranking = Ranking(domains, rulebook.profile.order())
        self._needs: dict[frozenset[str], ExtendedNeed | Refusal] = {}

    def apart(self) -> "PodClass":
        """Return the same class without the answers that are kept for it."""
        return PodClass(self.pod, self.resolved, self.claims, rulebook=self._rulebook)

    def need_on(self, offered: frozenset[str], classes: ClassIndex) -> ExtendedNeed | Refusal:
        """Return what the pods need on a node that offers these resources; found out once per kind of node."""
        kind = self.extended & offered if self.extended else NO_RESOURCES
        need = self._needs.get(kind)
        if need is None:
            need = self._needs[kind] = self._need(split(self.requests, kind, classes), classes)
        return need

    def _need(self, choice: Split | Refusal, classes: ClassIndex) -> ExtendedNeed | Refusal:
        if isinstance(choice, Refusal):
            return choice
        special = special_claim(self.pod, choice.dra) if choice.dra else None
        if special is None or not special.requests:
            return ExtendedNeed(node=choice.node, query=self._query(self._asked, self.claims))
        refusal = limit_refusal(special)
        if refusal is not None:
            return refusal
        spec = ResourceClaimSpec(devices=DeviceClaim(requests=special.requests))
        title = _special_name(choice)
        parsed = parse_claim(Title(title, dict(special.words)), spec, classes.classes)
        if isinstance(parsed, Refusal):
            return parsed
        asked = (*self._asked, _encoder.encode((title, special.words, special.requests)))
        return ExtendedNeed(node=choice.node, special=special, query=self._query(asked, (*self.claims, parsed)))

    def _query(self, asked: Asked, claims: tuple[ParsedClaim, ...]) -> ClaimQuery | None:
        return self._queries.of(asked, claims) if claims else None


class PodClassCache:
    """The shapes seen last, the least used forgotten first; all of them once a DeviceClass changes.

    Their number is bounded by what they hold, not by itself: with one shape more than are kept, each of them would be
    forgotten just before its turn, and every pod would cost a look at every node.
    """

    __slots__ = ("_features", "_kept_verdicts", "_queries", "_revision", "_rulebook", "_shapes")

    def __init__(
        self,
        features: Features = DEFAULT_FEATURES,
        kept_verdicts: int = KEPT_VERDICTS,
        rulebook: Rulebook = DEFAULT_RULEBOOK,
    ) -> None:
        self._rulebook = rulebook
        self._features = features
        self._kept_verdicts = kept_verdicts
        self._shapes: OrderedDict[tuple[bytes, ...], PodClass] = OrderedDict()
        self._queries = Queries()
        self._revision = -1

    def shape_of(self, pod: Pod, resolved: ResolvedClaims, classes: ClassIndex) -> PodClass | Refusal:
        """Return the pod's shape, or why its claims cannot be read as they stand."""
        if self._revision != classes.revision:
            self._shapes.clear()
            self._queries = Queries()
            self._revision = classes.revision
        key = _key(pod, resolved, self._rulebook.rules)
        shape = self._shapes.get(key)
        if shape is not None:
            self._shapes.move_to_end(key)
            return shape
        parsed: list[ParsedClaim] = []
        for item in resolved.unallocated:
            claim = parse_claim(display_name(item), item.claim.spec, classes.classes, self._features)
            if isinstance(claim, Refusal):
                return claim
            parsed.append(claim)
        shape = self._shapes[key] = PodClass(pod, resolved, tuple(parsed), self._queries, self._rulebook)
        self._make_room()
        return shape

    def _make_room(self) -> None:
        held = sum(OWN_WEIGHT + len(shape.ranking) for shape in self._shapes.values())
        while held > self._kept_verdicts and len(self._shapes) > KEPT_SHAPES:
            _, oldest = self._shapes.popitem(last=False)
            held -= OWN_WEIGHT + len(oldest.ranking)


def display_name(item: PodClaim) -> str:
    """Return what a person calls the claim: its own name, or the pod's name for it where a controller made it up."""
    return item.name if item.claim.metadata.controller is not None else item.claim.metadata.name


def _key(pod: Pod, resolved: ResolvedClaims, rules: tuple[Rule[Any], ...]) -> tuple[bytes, ...]:
    """Return all of the pod that a node's verdict may depend on: what the rules read, and what the pod takes.

    No volumes: a pod that needs a PersistentVolumeClaim is refused before, and the server gives every pod a volume of
    a name of its own (`kube-api-access-...`), with which no two pods would ever have one shape.
    """
    spec = pod.spec
    own = _encoder.encode(
        (
            [rule.signature(pod) for rule in rules],
            spec.affinity,
            spec.overhead,
            spec.resources,
            spec.containers,
            spec.init_containers,
        )
    )
    return (own, *(_claim_key(item) for item in resolved.claims))


def _claim_key(item: PodClaim) -> bytes:
    if item.allocation is not None:
        return _encoder.encode((str(item.claim.key), item.allocation.node_selector, item.allocation.devices.results))
    return _encoder.encode((display_name(item), item.claim.spec))


def _special_name(choice: Split) -> str:
    """Return what a person calls the special claim, which nobody has seen: by the resource names in the pod."""
    return f"extended resource{'s' if len(choice.dra) > 1 else ''} {', '.join(choice.dra)}"

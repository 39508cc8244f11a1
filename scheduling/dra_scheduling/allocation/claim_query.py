"""What the claims of one pod ask for, ready to be asked of many nodes: made once for all pods of a shape."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from dra_scheduling.allocation.allocation_outcomes import Answer
from dra_scheduling.allocation.claim_requests import ParsedClaim
from dra_scheduling.allocation.deadline import IsLate
from dra_scheduling.allocation.flat_requests import FlatRequest, RequestFrame, asks_of, frame_of
from dra_scheduling.allocation.node_answers import NodeAnswers
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.attributes import AttributeKey
from dra_scheduling.devices.evaluation_budget import EvaluationBudget
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.devices.pool_signature import PoolSignature, outlook
from dra_scheduling.devices.selector_evaluation import learn

MAX_KEPT_FRAMES = 256
MAX_KEPT_ANSWERS = 16_384


class NodeDevices(NamedTuple):
    """What a search sees of a node: nodes of one `content` give the same answer, in terms of the devices that count.

    `kept` has those of each pool: a device goes by its place among them.
    """

    content: Hashable
    kept: tuple[int, ...]


class ClaimQuery:
    """The requests of all claims with their alternatives, and the answers that nodes gave.

    Answers are kept by what a search sees of a node, so that nodes whose devices look the same are searched once, and
    in `on_nodes` by node for whoever knows what has changed since.
    """

    __slots__ = (
        "__weakref__",
        "_answers",
        "_frames",
        "asks",
        "attributes",
        "claims",
        "on_nodes",
        "outlook",
        "rules",
        "wishes",
    )

    def __init__(self, claims: Sequence[ParsedClaim]) -> None:
        self.claims = tuple(claims)
        self.asks = asks_of(claims)
        self.rules = tuple(rule for claim in claims for rule in claim.rules)
        everyone = [ask for alternatives in self.asks for ask in alternatives]
        self.wishes = tuple(dict.fromkeys(ask.alternative.wish for ask in everyone))
        self.attributes = tuple(dict.fromkeys(source for ask in everyone for source in ask.sources))
        self.outlook = outlook(
            self.wishes, self.attributes, wants_taken=any(ask.alternative.is_admin for ask in everyone)
        )
        self.on_nodes = NodeAnswers()
        self._frames: dict[tuple[int, ...], RequestFrame] = {}
        self._answers: dict[Hashable, Answer] = {}

    def frame(self, choice: tuple[int, ...]) -> RequestFrame:
        """Return the frame of one alternative a request, given by position."""
        found = self._frames.get(choice)
        if found is None:
            if len(self._frames) >= MAX_KEPT_FRAMES:
                self._frames.clear()
            chosen: list[FlatRequest] = [
                alternatives[number] for alternatives, number in zip(self.asks, choice, strict=True)
            ]
            found = self._frames[choice] = frame_of(chosen, self.rules)
        return found

    def learn(self, pools: Iterable[PoolOnNode], is_late: IsLate) -> bool:
        """Put all selectors to the devices of the pools; return whether there was time for it."""
        pace = EvaluationBudget(is_late)
        return all(learn(pool, self.wishes, pace) for pool in pools)

    def kept_sight(self, pools: tuple[PoolOnNode, ...], ledger: Ledger) -> NodeDevices | None:
        """Return what a search for this sees of a node, None where that takes an evaluation to know."""
        likenesses: list[PoolSignature] = []
        for pool in pools:
            likeness = pool.kept_likeness(self.outlook, ledger)
            if likeness is None or pool.pool.problem is not None:
                return None
            likenesses.append(likeness)
        return self._sight_of(likenesses)

    def sight(self, pools: tuple[PoolOnNode, ...], ledger: Ledger) -> NodeDevices | None:
        """Return what a search for this sees of a node, None where that would not say why a pool is not usable."""
        if any(pool.pool.problem is not None for pool in pools):
            return None
        return self._sight_of([pool.likeness(self.outlook, ledger) for pool in pools])

    def _sight_of(self, likenesses: Sequence[PoolSignature]) -> NodeDevices:
        if len(likenesses) == 1 and len(self.attributes) <= 1:
            return NodeDevices(likenesses[0].face, (likenesses[0].kept,))
        values = [value for likeness in likenesses for column in likeness.values for value in column]
        faces = [likeness.face for likeness in likenesses]
        return NodeDevices((*faces, _equalities(values)), tuple(likeness.kept for likeness in likenesses))

    def known(self, sight: NodeDevices) -> Answer | None:
        """Return what a node gave that looks the same, its devices numbered as the sight says."""
        return self._answers.get(sight.content)

    def keep(self, sight: NodeDevices, answer: Answer) -> None:
        """Keep the answer of a node for all that look the same."""
        if len(self._answers) >= MAX_KEPT_ANSWERS:
            self._answers.clear()
        self._answers[sight.content] = answer


def _equalities(values: Iterable[AttributeKey]) -> tuple[int, ...]:
    """Return the values as numbers, equal ones alike: pools look the same with other values that agree as these do."""
    numbers: dict[AttributeKey, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)

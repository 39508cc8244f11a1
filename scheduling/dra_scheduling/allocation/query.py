"""What the claims of one pod ask for, ready to be asked of many nodes: made once for all pods of a shape."""

from collections.abc import Sequence

from dra_scheduling.allocation.asks import Ask, Frame, asks_of, frame_of
from dra_scheduling.allocation.claimspecs import ParsedClaim
from dra_scheduling.allocation.outcomes import Answer
from dra_scheduling.ledger import Ledger
from dra_scheduling.pools import NodePool
from dra_scheduling.pools.faces import Face, outlook

MAX_KEPT_FRAMES = 256
MAX_KEPT_ANSWERS = 16_384


class Query:
    """The requests of all claims with their alternatives, and the answers that nodes gave.

    Answers are kept by what a search sees of a node, so that nodes whose devices look the same are searched once.
    """

    __slots__ = ("_answers", "_frames", "asks", "attributes", "claims", "outlook", "rules", "wishes")

    def __init__(self, claims: Sequence[ParsedClaim]) -> None:
        self.claims = tuple(claims)
        self.asks = asks_of(claims)
        self.rules = tuple(rule for claim in claims for rule in claim.rules)
        everyone = [ask for alternatives in self.asks for ask in alternatives]
        self.wishes = tuple(dict.fromkeys(ask.alternative.wish for ask in everyone))
        self.attributes = tuple(dict.fromkeys(source for ask in everyone for source in ask.sources))
        self.outlook = outlook(self.wishes, self.attributes)
        self._frames: dict[tuple[int, ...], Frame] = {}
        self._answers: dict[tuple[Face, ...], Answer] = {}

    def frame(self, choice: tuple[int, ...]) -> Frame:
        """Return the frame of one alternative a request, given by position."""
        found = self._frames.get(choice)
        if found is None:
            if len(self._frames) >= MAX_KEPT_FRAMES:
                self._frames.clear()
            chosen: list[Ask] = [alternatives[number] for alternatives, number in zip(self.asks, choice, strict=True)]
            found = self._frames[choice] = frame_of(chosen, self.rules)
        return found

    def faces(self, pools: tuple[NodePool, ...], ledger: Ledger) -> tuple[Face, ...] | None:
        """Return what a search for this sees of a node, None where that would not say why a pool is not usable."""
        asking = self.outlook
        faces: list[Face] = []
        for pool in pools:
            if pool.pool.problem is not None:
                return None
            faces.append(pool.face(asking, ledger))
        return tuple(faces)

    def known(self, faces: tuple[Face, ...]) -> Answer | None:
        """Return what a node with these faces answered."""
        return self._answers.get(faces)

    def keep(self, faces: tuple[Face, ...], answer: Answer) -> None:
        """Keep the answer of a node for all that look the same."""
        if len(self._answers) >= MAX_KEPT_ANSWERS:
            self._answers.clear()
        self._answers[faces] = answer

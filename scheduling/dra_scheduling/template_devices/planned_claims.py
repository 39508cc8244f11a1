"""The claims of one pod: which are settled already, and what the others ask for."""

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType

from dra_scheduling.allocation.allocation_outcomes import Answer
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim
from dra_scheduling.allocation.claim_validation import Called
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.slices import DeviceClass
from dra_scheduling.template_devices.template_claim_validation import validated

MAX_KEPT_ANSWERS = 16_384
NO_NAMES: Mapping[ObjectKey, Called] = MappingProxyType({})


class Question:
    """What is to be searched for, and the answers of boards by their looks."""

    __slots__ = ("_answers", "query")

    def __init__(self, claims: Iterable[ParsedClaim]) -> None:
        self.query = ClaimQuery(tuple(claims))
        self._answers: dict[Hashable, Answer] = {}

    def known(self, looks: Hashable) -> Answer | None:
        """Return what a board that looks like this answered."""
        return self._answers.get(looks)

    def keep(self, looks: Hashable, answer: Answer) -> None:
        """Keep the answer for all boards that look the same."""
        if len(self._answers) >= MAX_KEPT_ANSWERS:
            self._answers.clear()
        self._answers[looks] = answer


class PodClaims:
    """The claims of a pod, each once, whatever number of times the pod names it; made once and asked of all candidates.

    A claim is read only if something has to be found for it, so that an allocated one needs no class. `names` are what
    people call the claims, where that is not their own name.
    """

    __slots__ = ("_classes", "_features", "_names", "_parsed", "_questions", "claims")

    def __init__(
        self,
        claims: Iterable[ResourceClaim],
        classes: Mapping[str, DeviceClass],
        features: Features = DEFAULT_FEATURES,
        names: Mapping[ObjectKey, Called] = NO_NAMES,
    ) -> None:
        self.claims = tuple({claim.key: claim for claim in claims}.values())
        self._classes = classes
        self._features = features
        self._names = names
        self._parsed: dict[ObjectKey, ParsedClaim | Refusal] = {}
        self._questions: dict[tuple[ObjectKey, ...], Question] = {}

    def question(self, searched: tuple[ResourceClaim, ...]) -> Question | Refusal:
        """Return what is to be searched for, or what is wrong with the first claim that cannot be served anywhere."""
        keys = tuple(claim.key for claim in searched)
        found = self._questions.get(keys)
        if found is not None:
            return found
        parsed = []
        for claim in searched:
            one = self._parse(claim)
            if isinstance(one, Refusal):
                return one
            parsed.append(one)
        question = self._questions[keys] = Question(parsed)
        return question

    def _parse(self, claim: ResourceClaim) -> ParsedClaim | Refusal:
        found = self._parsed.get(claim.key)
        if found is None:
            name = self._names.get(claim.key, claim.metadata.name)
            found = validated(name, claim.spec, self._classes, self._features)
            self._parsed[claim.key] = found
        return found

"""The sentences for claims that a node cannot serve. What differs from node to node stays out of the message itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from dra_scheduling.allocation.claim_validation import subject
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.partitionable_devices import Overdraft
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.features import LIST_ATTRIBUTES
from dra_scheduling.basics.reasons import ClusterEvent, Refusal, in_short
from dra_scheduling.devices.node_view import PoolOnNode
from dra_scheduling.devices.selections import DeviceCriteria
from kube_cel.quantity import Family, Quantity

NO_MATCH = "NoMatchingDevice"
NOT_ENOUGH = "NotEnoughDevices"
NOT_ALL = "DevicesTaken"
NOT_SUPPORTED = "DevicesNeedUnsupportedFeature"
POOL_BROKEN = "PoolNotUsable"
CONSTRAINT = "ConstraintNotMet"
COUNTERS = "CountersExhausted"
NO_CHOICE = "NoCombination"
OUT_OF_BUDGET = "OutOfBudget"

ANY_DEVICE_CHANGE = ClusterEvent.DEVICES | ClusterEvent.SLICES | ClusterEvent.CLASSES | ClusterEvent.NODE
SHOWN = 2
SHOWN_SELECTOR = 120
NOTHING_PUBLISHED = "the node has published no ResourceSlices"


def no_match(ask: FlatRequest, board: SearchSpace) -> Refusal:
    """No device in reach is selected."""
    return Refusal(
        reason=NO_MATCH,
        message=f"{subject_of([ask])}: no device matches",
        asides=asides_of([ask]),
        wake=ClusterEvent.SLICES | ClusterEvent.CLASSES | ClusterEvent.NODE,
        details=details_of(ask.alternative.wish, board),
    )


def too_few(asks: Sequence[FlatRequest], wanted: int, found: int, board: SearchSpace) -> Refusal:
    """The requests together want more devices than there are free ones for them."""
    verb, tail = ("needs", "") if len(asks) == 1 else ("need", " together")
    wish = asks[0].alternative.wish
    if not board.verdict(wish).matching:
        return no_match(asks[0], board)
    exhausted, full = (0, 0) if asks[0].alternative.is_admin else _out_of_stock(wish, board)
    lacking = [f"{devices(exhausted, 'matching')} out of shared counters"] if exhausted else []
    if full:
        lacking.append(f"{devices(full, 'matching')} without room for another share")
    return Refusal(
        reason=COUNTERS if exhausted and found + exhausted >= wanted else NOT_ENOUGH,
        message=f"{subject_of(asks)}: {verb} {devices(wanted, 'matching', 'free')}{tail}",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
        found=found,
        found_text="at most {found} free",
        details=(*lacking, *details_of(wish, board)),
    )


def not_all_free(ask: FlatRequest, matching: int, free: int) -> Refusal:
    """A request for all devices meets devices that somebody has."""
    return Refusal(
        reason=NOT_ALL,
        message=f"{subject_of([ask])}: wants all matching devices, and some of them are taken",
        asides=asides_of([ask]),
        wake=ANY_DEVICE_CHANGE,
        found=free,
        found_text=f"at most {{found}} of {matching} free",
    )


def not_all_supported(ask: FlatRequest, board: SearchSpace) -> Refusal:
    """A request for all devices meets devices that are never handed out."""
    return Refusal(
        reason=NOT_SUPPORTED,
        message=f"{subject_of([ask])}: wants all matching devices, and some of them cannot be handed out",
        asides=asides_of([ask]),
        wake=ClusterEvent.SLICES | ClusterEvent.CLASSES,
        details=details_of(ask.alternative.wish, board),
    )


def pool_in_doubt(ask: FlatRequest, pools: Sequence[PoolOnNode]) -> Refusal:
    """A request for all devices cannot know all of them, because a pool that could serve it is not usable."""
    return Refusal(
        reason=POOL_BROKEN,
        message=f"{subject_of([ask])}: wants all matching devices, and a pool that may hold some is not usable",
        asides=asides_of([ask]),
        wake=ClusterEvent.SLICES | ClusterEvent.CLASSES,
        details=tuple(problem_of(pool) for pool in pools[:SHOWN]),
    )


def constraint_not_met(asks: Sequence[FlatRequest], attribute: str, wanted: int, largest: int) -> Refusal:
    """No value of the attribute is shared by enough free devices."""
    verb = "needs" if len(asks) == 1 else "need"
    return Refusal(
        reason=CONSTRAINT,
        message=f"{subject_of(asks)}: {verb} {devices(wanted, 'free')} with one {attribute}",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
        found=largest,
        found_text="the largest free group has {found}",
    )


def too_few_values(asks: Sequence[FlatRequest], attribute: str, wanted: int, found: int) -> Refusal:
    """The devices have fewer values of the attribute than the requests want devices with different ones."""
    verb = "needs" if len(asks) == 1 else "need"
    return Refusal(
        reason=CONSTRAINT,
        message=f"{subject_of(asks)}: {verb} {devices(wanted, 'free')} with different {attribute}",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
        found=found,
        found_text="the number of values is {found}",
    )


def counters_short(asks: Sequence[FlatRequest], proof: Overdraft) -> Refusal:
    """The devices would draw more from shared counters than is left."""
    verb = "needs" if len(asks) == 1 else "need"
    if not proof.counter:
        return Refusal(
            reason=COUNTERS,
            message=f"{subject_of(asks)}: {verb} {devices(proof.wanted, 'free')}, more than shared counters allow",
            asides=asides_of(asks),
            wake=ANY_DEVICE_CHANGE,
            found=proof.left,
            found_text="there is room for {found}",
        )
    wanted = Quantity(proof.wanted, Family.BINARY)
    return Refusal(
        reason=COUNTERS,
        message=f"{subject_of(asks)}: {verb} {wanted} of the shared counter {proof.counter} at least",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
        found=proof.left,
        found_text=f"{Quantity(proof.left, Family.BINARY)} is left",
    )


def capacity_short(asks: Sequence[FlatRequest], capacity: str) -> Refusal:
    """The requests take more of a capacity of shareable devices than is left."""
    verb = "takes" if len(asks) == 1 else "take"
    return Refusal(
        reason=NOT_ENOUGH,
        message=f"{subject_of(asks)}: {verb} more of the capacity {capacity} than the devices have left",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
    )


def bundles_missing(asks: Sequence[FlatRequest], attribute: str, wanted: int, found: int) -> Refusal:
    """Several requests need a set of matching devices each, and there are not enough such sets."""
    return Refusal(
        reason=CONSTRAINT,
        message=f"{subject_of(asks)}: need {wanted} sets of free devices with one {attribute} each",
        asides=asides_of(asks),
        wake=ANY_DEVICE_CHANGE,
        found=found,
        found_text="the free devices form at most {found}",
    )


def attribute_missing(ask: FlatRequest, attribute: str, candidates: int, board: SearchSpace) -> Refusal:
    """None of the devices in question has the attribute that a constraint compares."""
    source = ask.alternative.source_of(attribute)
    errors = Counter(text for pool, part in board.parts(candidates) for text in pool.derivation_errors(source, part))
    return Refusal(
        reason=CONSTRAINT,
        message=f"{subject_of([ask])}: no matching free device has attribute {attribute}, which a constraint compares",
        asides=asides_of([ask]),
        wake=ANY_DEVICE_CHANGE,
        details=tuple(
            f"its expression failed on {devices(count)}: {text}" for text, count in errors.most_common(SHOWN)
        ),
    )


def with_unread_lists(refusal: Refusal, count: int) -> Refusal:
    """The same, and that so many devices have a list of values that is not read while that feature is off."""
    if not count:
        return refusal
    told = f"of {devices(count, 'matching', 'free')} a list of values is not read, feature {LIST_ATTRIBUTES} is off"
    return msgspec.structs.replace(refusal, details=(*refusal.details, told))


@lru_cache(maxsize=1024)
def nothing_published(refusal: Refusal) -> Refusal:
    """Return the refusal of a node where no device matches because it has no slices; equal ones are one object."""
    return msgspec.structs.replace(refusal, message=f"{refusal.message}, {NOTHING_PUBLISHED}")


def no_choice(asks: Sequence[FlatRequest]) -> Refusal:
    """Everything was tried."""
    return Refusal(
        reason=NO_CHOICE,
        message=f"{claims_of(asks)}: no choice of free devices meets all requests and constraints at once",
        wake=ANY_DEVICE_CHANGE,
    )


def gave_up(asks: Sequence[FlatRequest], budget: int) -> Refusal:
    """The budget ended."""
    return Refusal(
        reason=OUT_OF_BUDGET,
        message=f"{claims_of(asks)}: no answer after {budget} search steps",
        wake=ANY_DEVICE_CHANGE,
    )


def out_of_time(asks: Sequence[FlatRequest]) -> Refusal:
    """Time was up before anything was tried."""
    return Refusal(reason=OUT_OF_BUDGET, message=f"{claims_of(asks)}: not looked at in time", wake=ANY_DEVICE_CHANGE)


def not_in_time(asks: Sequence[FlatRequest]) -> Refusal:
    """Time was up before the search knew. No steps: their number would depend on the machine."""
    return Refusal(reason=OUT_OF_BUDGET, message=f"{claims_of(asks)}: no answer in time", wake=ANY_DEVICE_CHANGE)


def subject_of(asks: Sequence[FlatRequest]) -> str:
    """Return how messages call requests of one claim, or of several."""
    first = asks[0]
    title = first.claim.title
    if len(asks) == 1:
        return subject(title, first.alternative.name, f"{first.alternative.class_name}{''.join(asides_of(asks))}")
    if any(ask.claim_index != first.claim_index for ask in asks):
        return claims_of(asks)
    if title.words:
        owners = dict.fromkeys(title.words[ask.alternative.name][1] for ask in asks)
        return f"{title.text} of {listed([*owners])}"
    return f"{title.text} requests {quoted(ask.alternative.name for ask in asks)}"


def asides_of(asks: Sequence[FlatRequest]) -> tuple[str, ...]:
    """Return what `subject_of` says of the selectors of a request's own, cut where they are long."""
    selectors = " ".join(" and ".join(asks[0].alternative.selectors).split()) if len(asks) == 1 else ""
    shown = selectors if len(selectors) <= SHOWN_SELECTOR else f"{selectors[:SHOWN_SELECTOR]}..."
    return (f", selector {shown}",) if shown else ()


def claims_of(asks: Sequence[FlatRequest]) -> str:
    """Return how messages call the claims of these requests."""
    titles = list({ask.claim_index: ask.claim.title for ask in asks}.values())
    if len(titles) == 1:
        return titles[0].text
    return f"claims {listed([title.text.removeprefix('claim ') for title in titles])}"


def quoted(names: Iterable[str]) -> str:
    """Return the first names in quotes and the number of the others."""
    return listed([f'"{name}"' for name in names])


def listed(texts: Sequence[str]) -> str:
    """Return the first texts and the number of the others."""
    return in_short(texts, SHOWN)


def devices(count: int, *kind: str) -> str:
    """Return a number of devices of some kind in words."""
    return " ".join((str(count), *kind, "device" if count == 1 else "devices"))


def details_of(wish: DeviceCriteria, board: SearchSpace) -> tuple[str, ...]:
    """Return what else keeps devices of this node from the request: features, taints, capacity, selectors, pools."""
    return (
        *_left_out(wish, board),
        *_failures(wish, board),
        *_uncountable(wish, board),
        *_incompatible(wish, board),
        *(problem_of(pool) for pool in (*board.in_doubt(wish), *board.superseded(wish))[:SHOWN]),
    )


def problem_of(pool: PoolOnNode) -> str:
    """Return what is wrong with a pool."""
    problem = pool.pool.problem
    return f"pool {pool.key}: {problem.text}" if problem is not None else f"pool {pool.key}"


def _out_of_stock(wish: DeviceCriteria, board: SearchSpace) -> tuple[int, int]:
    """Return how many usable devices lack counters, and how many shareable ones lack room for what is asked for."""
    exhausted = full = 0
    for _, pool, stock in board.pools:
        usable = pool.verdict(wish).usable
        exhausted += (usable & stock.exhausted).bit_count()
        full += (usable & stock.free & pool.shareable & ~pool.available(wish, stock)).bit_count()
    return exhausted, full


def _left_out(wish: DeviceCriteria, board: SearchSpace) -> list[str]:
    counts: dict[str, int] = {}
    verdict = board.verdict(wish)
    for pool, part in board.parts(verdict.matching & ~verdict.usable):
        for name, count in pool.needing(part).items():
            counts[name] = counts.get(name, 0) + count
    told = [f"{devices(count, 'matching')} left out, feature {name} is off" for name, count in counts.items()]
    if verdict.tainted:
        tainted = devices(verdict.tainted.bit_count(), "matching")
        told.append(f"{tainted} left out for taints that are not tolerated: {listed(verdict.taints)}")
    if verdict.lacking:
        told.append(f"{devices(verdict.lacking.bit_count())} left out for lack of the capacity that is asked for")
    return told


def _failures(wish: DeviceCriteria, board: SearchSpace) -> list[str]:
    counts: dict[tuple[str, str], int] = {}
    selection = wish.selection
    for pool, part in board.parts(board.verdict(wish).failed):
        for index, error in pool.failures(selection, part):
            key = (selection.origins[index], error)
            counts[key] = counts.get(key, 0) + 1
    shown = list(counts.items())[:SHOWN]
    return [f"{origin} failed on {devices(count)}: {error}" for (origin, error), count in shown]


def _incompatible(wish: DeviceCriteria, board: SearchSpace) -> list[str]:
    """Return how many devices do not go with what is in use of their counter set."""
    count = sum((pool.verdict(wish).usable & stock.apart).bit_count() for _, pool, stock in board.pools)
    return [f"{devices(count, 'matching')} left out for compatibility groups of devices in use"] if count else []


def _uncountable(wish: DeviceCriteria, board: SearchSpace) -> list[str]:
    """Return the pools whose counters nobody can know."""
    return [
        f"pool {pool.key} hands out nothing that draws from counters: {stock.closed}"
        for _, pool, stock in board.pools
        if stock.closed and pool.verdict(wish).usable & pool.profile.consumers
    ][:SHOWN]

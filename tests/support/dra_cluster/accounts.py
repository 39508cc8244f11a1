"""What claims may have of devices at any moment, reckoned from slices and claims of the API and from nothing else."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from kubernetes.utils import quantity

from dra_cluster.witness import Device
from dra_controlplane.client import Json

Pot = tuple[str, str, str, str]
"""Driver, pool, set and name of a counter."""


def overdrafts(slices: Sequence[Json], history: Iterable[tuple[str, Json]]) -> list[str]:
    """Return a line for whatever was given out beyond what there is, at any moment of a history of claims.

    A device that somebody has for himself and another has too, two shares of one id, more consumed than a capacity,
    more drawn than a counter. Admin access counts as nothing.
    """
    accounts = _Accounts(slices)
    found: dict[str, None] = {}
    for event, claim in history:
        accounts.enter(event, claim)
        found.update(dict.fromkeys(accounts.overdrawn()))
    return list(found)


class _Accounts:
    """The devices that slices publish, and what claims have of them at one moment."""

    def __init__(self, slices: Sequence[Json]) -> None:
        self._devices: dict[Device, Json] = {}
        self._totals: dict[Pot, Decimal] = {}
        self._claims: dict[str, list[Json]] = {}
        for spec in (one["spec"] for one in slices):
            of_pool = spec["driver"], spec["pool"]["name"]
            for device in spec.get("devices") or ():
                self._devices[*of_pool, device["name"]] = device
            for counter_set in spec.get("sharedCounters") or ():
                for name, counter in counter_set["counters"].items():
                    self._totals[*of_pool, counter_set["name"], name] = _amount(counter["value"])

    def enter(self, event: str, claim: Json) -> None:
        """Takes an event about a claim into account."""
        results = (((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}).get("results") or ()
        kept = [] if event == "DELETED" else [one for one in results if not one.get("adminAccess")]
        self._claims[claim["metadata"]["uid"]] = kept

    def overdrawn(self) -> Iterator[str]:
        """Yield what is given out beyond what there is."""
        held: defaultdict[Device, list[Json]] = defaultdict(list)
        for results in self._claims.values():
            for result in results:
                held[result["driver"], result["pool"], result["device"]].append(result)
        for device, results in held.items():
            yield from self._of_device(device, results)
        yield from self._of_counters(held)

    def _of_device(self, device: Device, results: Sequence[Json]) -> Iterator[str]:
        shares = [result.get("shareID") for result in results]
        if None in shares and len(shares) > 1:
            yield f"{device} is had for himself by one of {len(shares)}"
        elif len(set(shares)) < len(shares):
            yield f"{device} has two shares of one id: {shares}"
        consumed: defaultdict[str, Decimal] = defaultdict(Decimal)
        for result in results:
            for name, amount in (result.get("consumedCapacity") or {}).items():
                consumed[name] += _amount(amount)
        for name, amount in consumed.items():
            if amount > _amount(self._devices[device]["capacity"][name]["value"]):
                yield f"{device} has given out {amount} of {name}"

    def _of_counters(self, held: Iterable[Device]) -> Iterator[str]:
        drawn: defaultdict[Pot, Decimal] = defaultdict(Decimal)
        for driver, pool, name in held:
            for consumption in self._devices[driver, pool, name].get("consumesCounters") or ():
                for counter, amount in consumption["counters"].items():
                    drawn[driver, pool, consumption["counterSet"], counter] += _amount(amount["value"])
        yield from (f"{pot} is overdrawn: {amount}" for pot, amount in drawn.items() if amount > self._totals[pot])


def _amount(text: str) -> Decimal:
    """A quantity, by a parser that is not ours."""
    return Decimal(quantity.parse_quantity(text))  # type: ignore[no-untyped-call]

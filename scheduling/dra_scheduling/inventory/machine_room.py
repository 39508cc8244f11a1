"""How much room machines have for pods, in tables that answer for hundreds of machines with a few operations."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence


class MachineRoom:
    """What each machine of a table has for pods, in base units; sets of machines are bits."""

    __slots__ = ("_amounts", "_at_least", "_everything")

    def __init__(self, amounts: Sequence[Mapping[str, int]]) -> None:
        self._amounts = amounts
        self._everything = (1 << len(amounts)) - 1
        self._at_least: dict[str, tuple[list[int], list[int]]] = {}

    def fitting(self, needs: Mapping[str, int]) -> int:
        """Return the machines that have room for so much in all."""
        mask = self._everything
        for name, amount in needs.items():
            if amount > 0:
                mask &= self._having(name, amount)
        return mask

    def most(self, name: str, mask: int) -> int:
        """Return the most of a resource that any machine of a set has room for."""
        amounts, masks = self._steps(name)
        return next((amount for amount, having in zip(amounts[::-1], masks[::-1], strict=True) if having & mask), 0)

    def more_by(self, freed: Iterable[tuple[int, Mapping[str, int]]]) -> "MachineRoom":
        """Return the same machines where these sets of them have so much more of what they have at all."""
        amounts = list(map(dict, self._amounts))
        for mask, more in freed:
            for number, own in enumerate(amounts):
                if mask >> number & 1:
                    own.update({name: own[name] + amount for name, amount in more.items() if name in own})
        return MachineRoom(amounts)

    def _having(self, name: str, amount: int) -> int:
        amounts, masks = self._steps(name)
        place = bisect_left(amounts, amount)
        return masks[place] if place < len(masks) else 0

    def _steps(self, name: str) -> tuple[list[int], list[int]]:
        known = self._at_least.get(name)
        if known is None:
            known = self._at_least[name] = self._ladder(name)
        return known

    def _ladder(self, name: str) -> tuple[list[int], list[int]]:
        """Return the distinct amounts of a resource in ascending order, each with the machines that have as much."""
        having: dict[int, int] = {}
        for number, own in enumerate(self._amounts):
            amount = own.get(name, 0)
            having[amount] = having.get(amount, 0) | 1 << number
        amounts, masks, above = sorted(having), list[int](), 0
        for amount in reversed(amounts):
            above |= having[amount]
            masks.append(above)
        return amounts, masks[::-1]

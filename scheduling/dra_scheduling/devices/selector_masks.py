"""What a wish means of the devices of a pool, whoever has them."""

import msgspec


class SelectorMasks(msgspec.Struct, frozen=True, kw_only=True):
    """Which devices a wish means (`matching`), and which of those may be handed out at all (`usable`).

    Not meant are devices on which a selector failed (`failed`) and selected ones that can never give the capacity asked
    for (`lacking`). `tainted` ones are meant, and not usable because a taint is not tolerated: one of `taints`.
    """

    matching: int
    usable: int
    failed: int = 0
    lacking: int = 0
    tainted: int = 0
    taints: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[int, int, int, int, int, tuple[str, ...]]:
        """How many devices there are of each kind, and the taints."""
        return (
            self.matching.bit_count(),
            self.usable.bit_count(),
            self.failed.bit_count(),
            self.lacking.bit_count(),
            self.tainted.bit_count(),
            self.taints,
        )

"""Which few of the choices that failed together fail without the others, too."""

from collections.abc import Callable, Sequence


def core(places: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
    """Return places that fail by themselves, the last of them as early as can be, and none that may be left out.

    All together fail, and so does whatever has places in it that fail. Where `fails` does not know it says no, and more
    places than needed are returned.
    """
    least, most = 1, len(places)
    while least < most:
        middle = (least + most) // 2
        if fails(places[:middle]):
            most = middle
        else:
            least = middle + 1
    kept = list(places[:most])
    for place in places[: most - 1]:
        fewer = [one for one in kept if one != place]
        if fails(fewer):
            kept = fewer
    return tuple(kept)

"""Two ways of one thing, measured in pairs."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence


def compared(
    what: str,
    plain: Sequence[float],
    hardened: Sequence[float],
    unit: str = "ms",
    *,
    second: str = "hardened",
) -> str:
    """A line: the median of each, and that of the differences within the pairs with its 95 % interval.

    The interval is the bootstrap's, of 2,000 samples.
    """
    ratios = [100 * (h / p - 1) for h, p in zip(hardened, plain, strict=True)]
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(2000))
    return (
        f"{what:12} {len(ratios)} pairs: {statistics.median(plain):8.1f} {unit} as it is, "
        f"{statistics.median(hardened):8.1f} {unit} {second}; "
        f"{statistics.median(ratios):+.2f} % (95 %: {medians[50]:+.2f} to {medians[-51]:+.2f} %)"
    )

"""Rows of numbers as rows of small bars, for terminals."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS, _PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*%#"


def sparkline(values: Sequence[float], most: int = 40, *, plain: bool = False) -> str:
    """A bar for each number, the lowest for the least and the highest for the most of them.

    Heights follow the logarithm, as times of kernels span orders of magnitude.

    Args:
        values: Numbers above 0.
        most: Of more numbers, so many at equal distances are shown, the first and last among them.
        plain: Whether to use ASCII alone.

    >>> sparkline([1, 2, 4, 8, 128]), sparkline([3, 3]), sparkline([1, 10, 100], plain=True)
    ('▁▂▃▄█', '▁▁', '_+#')
    >>> sparkline(range(1, 1000), 4)
    '▁▇██'
    """
    shown = _thinned(values, most)
    signs = _PLAIN if plain else _BLOCKS
    low, high = math.log(min(shown)), math.log(max(shown))
    step = (high - low) / (len(signs) - 1) or 1.0
    return "".join(signs[round((math.log(v) - low) / step)] for v in shown)


def _thinned(values: Sequence[float], most: int) -> Sequence[float]:
    if len(values) <= most:
        return values
    last = len(values) - 1
    return [values[round(i * last / (most - 1))] for i in range(most)]

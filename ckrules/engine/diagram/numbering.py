"""Numbering: equal rows of integer columns get equal small numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_WORD = 1 << 62


def number(columns: Sequence[Array], radices: Sequence[int], size: int) -> tuple[Array, Array, int]:
    """Class of each row, one row of each class, and the number of classes.

    Args:
        columns: Integer columns of one length; column ``c`` holds 0 to ``radices[c] - 1``.
        radices: One more than the largest value of each column.
        size: Number of rows (columns may be missing).

    Rows are keyed by one mixed-radix integer; where that would leave 62 bits, the columns so far
    are numbered first.

    >>> classes, rows, n = number([np.array([3, 1, 3]), np.array([0, 0, 0])], [4, 1], 3)
    >>> classes.tolist(), n
    ([1, 0, 1], 2)
    """
    key: Array | None = None
    span = 1
    for column, radix in zip(columns, radices, strict=True):
        if radix <= 1:
            continue
        if key is None:  # a Boolean array would select rows instead of naming them
            key, span = column.astype(np.int8) if column.dtype == np.bool_ else column, radix
            continue
        if span * radix >= _WORD:
            key, _, span = dense(key, span)
            if span * radix >= _WORD:
                column, _, radix = dense(column, radix)
        key = key.astype(np.int64) * radix + column
        span *= radix
    if key is None:
        return np.zeros(size, dtype=np.int32), np.zeros(min(size, 1), dtype=np.int64), min(size, 1)
    return dense(key, span)


def dense(key: Array, span: int) -> tuple[Array, Array, int]:
    """`number` for one key column with values 0 to ``span - 1``."""
    if span <= max(1 << 15, 4 * len(key)):
        seen = np.zeros(span, dtype=np.bool_)
        seen[key] = True
        place: Array = np.cumsum(seen, dtype=np.int32)
        place -= 1
        classes: Array = place[key]
        count = int(place[-1]) + 1 if span else 0
        rows = np.empty(count, dtype=np.int64)
        rows[classes] = np.arange(len(key))
        return classes, rows, count
    _, rows, classes = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(classes, dtype=np.int32), rows, len(rows)


def spread(starts: Array, lengths: Array) -> Array:
    """The indices ``starts[k], starts[k] + 1, …`` (``lengths[k]`` of them) for every k in turn.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def code_type(count: int) -> Any:
    """The smallest unsigned type that holds codes 0 to ``count - 1``."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32

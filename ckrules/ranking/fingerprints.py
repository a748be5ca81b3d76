"""The fingerprint of measurements: which rows they are, in few bytes and in any order.

A row is a kernel, a problem and a time; eight bytes of a hash for each, sorted, in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from ckrules.kernels.families import family_of

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point
    from ckrules.ranking.measurements import MeasuredProblem

ROWS = "rows"
"""The key of a model's card that the fingerprint is under."""
_SIZE = 8


def fingerprint(measured: Iterable[MeasuredProblem], left_out: Iterable[Point] = ()) -> str:
    """The fingerprint of measurements, without those of some kernels."""
    gone = {_kernel(p) for p in left_out}
    found = {row for m in measured for kernel, row in rows(m) if kernel not in gone}
    return base64.b64encode(b"".join(sorted(found))).decode()


def hashes(text: str) -> frozenset[bytes]:
    """The hashes of a fingerprint.

    Raises:
        ValueError: If it is none.

    >>> hashes("AAAAAAAAAAE=")
    frozenset({b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01'})
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
    if len(data) % _SIZE:
        raise ValueError(f"not {_SIZE} bytes for each row")
    return frozenset(data[i : i + _SIZE] for i in range(0, len(data), _SIZE))


def rows(measured: MeasuredProblem) -> Iterator[tuple[str, bytes]]:
    """Each row's kernel and hash."""
    problem = str(measured.problem)
    for point, time in zip(measured.points, measured.microseconds, strict=True):
        kernel = _kernel(point)
        text = f"{kernel}\n{problem}\n{time:.6g}"
        yield kernel, blake2b(text.encode(), digest_size=_SIZE).digest()


def _kernel(point: Point) -> str:
    """What tells kernels apart, the same whichever CK release they were read for."""
    return " ".join(f"{n}={point[n]}" for n in _fields(str(point["variant"])) if n in point)


@cache
def _fields(variant: str) -> tuple[str, ...]:
    timing = family_of(variant).timing
    return ("arch", *sorted(timing.quantities)) if timing is not None else ("arch",)

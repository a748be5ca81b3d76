"""Where a result is wrong, in the words of the kernel: which tile, wave, image or group.

The kernel's family says over which axes the result is seen, such as a GEMM's (group, M, N), and how
the kernel divides them. Along each axis the wrong coordinates are compared with these divisions;
the first that says exactly which coordinates are wrong gives the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device.k_slices import blame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.dtypes import Floats
    from ckrules.device.tensors import Expected
    from ckrules.device.tolerance import Comparison
    from ckrules.kernels.parts import Division, ResultAxis, Tensors

Mask = Any  # NDArray[np.bool_], of which mypy knows too little

_DENSE = 0.4
"""Least part of a region that is wrong; with fewer the region explains nothing."""

_MOST = 0.75
"""With more of an axis wrong, and no division that says which, the whole axis is meant."""


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """What is wrong and where."""

    kind: str
    """One of ``KINDS``."""
    text: str
    first: tuple[int, ...] = ()
    """The first wrong element: its indices in the tensor's canonical order."""


KINDS = (
    *("not written", "zeros", "nan", "k slice", "scaled"),
    *("tile", "wave", "warp tile", "lane", "image", "group", "range"),
    *("everywhere", "scattered"),
)
"""What a pattern can be; the first five say what the wrong values are, the others only where."""


def classify(
    tensors: Tensors,
    expected: Expected,
    comparison: Comparison,
    found: Floats,
    unwritten: NDArray[np.bool_] | None = None,
) -> ErrorPattern:
    """What the wrong elements of a result have in common.

    Args:
        tensors: The tensors of the problem for the kernel.
        expected: What the result should be.
        comparison: Of the result with that, with at least one wrong element.
        found: The kernel's result.
        unwritten: True where the result still has the bits it was filled with beforehand.
    """
    mask = comparison.mask
    first = tuple(int(i) for i in np.argwhere(mask)[0])
    kind, place = locate(*tensors.axes(expected.name, mask))
    wrong, right = found[mask], expected.values[mask]
    what = _values(wrong, right, None if unwritten is None else unwritten[mask])
    if what is None:
        slices = blame(tensors, expected, comparison, found)
        what = ("k slice", slices) if slices else _scaled(wrong, right)
    if what is None:
        return ErrorPattern(kind, place, first)
    return ErrorPattern(what[0], f"{what[1]}: {place}", first)


def locate(axes: Sequence[ResultAxis], mask: Mask) -> tuple[str, str]:
    """Kind and words for the place of the wrong elements: where a mask over the axes is true."""
    words, kinds = [], []
    size = 1
    for i, axis in enumerate(axes):
        wrong = mask.any(axis=tuple(j for j in range(mask.ndim) if j != i))
        size *= int(wrong.sum())
        found = _explained(axis, wrong)
        if found is not None:
            kinds.append(found[0])
            words.append(found[1])
    count = int(mask.sum())
    share = count / size
    if share < _DENSE:
        return "scattered", f"scattered: {count:,} of {mask.size:,} elements"
    if not words:
        percent = min(99, round(100 * share))
        whole = "everywhere" if share == 1 else f"everywhere ({percent} % of the elements)"
        return "everywhere", whole
    kind = next((k for k in KINDS if k in kinds), "scattered")
    return kind, ", ".join(words)


def _explained(axis: ResultAxis, wrong: NDArray[np.bool_]) -> tuple[str, str] | None:
    """Kind and words for a set of coordinates; None if all, or nearly all, are wrong."""
    if wrong.all():
        return None
    for division in axis.divisions:
        labels = np.unique(division.labels[wrong])
        count = int(division.labels.max()) + 1
        if len(labels) < count and (np.isin(division.labels, labels) == wrong).all():
            return division.kind, _named(division, [int(i) for i in labels], count)
    places = np.flatnonzero(wrong)
    lo, hi = int(places[0]), int(places[-1])
    if hi - lo + 1 == len(places):
        span = f"{lo}" if lo == hi else f"{lo}–{hi}"
        return "range", f"{axis.name} {span} of {axis.size}"
    if len(places) > _MOST * axis.size:
        return None
    return "scattered", f"{len(places)} of {axis.size} {axis.name}"


def _named(division: Division, labels: Sequence[int], count: int) -> str:
    """Words for parts: the last, every second, or their numbers."""
    what, tail = division.what, division.tail
    if division.ordered:
        if list(labels) == [count - 1]:
            return f"last {what}{tail}"
        if list(labels) == [0]:
            return f"first {what}{tail}"
        for start in (0, 1):
            if count > 3 and list(labels) == list(range(start, count, 2)):
                return f"every second {what}{tail}"
    shown = ", ".join(map(str, labels[:6])) + (", …" if len(labels) > 6 else "")
    return f"{what}{'s' * (len(labels) > 1)} {shown} of {count}{tail}"


def _values(found: Floats, reference: Floats, unwritten: Mask) -> tuple[str, str] | None:
    if unwritten is not None and unwritten.all():
        return "not written", "not written"
    if not np.isfinite(found).all():
        bad = int((~np.isfinite(found)).sum())
        part = "" if bad == found.size else f" in {bad:,} of {found.size:,} wrong elements"
        what = "NaN" if np.isnan(found).any() else "infinity"
        return "nan", f"{what}{part}"
    if (found == 0).all() and (reference != 0).any():
        return "zeros", "all zeros"
    return None


def _scaled(found: Floats, reference: Floats) -> tuple[str, str] | None:
    """A common factor, such as 2 for a sum that was added twice."""
    large = np.abs(reference) > 0.25 * np.abs(reference).max()
    if large.sum() < 4:
        return None
    ratios = found[large] / reference[large]
    factor = float(np.median(ratios))
    if abs(factor) < 1e-3 or float(np.abs(ratios - factor).max()) > 0.02 * abs(factor):
        return None
    return "scaled", f"{factor:.3g} times the reference"

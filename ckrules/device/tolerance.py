"""When a result counts as right: CK's own thresholds, applied element by element.

``include/ck_tile/host/check_err.hpp`` (`get_relative_threshold`, `get_absolute_threshold`) and
``calculate_rtol_atol`` of example 20_grouped_convolution, but for the type of the operands: CK's
examples allow their rounding step as well, 6 % with fp8, within which a product may be missing.
Products of operands are exact in the type of sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ckrules.device.dtypes import element, integral
from ckrules.device.tensors import inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.dtypes import Floats
    from ckrules.device.tensors import Expected
    from ckrules.kernels.parts import Tensors

_TOGETHER = 1 << 16
"""Elements that are compared at a time: their numbers in fp64 fit in the caches."""

ACCUMULATOR = "fp32"
"""The type of sums, where `Tensors` says no other."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An element is wrong if it differs by more than ``atol + rtol * |reference|``."""

    rtol: float
    atol: float


def relative_threshold(compute: str, output: str, accumulator: str, terms: int) -> float:
    """CK's ``get_relative_threshold`` for a sum of so many terms.

    >>> relative_threshold("fp16", "fp16", "fp32", 576) == 2**-11
    True
    """
    midway = max(_half_step(compute), _half_step(output))
    return max(_half_step(accumulator) * terms, midway)


def tolerance_of(tensors: Tensors, expected: Expected, blocks: int | None = None) -> Tolerance:
    """The thresholds of a result: what its family says of its error, or CK's for sums."""
    error = getattr(tensors, "error", None)
    if error is not None:
        return Tolerance(0.0, float(error(expected.name, expected.data)))
    return thresholds(tensors, expected.name, float(np.abs(expected.values).max()), blocks)


def _half_step(dtype: str) -> float:
    return 0.5 * 2.0 ** -element(dtype).mantissa


def thresholds(tensors: Tensors, name: str, largest: float, blocks: int | None = None) -> Tolerance:
    """The thresholds of a result, the error of sums that are added in parts included.

    Args:
        tensors: The tensors of a problem for a kernel.
        name: The result.
        largest: The largest magnitude in the reference.
        blocks: The blocks of the launch, of which each adds one part to a sum at most.
    """
    result = next(t for t in tensors.all if t.name == name)
    output = result.dtype
    read = [t.dtype for t in inputs(tensors) if element(t.dtype).packed == 1]
    parts = min(tensors.parts(name), blocks or tensors.parts(name))
    terms = math.ceil(tensors.depth(name) / parts)
    # integers are exact, and CK's thresholds have fp32 for them
    told = getattr(tensors, "accumulator", ACCUMULATOR)
    accumulator = ACCUMULATOR if integral(told) else told
    # a sum beside an integer may end on either side of it
    least = 1.0 if integral(output) and not all(map(integral, read)) else 0.0
    sums = relative_threshold(accumulator, output, accumulator, terms)
    sums = max(sums, getattr(tensors, "sum_error", 0.0))
    # get_absolute_threshold: the relative one times the largest value, with no floor
    added = relative_threshold(output, output, output, parts * result.roundings)
    return Tolerance(max(sums, added), max(least, largest / parts * sums, largest * added))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A result against the reference."""

    tolerance: Tolerance
    elements: int
    wrong: int
    not_finite: int
    nan: int
    max_abs: float | None
    """Over the finite elements, as ``max_rel``; None if elements are wrong and none is finite."""
    max_rel: float | None
    mask: NDArray[np.bool_]
    """True where an element is wrong."""
    beyond: int = 0
    """Elements that are NaN or infinite because the type has no value so large."""

    @property
    def passed(self) -> bool:
        """Whether every element is right."""
        return self.wrong == 0


def compare(
    found: Floats, reference: Floats, tolerance: Tolerance, edge: float | None = None
) -> Comparison:
    """Compares element by element; both have been rounded to the result's type.

    Infinity is right where the reference has the same one. NaN is right at the edge of a type of 8
    bits only, as infinity of the right sign is: some of CK's conversions saturate, and others leave
    it to an instruction that does not (core/tensor/tile_elementwise.hpp: cast_tile_pk_fp8_fp32 on
    gfx94 and gfx12).

    Args:
        found: What was computed.
        reference: What it should be, saturated in types of 8 bits.
        tolerance: How far off is right.
        edge: The largest finite value of a type of 8 bits; None for other types.
    """
    mask = np.empty(found.shape, np.bool_)
    wrong, nan, not_finite, lost = 0, 0, 0, 0
    most, relative, measured = 0.0, 0.0, False
    for part in _blocks(found.shape):
        block = _Block.of(found[part], reference[part], tolerance, edge)
        mask[part] = block.mask
        wrong += int(block.mask.sum())
        nan += int(np.isnan(block.out).sum())
        not_finite += int((~np.isfinite(block.out)).sum())
        lost += int(block.beyond.sum())
        measured |= bool((block.mask & block.finite).any())
        most = max(most, _largest(block.error, block.finite))
        relative = max(relative, _largest(block.relative(), block.finite))
    measured |= not wrong
    return Comparison(
        tolerance=tolerance,
        elements=mask.size,
        wrong=wrong,
        not_finite=not_finite,
        nan=nan,
        max_abs=most if measured else None,
        max_rel=relative if measured else None,
        mask=mask,
        beyond=lost,
    )


@dataclass(frozen=True)
class _Block:
    """A part of two results in fp64, small enough for the caches."""

    out: NDArray[np.float64]
    ref: NDArray[np.float64]
    error: NDArray[np.float64]
    finite: NDArray[np.bool_]
    beyond: NDArray[np.bool_]
    mask: NDArray[np.bool_]

    @classmethod
    def of(cls, found: Floats, reference: Floats, tolerance: Tolerance, edge: float | None) -> Self:
        """Compares a part."""
        out, ref = (x.astype(np.float64, order="C") for x in (found, reference))
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(out - ref)
            finite = np.isfinite(out) & np.isfinite(ref)
            same = np.isinf(out) & (out == ref)
            beyond = np.zeros_like(same)
            if edge is not None:
                lost = np.isnan(out) | (np.isinf(out) & (np.sign(out) == np.sign(ref)))
                beyond = lost & (np.abs(ref) >= edge)
                same |= beyond
            mask = np.where(finite, error > tolerance.atol + tolerance.rtol * np.abs(ref), ~same)
        return cls(out, ref, error, finite, beyond, mask)

    def relative(self) -> NDArray[np.float64]:
        """Errors against the reference; 0 where that is 0."""
        with np.errstate(invalid="ignore", over="ignore"):
            held = np.zeros_like(self.error)
            return np.divide(self.error, np.abs(self.ref), out=held, where=self.ref != 0)


def _blocks(shape: Sequence[int]) -> Iterator[tuple[int | slice, ...]]:
    """Indices of parts of an array, whose values lie together, of about `_TOGETHER` elements."""
    axis, inner = len(shape) - 1, 1
    while axis > 0 and inner * shape[axis] <= _TOGETHER:
        inner *= shape[axis]
        axis -= 1
    if axis < 0:
        yield ()
        return
    step = max(1, _TOGETHER // max(1, inner))
    for before in np.ndindex(*shape[:axis]):
        for at in range(0, shape[axis], step):
            yield (*before, slice(at, at + step))


def _largest(values: Any, where: Any) -> float:
    return float(np.max(values, where=where, initial=0.0))

"""When a result counts as right: CK's own thresholds, applied element by element.

``include/ck_tile/host/check_err.hpp`` (`get_relative_threshold`, `get_absolute_threshold`) and
``calculate_rtol_atol`` of example 20_grouped_convolution. The sum's length is that of the
direction's own GEMM; the example takes the forward direction's for all three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device.numbers import element

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.numbers import Floats
    from ckrules.device.tensors import Tensors

ACCUMULATOR = "fp32"


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


def absolute_threshold(
    largest: float, compute: str, output: str, accumulator: str, terms: int
) -> float:
    """CK's ``get_absolute_threshold``: the relative one times the largest value, with no floor.

    >>> absolute_threshold(8.0, "bf16", "bf16", "fp32", 576) == 2**-5
    True
    """
    return abs(largest) * relative_threshold(compute, output, accumulator, terms)


def _half_step(dtype: str) -> float:
    return 0.5 * 2.0 ** -element(dtype).mantissa


def thresholds(tensors: Tensors, largest: float) -> Tolerance:
    """The thresholds of a problem, the error of split sums included.

    Args:
        tensors: Problem, direction and type.
        largest: The largest magnitude in the reference.
    """
    p, dtype = tensors.problem, tensors.dtype
    split = p.split_k if tensors.variant == "bwd_weight" else 1
    terms = math.ceil(p.gemm(tensors.variant)[2] / split)
    return Tolerance(
        max(
            relative_threshold(dtype, dtype, ACCUMULATOR, terms),
            relative_threshold(dtype, dtype, dtype, split),
        ),
        max(
            absolute_threshold(largest / split, dtype, dtype, ACCUMULATOR, terms),
            absolute_threshold(largest, dtype, dtype, dtype, split),
        ),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A result against the reference."""

    tolerance: Tolerance
    elements: int
    wrong: int
    not_finite: int
    max_abs: float
    """Over the finite elements, as ``max_rel``."""
    max_rel: float
    mask: NDArray[np.bool_]
    """True where an element is wrong."""

    @property
    def passed(self) -> bool:
        """Whether every element is right."""
        return self.wrong == 0


def compare(found: Floats, reference: Floats, tolerance: Tolerance) -> Comparison:
    """Compares element by element; both have been rounded to the result's type.

    Infinity is right where the reference has the same one; NaN never is.
    """
    out, ref = found.astype(np.float64), reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(out - ref)
        finite = np.isfinite(out) & np.isfinite(ref)
        same = np.isinf(out) & (out == ref)
        mask = np.where(finite, error > tolerance.atol + tolerance.rtol * np.abs(ref), ~same)
        relative = np.divide(error, np.abs(ref), out=np.zeros_like(error), where=ref != 0)
    return Comparison(
        tolerance=tolerance,
        elements=out.size,
        wrong=int(mask.sum()),
        not_finite=int((~np.isfinite(out)).sum()),
        max_abs=_largest(error, finite),
        max_rel=_largest(relative, finite),
        mask=mask,
    )


def _largest(values: Any, where: Any) -> float:
    return float(np.max(values, where=where, initial=0.0))

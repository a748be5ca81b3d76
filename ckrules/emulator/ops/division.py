"""Division: the instructions that scale, refine and fix up a quotient.

Sources: AMD, "RDNA4 ISA", 16.12 (V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP) and "Instinct MI300 ISA",
12.11. Compilers write them in this order: both operands scaled, the reciprocal, a few fused steps,
V_DIV_FMAS, V_DIV_FIXUP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ckrules.emulator.kinds import F32, F64, MASK, OperandKind, Values
from ckrules.emulator.ops.opcode import OpcodeRow
from ckrules.emulator.ops.rounding import fused


@dataclass(frozen=True)
class _Form:
    """What depends on the width of a number."""

    kind: OperandKind
    mantissa: int
    bias: int
    apart: int
    """Difference of exponents from which a quotient is near the greatest number."""
    step: int
    """Exponent of two by which operands and quotients are scaled."""
    tiny: int
    """Difference of exponents below which a quotient is nothing."""

    @property
    def bits(self) -> Any:
        """The unsigned type of the same width."""
        return np.uint32 if self.kind.bits == 32 else np.uint64

    def exponent(self, a: Values) -> Values:
        """The exponent as it is stored."""
        raw = a.view(self.bits) >> self.bits(self.mantissa)
        found: Values = (raw & self.bits(2 * self.bias + 1)).astype(np.int64)
        return found

    def denormal(self, a: Values) -> Values:
        found: Values = (self.exponent(a) == 0) & (a != 0)
        return found


def refined(form: _Form, a: Values, b: Values, addend: Values, scales: Values) -> Values:
    """The last fused step of a quotient, scaled back where V_DIV_SCALE has said so."""
    value = fused(a, b, addend)
    # The estimate is the third operand: a large one was scaled down, a small one up.
    up = form.exponent(addend) > form.bias
    scaled = np.ldexp(value, np.where(up, form.step, -form.step))
    return np.where(scales, scaled, value).astype(value.dtype)


def _first(choices: Sequence[tuple[Values, Any]], otherwise: Any) -> Values:
    """What the first condition that holds goes with."""
    found: Values = otherwise
    for condition, value in reversed(choices):
        found = np.where(condition, value, found)
    return found


def scaled_operand(form: _Form, own: Values, low: Values, high: Values) -> tuple[Values, Values]:
    """Numerator ``high`` or denominator ``low``, whichever ``own`` is, scaled for a division.

    Returns:
        The operand, and whether the quotient has to be scaled back.
    """
    with np.errstate(all="ignore"):
        inverse, quotient = 1 / low.astype(np.float64), high / low
        # 1 / low in the width of the operands: fp64 has denormals of its own.
        reciprocal = inverse.astype(form.kind.dtype)
    below, over = own == low, own == high
    apart = form.exponent(high) - form.exponent(low) >= form.apart
    small, thin = form.denormal(low), form.denormal(reciprocal)
    lost = form.denormal(quotient)
    choices: list[tuple[Values, Any, bool]] = [
        (apart, np.where(below, form.step, 0), True),
        (small, form.step, False),
        (thin & lost, np.where(below, -form.step, 0), True),
        (thin, -form.step, False),
        (lost, np.where(over, form.step, 0), True),
        (form.exponent(high) <= form.mantissa, form.step, False),
    ]
    shift = _first([(condition, by) for condition, by, _ in choices], 0)
    flagged = _first([(condition, flag) for condition, _, flag in choices], False)
    none = (high == 0) | (low == 0)
    with np.errstate(all="ignore"):
        value = np.where(none, np.nan, np.ldexp(own, shift)).astype(own.dtype)
    return value, flagged & ~none


def fixed_up(form: _Form, quotient: Values, low: Values, high: Values) -> Values:
    """A refined quotient of ``high`` by ``low``, with what numbers that are none give."""
    quotient, low, high = np.broadcast_arrays(quotient, low, high)
    dtype = form.kind.dtype
    sign = np.where(np.signbit(low) ^ np.signbit(high), dtype(-1), dtype(1))
    none = ((low == 0) & (high == 0)) | (np.isinf(low) & np.isinf(high))
    # A quotient beyond the range has become infinite, and NaN where it was refined.
    over = ~np.isfinite(quotient)
    gone = form.exponent(high) - form.exponent(low) < form.tiny
    choices: list[tuple[Values, Any]] = [
        (np.isnan(high), high),
        (np.isnan(low), low),
        (none, dtype(np.nan)),
        ((low == 0) | np.isinf(high), sign * dtype(np.inf)),
        (np.isinf(low) | (high == 0) | gone, sign * dtype(0)),
        (over, sign * dtype(np.inf)),
    ]
    found = _first(choices, sign * np.abs(quotient))
    return found.astype(dtype)


def _rows(form: _Form) -> dict[str, OpcodeRow]:
    three = (form.kind,) * 3
    return {
        "scale": OpcodeRow(form.kind, three, partial(scaled_operand, form), flag=True),
        "fmas": OpcodeRow(form.kind, (*three, MASK), partial(refined, form)),
        "fixup": OpcodeRow(form.kind, three, partial(fixed_up, form)),
    }


DIVISION_ROWS = {
    f"v_div_{word}_{form.kind.name}": row
    for form in (_Form(F32, 23, 127, 96, 64, -150), _Form(F64, 52, 1023, 768, 128, -1075))
    for word, row in _rows(form).items()
}

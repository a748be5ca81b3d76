"""How rows of `vector` become instructions: operands, modifiers, encodings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import Get, OperandKind, Put, Values, half_put, vector_get, vector_put
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.lanes import dpp, part_get, part_put
from ckrules.emulator.ops.opcode import OpcodeRow
from ckrules.emulator.ops.vector import ROWS
from ckrules.emulator.wave import Cohort

_SCALES = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}


def decode(d: Decoded) -> Run:
    """The meaning of an instruction with a row."""
    compute, put, where = parts(d, ROWS[d.name])
    return whole(compute, put) if where is None else masked(compute, put, where)


def whole(compute: Get, put: Put) -> Run:
    """What writes a result to all active lanes."""

    def run(c: Cohort) -> None:
        put(c, compute(c))

    return run


def parts(d: Decoded, row: OpcodeRow) -> tuple[Get, Put, Callable[[Cohort], Values] | None]:
    """What computes an instruction's result, what writes it, and the lanes if not all active."""
    target, *sources = d.operands.items
    if row.accumulates:
        sources.append(target)
    if len(sources) != len(row.sources):
        raise UnknownInstructionError(f"{d.line}: {len(row.sources)} operands expected")
    where = None
    getters = [
        source_get(d, i, op, kind)
        for i, (op, kind) in enumerate(zip(sources, row.sources, strict=True))
    ]
    if d.encoding in ("dpp", "e64_dpp", "dpp8"):
        getters[0], where = dpp(d, sources[0], row.sources[0])
    return _composed(_finished(d, row), getters), _putter(d, target, row), where


def source_get(d: Decoded, i: int, op: Operand, kind: OperandKind) -> Get:
    """Reads a source by its encoding: a part of a dword (SDWA), or a half (op_sel)."""
    if d.encoding == "sdwa":
        return part_get(op, kind, d.operands.values.get(f"src{i}_sel", "DWORD"))
    chosen = d.operands.bits("op_sel", ())
    high = i < len(chosen) and bool(chosen[i])
    if high and kind.bits != 16:
        raise UnknownInstructionError(f"{d.line}: op_sel of an operand of {kind.bits} bits")
    return vector_get(op, kind, int(high))


_KEEPS_HALF = ("v_fmac_f16", "v_fmamk_f16", "v_fmaak_f16", "v_mac_f16")
"""What keeps the upper half of its destination already before RDNA (LLVM: GCNSubtarget,
``zeroesHigh16BitsOfDest``)."""


def _putter(d: Decoded, target: Operand, row: OpcodeRow) -> Put:
    kind = row.result
    if d.encoding == "sdwa":
        values = d.operands.values
        return part_put(target, kind, values.get("dst_sel", "DWORD"), values.get("dst_unused", ""))
    chosen = d.operands.bits("op_sel", ())
    high = len(chosen) > len(row.sources) - row.accumulates and bool(chosen[-1])
    if kind.bits != 16:
        if high:
            raise UnknownInstructionError(f"{d.line}: op_sel of a result of {kind.bits} bits")
        return vector_put(target, kind)
    if target.half is None and (high or d.target.generation >= 10 or d.name in _KEEPS_HALF):
        return half_put(target, int(high))
    return vector_put(target, kind)


def _finished(d: Decoded, row: OpcodeRow) -> Callable[..., Values]:
    """What a row computes, with output modifiers and clamping."""
    compute = row.compute
    scale = next((f for name, f in _SCALES.items() if _has(d, name)), None)
    clamped = "clamp" in d.operands.flags
    if scale is None and not clamped:
        return compute
    if not row.result.real:
        if scale is not None or not row.saturates:
            raise UnknownInstructionError(f"{d.line}: clamp or scale of whole numbers")
        return saturated(row)

    def finish(*values: Values) -> Values:
        value = compute(*values)
        if scale is not None:
            value = value * value.dtype.type(scale)
        return unit(value) if clamped else value

    return finish


def unit(value: Values) -> Values:
    """Reals clamped: between 0 and 1, and NaN becomes 0."""
    found: Values = np.where(value > 0, np.minimum(value, value.dtype.type(1)), value.dtype.type(0))
    return found


def saturated(row: OpcodeRow) -> Callable[..., Values]:
    """A row of whole numbers whose results stay in range."""
    dtype = row.result.dtype
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max

    def compute(*values: Values) -> Values:
        exact = row.compute(*(v.astype(np.int64) for v in values))
        return np.clip(exact, low, high).astype(dtype)

    return compute


def _has(d: Decoded, modifier: str) -> bool:
    name, _, value = modifier.partition(":")
    return d.operands.values.get(name) == value


def _composed(compute: Callable[..., Values], getters: list[Get]) -> Get:
    if len(getters) == 1:
        (a,) = getters
        return lambda c: compute(a(c))
    if len(getters) == 2:
        a, b = getters
        return lambda c: compute(a(c), b(c))
    a, b, e = getters
    return lambda c: compute(a(c), b(c), e(c))


def masked(compute: Get, put: Put, where: Callable[[Cohort], Values]) -> Run:
    """What writes a result to some of the lanes only."""

    def run(c: Cohort) -> None:
        value, lanes = compute(c), where(c)
        active, full = c.exec, c.full
        c.exec, c.full = lanes, False
        put(c, np.broadcast_to(value, lanes.shape).copy())
        c.exec, c.full = active, full

    return run


OPCODES = dict.fromkeys(ROWS, decode)

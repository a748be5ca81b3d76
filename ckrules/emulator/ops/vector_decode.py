"""How rows of `vector` become instructions: operands, modifiers, encodings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import (
    MASK,
    Get,
    OperandKind,
    Put,
    Values,
    half_put,
    vector_get,
    vector_put,
)
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.ops.division import DIVISION_ROWS
from ckrules.emulator.ops.lanes import dpp, part_get, part_put
from ckrules.emulator.ops.opcode import OpcodeRow
from ckrules.emulator.ops.vector import BIT_ROWS, ROWS
from ckrules.emulator.ops.vector_masks import MASK_ROWS, SIGNED
from ckrules.emulator.wave import Cohort

_SCALES = {("mul", "2"): 2.0, ("mul", "4"): 4.0, ("div", "2"): 0.5}


def decode(d: Decoded) -> Run:
    """The meaning of an instruction with a row."""
    compute, put, where = parts(d)
    return masked(compute, put, where) if where is not None else lambda c: put(c, compute(c))


def decode_pair(first: Decoded, second: Decoded) -> Run:
    """Two vector instructions that read before either writes (VOPD of RDNA3 and later)."""
    halves = [parts(each) for each in (first, second)]
    if any(where is not None for *_, where in halves):
        raise UnknownInstructionError(f"{first.line}: lanes exchanged in a pair of instructions")
    (compute_x, put_x, _), (compute_y, put_y, _) = halves

    def run(c: Cohort) -> None:
        x, y = compute_x(c), compute_y(c).copy()  # a move's value is the register itself
        put_x(c, x)
        put_y(c, y)

    return run


def parts(d: Decoded) -> tuple[Get, Put, Callable[[Cohort], Values] | None]:
    """What computes an instruction's result, what writes it, and the lanes if not all active."""
    row = _row(d)
    targets, sources = _operands(d, row)
    where = None
    getters = [
        source_get(d, i, op, kind)
        for i, (op, kind) in enumerate(zip(sources, row.sources, strict=True))
    ]
    if d.encoding in ("dpp", "e64_dpp", "dpp8"):
        if row.flag or row.result is MASK:
            raise UnknownInstructionError(f"{d.line}: lanes exchanged where a mask is written")
        getters[0], where = dpp(d, sources[0], row.sources[0])
    compute = finished(d, row)
    return lambda c: compute(*[get(c) for get in getters]), _put(d, targets, row), where


def _row(d: Decoded) -> OpcodeRow:
    if d.name not in _ROWS:
        raise UnknownInstructionError(f"{d.line}: no semantics here")
    row = _ROWS[d.name]
    if d.name in SIGNED and any(op.negative or op.absolute for op in d.operands.items):
        kind = SIGNED[d.name]
        return replace(row, result=kind, sources=(kind, kind, MASK))
    return row


def _operands(d: Decoded, row: OpcodeRow) -> tuple[list[Operand], list[Operand]]:
    items = list(d.operands.items)
    if d.name.startswith("v_cmpx") and len(items) == len(row.sources):
        items.insert(0, Operand("s", int(Special.EXEC), 2))
    targets, sources = items[: 1 + row.flag], items[1 + row.flag :]
    if row.accumulates:
        sources.append(targets[0])
    if row.sources[-1] is MASK and len(sources) == len(row.sources) - 1:
        sources.append(Operand("s", int(Special.VCC), 2))
    if len(sources) != len(row.sources):
        raise UnknownInstructionError(f"{d.line}: {len(row.sources)} operands expected")
    return targets, sources


def source_get(d: Decoded, i: int, op: Operand, kind: OperandKind) -> Get:
    """Reads a source by its encoding: a part of a dword (SDWA), or a half (op_sel)."""
    if d.encoding == "sdwa":
        return part_get(op, kind, d.operands.values.get(f"src{i}_sel", "DWORD"))
    if kind is MASK:
        return vector_get(op, kind)
    chosen = d.operands.bits("op_sel", ())
    high = i < len(chosen) and bool(chosen[i])
    if high and kind.bits != 16:
        raise UnknownInstructionError(f"{d.line}: op_sel of an operand of {kind.bits} bits")
    return vector_get(op, kind, int(high))


_KEEPS_HALF = ("v_fmac_f16", "v_fmamk_f16", "v_fmaak_f16", "v_mac_f16")
"""What keeps the upper half of its destination already before RDNA (LLVM: GCNSubtarget,
``zeroesHigh16BitsOfDest``)."""


def _put(d: Decoded, targets: Sequence[Operand], row: OpcodeRow) -> Put:
    put = _put_of_one(d, targets[0], row)
    if d.name.startswith("v_cmpx"):
        return _put_to_exec(d, targets[0], put)
    if not row.flag:
        return put
    put_flag = vector_put(targets[1], MASK)

    def both(c: Cohort, values: tuple[Values, Values]) -> None:
        put(c, values[0])
        put_flag(c, values[1])

    return both  # type: ignore[return-value]  # its row gives two results


def _put_to_exec(d: Decoded, target: Operand, put: Put) -> Put:
    """V_CMPX: the mask of active lanes is written, before RDNA beside another."""
    beside = target.index != Special.EXEC and d.target.generation < 10
    put_exec = vector_put(Operand("s", int(Special.EXEC), 2), MASK)

    def run(c: Cohort, bits: Values) -> None:
        put(c, bits)
        if beside:
            put_exec(c, bits)
        c.refresh()

    return run


def _put_of_one(d: Decoded, target: Operand, row: OpcodeRow) -> Put:
    kind = row.result
    if d.encoding == "sdwa" and kind is not MASK:
        values = d.operands.values
        return part_put(target, kind, values.get("dst_sel", "DWORD"), values.get("dst_unused", ""))
    chosen = d.operands.bits("op_sel", ())
    given = sum(source is not MASK for source in row.sources) - row.accumulates
    high = len(chosen) > given and bool(chosen[-1])
    if kind.bits != 16:
        if high:
            raise UnknownInstructionError(f"{d.line}: op_sel of a result of {kind.bits} bits")
        return vector_put(target, kind)
    if target.half is None and (high or d.target.generation >= 10 or d.name in _KEEPS_HALF):
        return half_put(target, int(high))
    return vector_put(target, kind)


def finished(d: Decoded, row: OpcodeRow) -> Callable[..., Values]:
    """What a row computes, with output modifiers and clamping."""
    compute = row.compute
    if row.option:
        compute = partial(compute, **{row.option: d.operands.number(row.option)})
    scale = next((_SCALES[m] for m in d.operands.values.items() if m in _SCALES), None)
    clamped = "clamp" in d.operands.flags
    if scale is None and not clamped:
        return compute
    if row.flag or not row.result.real:
        if scale is not None or not row.saturates:
            raise UnknownInstructionError(f"{d.line}: clamp or scale of whole numbers")
        return _saturated(row)

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


def _saturated(row: OpcodeRow) -> Callable[..., Values]:
    dtype = row.result.dtype
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max

    def compute(*values: Values) -> Values:
        exact: Values = row.compute(*(v.astype(np.int64) for v in values))
        return np.clip(exact, low, high).astype(dtype)

    return compute


def masked(compute: Get, put: Put, where: Callable[[Cohort], Values]) -> Run:
    """What writes a result to some of the lanes only."""

    def run(c: Cohort) -> None:
        value, lanes = compute(c), where(c)
        active, full = c.exec, c.full
        c.exec, c.full = lanes, False
        put(c, np.broadcast_to(value, lanes.shape).copy())
        c.exec, c.full = active, full

    return run


_ROWS = {**ROWS, **MASK_ROWS, **DIVISION_ROWS, **BIT_ROWS}
OPCODES = dict.fromkeys(_ROWS, decode)

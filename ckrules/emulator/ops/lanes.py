"""Where a vector instruction takes its first operand from: parts of dwords, other lanes.

SDWA and DPP are encodings of GCN, CDNA and RDNA (AMD, "Instinct MI300 ISA", 12.16 and 12.17).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded
from ckrules.emulator.kinds import U32, Get, OperandKind, Put, Values, raw, vector_get
from ckrules.emulator.operands import Operand
from ckrules.emulator.wave import Cohort

_PARTS = {
    "DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16),
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
}  # fmt: skip


def part_get(op: Operand, kind: OperandKind, selected: str) -> Get:
    """Reads a part of a dword as a number (SDWA), with its sign if the operand says so."""
    if selected == "DWORD":
        return vector_get(replace(op, signed=False), kind)
    if kind.bits == 64 or ((op.negative or op.absolute) and not kind.real):
        raise UnknownInstructionError(f"a part of an operand of type {kind.name}")
    shift, width = _PARTS[selected]
    whole = vector_get(replace(op, signed=False, negative=False, absolute=False), U32)

    def get(c: Cohort) -> Values:
        cut = (whole(c) >> np.uint32(shift)) & np.uint32((1 << width) - 1)
        if op.signed:
            sign = np.uint32(1 << (width - 1))
            cut = (cut ^ sign) - sign
        value = cut.astype(np.uint16) if kind.bits == 16 else cut
        return kind.modified(op, value.view(kind.dtype))

    return get


def part_put(op: Operand, kind: OperandKind, selected: str, rest: str) -> Put:
    """Writes a part of a dword (SDWA); the rest is zero, or stays."""
    shift, width = _PARTS[selected]
    mask = np.uint32(((1 << width) - 1) << shift)

    def put(c: Cohort, value: Values) -> None:
        bits = value.view(np.uint16).astype(np.uint32) if kind.bits == 16 else value.view(np.uint32)
        bits = (bits << np.uint32(shift)) & mask
        if rest == "UNUSED_PRESERVE":
            bits = bits | (raw(c, op.file, op.index) & ~mask)
        elif rest == "UNUSED_SEXT":
            sign = np.uint32(1 << (shift + width - 1))
            bits = (bits ^ sign) - sign
        target = raw(c, op.file, op.index)
        np.copyto(target, bits, where=c.exec)

    return put


_Lanes = NDArray[np.int64]
_CONTROLS: dict[str, Callable[[_Lanes, int], _Lanes]] = {
    "row_shl": lambda lane, n: np.where(lane % 16 + n < 16, lane + n, -1),
    "row_shr": lambda lane, n: np.where(lane % 16 >= n, lane - n, -1),
    "row_ror": lambda lane, n: lane // 16 * 16 + (lane - n) % 16,
    "row_share": lambda lane, n: lane // 16 * 16 + n,
    "row_newbcast": lambda lane, n: lane // 16 * 16 + n,
    "row_xmask": lambda lane, n: lane ^ n,
    "row_mirror": lambda lane, _: lane ^ 15,
    "row_half_mirror": lambda lane, _: lane ^ 7,
    "row_bcast": lambda lane, n: lane // (n + 1) * (n + 1) - 1,
    "wave_shr": lambda lane, n: lane - n,
    "wave_shl": lambda lane, n: np.where(lane + n < len(lane), lane + n, -1),
}
"""From which lane each lane reads; below zero where there is none."""


def exchange(d: Decoded, lanes: int) -> tuple[_Lanes, NDArray[np.bool_]]:
    """From which lane each lane reads by a DPP control, and whether there is such a lane."""
    lane = np.arange(lanes)
    order = np.array(d.operands.bits("quad_perm", ()) or d.operands.bits("dpp8", ()))
    if order.size:
        return lane // order.size * order.size + order[lane % order.size], np.ones(lanes, bool)
    for name in _CONTROLS.keys() & (d.operands.flags | d.operands.values.keys()):
        source = _CONTROLS[name](lane, d.operands.number(name))
        return np.maximum(source, 0), source >= 0
    raise UnknownInstructionError(f"{d.line}: DPP control without semantics here")


def dpp(
    d: Decoded, op: Operand, kind: OperandKind
) -> tuple[Get, Callable[[Cohort], NDArray[np.bool_]]]:
    """How a DPP instruction reads its first operand, and which lanes it writes.

    A lane whose source does not exist or is not active keeps its old value, or reads zero with
    ``bound_ctrl``; rows and banks outside of their masks are not written.
    """
    get = vector_get(op, kind)
    zero = "bound_ctrl" in d.operands.values or "dpp8" in d.operands.values
    fetches = bool(d.operands.number("fi"))  # also from lanes that are not active
    source, there = exchange(d, d.target.wave_size)
    lane = np.arange(d.target.wave_size)
    rows, banks = d.operands.number("row_mask", 15), d.operands.number("bank_mask", 15)
    chosen = ((rows >> lane // 16 % 4) & 1 & (banks >> lane // 4 % 4)).astype(bool)

    def read(c: Cohort) -> Values:
        value = np.broadcast_to(get(c), c.exec.shape)[:, source]
        return np.where(there & (fetches | c.exec[:, source]), value, kind.dtype(0))

    def writes(c: Cohort) -> NDArray[np.bool_]:
        valid = c.exec & chosen
        found: NDArray[np.bool_] = valid if zero else valid & there & (fetches | c.exec[:, source])
        return found

    return read, writes

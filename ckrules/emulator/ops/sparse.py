"""Matrix instructions whose A is sparse: SMFMAC of CDNA, SWMMAC of RDNA4.

Of four elements in a row of A at most two are there, and two bits of the index say where each is.

Sources: AMD, "Instinct MI300 ISA", 7.4, and "RDNA4 ISA", 7.12; LLVM, AMDGPU.td of MLIR (which bits
of the index ABID chooses); ROCm/hip-fpsan, ``amdgcn_smfmac.hpp`` and ``amdgcn_swmmac_gfx12.hpp``
(where elements and indices lie, as seen on an MI350 and on an RX 9070).
"""

from __future__ import annotations

import re

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U32, Get, Values, vector_get
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.matrix import (
    Shape,
    accumulator_of,
    check_modifiers,
    elements,
    place,
    words_of,
    write,
)  # fmt: skip
from ckrules.emulator.ops.reals import FORMATS
from ckrules.emulator.ops.wmma import addend, finish, places, signed, type_of, whole
from ckrules.emulator.wave import Cohort

_SMFMAC = re.compile(r"v_smfmac_(f32|i32)_(16x16|32x32)x(\d+)_([a-z0-9_]+)$")
_SWMMAC = re.compile(r"v_swmmac_(f32|i32|f16|bf16)_16x16x(\d+)_([a-z0-9_]+)$")
_CHUNK = 128
"""Bits of B that belong together: what one read of a matrix unit takes."""


def decode(d: Decoded) -> Run | None:
    """The meaning of a product with a sparse A; None if it is none."""
    if hit := _SMFMAC.match(d.name):
        return _smfmac(d, hit[1], int(hit[2][:2]), int(hit[3]), _types(d, hit[4]))
    if hit := _SWMMAC.match(d.name):
        return _swmmac(d, hit[1], int(hit[2]), _types(d, hit[3]))
    return None


def _types(d: Decoded, names: str) -> tuple[str, str]:
    split = names.split("_")
    a, b = split * 2 if len(split) == 1 else split
    return type_of(d, a), type_of(d, b)


def _smfmac(d: Decoded, result: str, rows: int, k: int, types: tuple[str, str]) -> Run:
    check_modifiers(d, {"cbsz", "abid"})
    target, a_op, b_op, index_op = d.operands.items
    groups, count = 64 // rows, rows * k // 64
    chosen = 0 if d.operands.number("cbsz") else d.operands.number("abid")
    positions = _positions(d, index_op, count // 2, chosen)
    _, row, column = place(Shape(rows, rows, k, 1, result, *types))

    def run(c: Cohort) -> None:
        a = elements(c, a_op, types[0], count // 2).reshape(-1, groups, rows, count // 2)
        b = _beside(elements(c, b_op, types[1], count), types[1], groups, rows)
        total = _product(a, b, positions(c).reshape(-1, groups, rows, count // 2), result)
        value = accumulator_of(c, target, row.shape[1], result) + total[:, row, column]
        if result == "i32":
            write(c, target, whole(value, clamped=False))
        else:
            write(c, target, words_of(value.astype(np.float32)))

    return run


def _swmmac(d: Decoded, result: str, k: int, types: tuple[str, str]) -> Run:
    if d.target.wave_size != 32:
        raise UnknownInstructionError(f"{d.line}: without semantics here in waves of 64")
    check_modifiers(
        d, {"neg_lo", "neg_hi", "index_key"} | ({"clamp"} if result == "i32" else set())
    )
    target, a_op, b_op, index_op = d.operands.items
    lows, highs = (d.operands.bits(n, (0, 0, 0)) for n in ("neg_lo", "neg_hi"))
    count, clamped = k // 2, "clamp" in d.operands.flags
    positions = _positions(d, index_op, count // 2, d.operands.number("index_key"))
    row, column = places(new=True)

    def run(c: Cohort) -> None:
        a, b = (
            signed(elements(c, op, kind, n), kind, lows[i], highs[i]).reshape(-1, 2, 16, n)
            for i, (op, kind, n) in enumerate(
                ((a_op, types[0], count // 2), (b_op, types[1], count))
            )
        )
        where = positions(c).reshape(-1, 2, 16, count // 2)
        total = _product(a, b, where, result)[:, row, column]
        if result == "i32":
            write(c, target, whole(accumulator_of(c, target, 8, "i32") + total, clamped))
            return
        value = (addend(c, target, result, True, 0) + total).astype(np.float32)
        finish(c, target, value, result, True, 0)

    return run


def _positions(d: Decoded, op: Operand, count: int, chosen: int) -> Get:
    """Where the elements of A are among their four: (block, lane, element).

    The first element of a lane has the lowest bits. A register holds as many sets of them as fit.
    """
    if (chosen + 1) * 2 * count > 32:
        raise UnknownInstructionError(f"{d.line}: no such set of indices")
    get = vector_get(op, U32)
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(2) + np.uint32(chosen * 2 * count)

    def positions(c: Cohort) -> Values:
        word = np.broadcast_to(get(c), c.exec.shape)[..., None]
        found: Values = (word >> shifts & np.uint32(3)).astype(np.int64)
        return found

    return positions


def _beside(b: Values, kind: str, groups: int, rows: int) -> Values:
    """B as (block, group of lanes, column, element), beside the elements of A that meet it.

    Where a lane holds two chunks, as on gfx950, chunk ``i`` is in lanes of group ``i % groups``
    and meets what group ``i // 2`` holds of A.
    """
    each = _CHUNK // FORMATS[kind].bits
    held = b.shape[-1] // each
    split = b.reshape(-1, groups, rows, held, each)
    chunks = split.transpose(0, 3, 1, 2, 4).reshape(-1, groups, held, rows, each)
    return chunks.transpose(0, 1, 3, 2, 4).reshape(-1, groups, rows, held * each)


def _product(a: Values, b: Values, positions: Values, result: str) -> Values:
    """A times B: (block, row, column).

    Each element of A meets one of four of B, and no other: what is infinite elsewhere is not seen.
    """
    wide = np.int64 if result == "i32" else np.float64
    total = np.zeros((a.shape[0], a.shape[2], b.shape[2]), wide)
    for i in range(a.shape[-1]):
        four = b[..., i // 2 * 4 : i // 2 * 4 + 4].astype(wide)[:, :, None]
        met = np.take_along_axis(four, positions[..., i, None, None], -1)[..., 0]
        total += (a[..., i, None].astype(wide) * met).sum(1)
    return total

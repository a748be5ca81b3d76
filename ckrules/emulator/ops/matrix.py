"""Matrix instructions: MFMA of CDNA, and WMMA of RDNA with results of 32 bits.

CBSZ, ABID and BLGP, by which products share operands, are refused, and so are products of fp64.

Sources: AMD, "Instinct MI300 ISA", chapter 7 (layouts of operands); "CDNA4 ISA"; "RDNA3 ISA", 7.9,
and "RDNA4 ISA", 7.12 (layouts; NEG); AMD's matrix instruction calculator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ckrules.emulator import modifiers
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, I32, Values
from ckrules.emulator.native.product import MatrixInstruction, Shape
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, unpack
from ckrules.emulator.wave import Cohort

_RESULTS = {"f32": F32, "i32": I32}
_MFMA = re.compile(r"v_mfma_(f32|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?([a-z0-9_]+?)(_1k)?$")
_WMMA = re.compile(r"v_wmma_(f32|i32)_16x16x16_([a-z0-9_]+)$")

_REALS = {
    "f32": ("32x32x1_2b", "16x16x1_4b", "4x4x1_16b", "32x32x2", "16x16x4"),
    "f16": ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16", "16x16x32", "32x32x16"),
    "bf16": ("32x32x2", "16x16x2", "4x4x2", "32x32x4", "16x16x8", "32x32x4_2b", "16x16x4_4b",
             "4x4x4_16b", "32x32x8", "16x16x16", "16x16x32", "32x32x16"),
    "bf16_1k": ("32x32x4", "16x16x4", "4x4x4", "32x32x8", "16x16x16"),
    "xf32": ("16x16x8", "32x32x4"),
    **{f"{a}_{b}": ("16x16x32", "32x32x16") for a in ("fp8", "bf8") for b in ("fp8", "bf8")},
}  # fmt: skip
_WHOLE = ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16", "32x32x16", "16x16x32",
          "16x16x64", "32x32x32")  # fmt: skip


def _names() -> Iterator[str]:
    """The MFMA of all generations, in the older spelling without the number of products, too."""
    sizes = {("f32", kind): each for kind, each in _REALS.items()}
    sizes["i32", "i8"] = _WHOLE
    for (result, kind), each in sizes.items():
        for size in each:
            yield f"v_mfma_{result}_{size}_{kind}"
            yield f"v_mfma_{result}_{size.partition('_')[0]}{kind}"


def decode(d: Decoded) -> Run:
    """The meaning of an MFMA."""
    shape = mfma_shape(d.name)
    assert shape is not None
    shape = replace(shape, a=d.target.float8(shape.a), b=d.target.float8(shape.b))
    target, a_op, b_op, c_op = d.operands.items[:4]
    modifiers.refuse(d, frozenset())
    p = MatrixInstruction(shape, (a_op, b_op), target, c_op, place(shape), "f32")

    def run(c: Cohort) -> None:
        if c.native is not None:
            c.native.trace.matrix(p)
            return
        finish(c, p, accumulator_of(c, p) + summed(p, operand(c, p, 0), operand(c, p, 1)))

    return run


OPCODES = dict.fromkeys(_names(), decode)


def mfma_shape(name: str) -> Shape | None:
    """The shape of an MFMA by its name, in the spellings of all generations.

    >>> mfma_shape("v_mfma_f32_32x32x8f16")
    Shape(m=32, n=32, k=8, blocks=1, result='f32', a='f16', b='f16', lanes=64)
    >>> mfma_shape("v_mfma_f32_4x4x4_16b_f16").blocks
    16
    """
    hit = _MFMA.match(name)
    if hit is None:
        return None
    m, n, k = int(hit[2]), int(hit[3]), int(hit[4])
    types = hit[6].split("_")
    types = types * 2 if len(types) == 1 else types
    if any(t not in FORMATS for t in types):
        return None
    blocks = int(hit[5]) if hit[5] else _blocks(m, k, types[0], bool(hit[7]))
    return Shape(m, n, k, blocks, hit[1], types[0], types[1])


def _blocks(m: int, k: int, kind: str, newer: bool) -> int:
    """How many products names without a number of blocks compute (gfx908, gfx90a)."""
    per_lane = {"f32": 1, "xf32": 2, "f16": 4, "i8": 4, "bf16": 4 if newer else 2}
    return max(1, 64 * per_lane.get(kind, 8) // (m * k))


def elements(c: Cohort, op: Operand, kind: str, count: int) -> Values:
    """What each lane holds: (block, lane, element), as numbers."""
    words = -(-count * FORMATS[kind].bits // 32)
    return unpack(registers(c, op, words), kind)[..., :count]


def operand(c: Cohort, p: MatrixInstruction, i: int) -> Values:
    """A or B as matrices: (block of threads, product, row, k).

    Lane ``row + rows * (product + products * step)`` holds a piece of each range of K, the steps
    after each other.
    """
    op, kind, rows, count = p.side(i)
    shape, parts = p.shape, p.parts[i]
    each = elements(c, op, kind, count)[:, : shape.lanes]
    split = each.reshape(len(each), -1, shape.blocks, rows, parts, count // parts)
    return split.transpose(0, 2, 3, 4, 1, 5).reshape(len(each), shape.blocks, rows, shape.k)


def place(shape: Shape) -> Values:
    """Which element of all products, row by row, is where in the result: (register, lane)."""
    lane = np.arange(64)
    register = np.arange(shape.m * shape.n * shape.blocks // 64)[:, None]
    above = lane // shape.n  # which group of four rows
    if shape.m == 4:
        product, row = above, register
    else:
        each = shape.m * shape.n // 64
        product, inner = register // each, register % each
        row = inner // 4 * (256 // shape.n) + 4 * above + inner % 4
    return (product * shape.m + row) * shape.n + lane % shape.n


def summed(p: MatrixInstruction, a: Values, b: Values) -> Values:
    """A times the transpose of B as the result lies: (block, lane, register).

    Products are added one after the other, from the first of K on: libraries for matrix products
    add in an order of their own, which differs by machine.
    """
    wide = np.dtype(np.int64 if p.shape.result == "i32" else p.wide.replace("f", "float"))
    a, b = a.astype(wide), b.astype(wide)
    total = np.zeros((*a.shape[:-1], b.shape[-2]), wide)
    for k in range(a.shape[-1]):
        total += a[..., :, None, k] * b[..., None, :, k]
    return total.reshape(len(total), -1)[:, p.where.T]


def accumulator_of(c: Cohort, p: MatrixInstruction) -> Values:
    """C as each lane holds it: (block, lane, register)."""
    op, kind = p.addend, _RESULTS[p.shape.result]
    if op.is_constant:
        return kind.constant(op)[None, None]
    return registers(c, op, len(p.where)).view(kind.dtype)


def registers(c: Cohort, op: Operand, count: int) -> Values:
    """Dwords of consecutive registers: (block, lane, dword)."""
    file = c.v if op.file == "v" else c.a
    return np.ascontiguousarray(np.moveaxis(file[op.index : op.index + count], 0, -1))


def finish(c: Cohort, p: MatrixInstruction, value: Values) -> None:
    """Writes a result to all lanes, whatever EXEC says; whole numbers are cut to 32 bits."""
    dtype = np.uint32 if p.shape.result == "i32" else _RESULTS[p.shape.result].dtype
    words = np.ascontiguousarray(value.astype(dtype)).view(np.uint32)
    file = c.v if p.target.file == "v" else c.a
    file[p.target.index : p.target.index + words.shape[-1]] = np.moveaxis(words, -1, 0)


# RDNA


def decode_wmma(d: Decoded) -> Run:
    """The meaning of a WMMA."""
    hit = _WMMA.match(d.name)
    assert hit is not None
    result, names = hit[1], hit[2].split("_")
    whole = result == "i32"
    modifiers.refuse(d, frozenset({"neg_lo", "clamp"} if whole else ()))
    # NEG says whether whole numbers have a sign.
    signs = d.operands.bits("neg_lo", (0, 0, 0))
    types = [f"{'ui'[sign]}8" for sign in signs[:2]] if whole else [*map(d.target.float8, names)]
    if any(t not in FORMATS for t in types) or d.target.wave_size != 32 or signs[2]:
        raise UnknownInstructionError(f"{d.line}: WMMA without semantics here")
    target, a_op, b_op, c_op = d.operands.items[:4]
    new, clamped = d.target.generation >= 12, "clamp" in d.operands.flags
    # RDNA3: lanes 16 to 31 hold what lanes 0 to 15 do.
    shape = Shape(16, 16, 16, 1, result, types[0], types[-1], 32 if new else 16)
    p = MatrixInstruction(shape, (a_op, b_op), target, c_op, wmma_place(new), "f64")

    def run(c: Cohort) -> None:
        if c.native is not None and not clamped:
            c.native.trace.matrix(p)
            return
        value = accumulator_of(c, p) + summed(p, operand(c, p, 0), operand(c, p, 1))
        finish(c, p, np.clip(value, -(1 << 31), (1 << 31) - 1) if clamped else value)

    return run


def wmma_place(new: bool) -> Values:
    """Which element of the result, row by row, is where: (register, lane)."""
    lane, register = np.arange(32), np.arange(8)[:, None]
    row = 8 * (lane // 16) + register if new else 2 * register + lane // 16
    return 16 * row + lane % 16


_FORMS = ("f32_16x16x16_f16", "f32_16x16x16_bf16", "i32_16x16x16_iu8",
          *(f"f32_16x16x16_{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")))  # fmt: skip
OPCODES |= {f"v_wmma_{form}": decode_wmma for form in _FORMS}

"""Matrix instructions of CDNA: MFMA.

Sources: AMD, "Instinct MI300 ISA", chapter 7 (layouts of operands, CBSZ, ABID, BLGP); "CDNA4 ISA";
AMD's matrix instruction calculator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, F64, I32, Values
from ckrules.emulator.native.trace import TracedProduct
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, unpack
from ckrules.emulator.wave import Cohort

_MFMA = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?([a-z0-9_]+?)(_1k)?$")


@dataclass(frozen=True, slots=True)
class Shape:
    """One MFMA: sizes, blocks, types."""

    m: int
    n: int
    k: int
    blocks: int
    result: str
    a: str
    b: str
    lanes: int = 64

    def parallel(self, rows: int) -> int:
        """Elements of K that each lane holds of an operand with so many rows."""
        return rows * self.k * self.blocks // self.lanes


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
    sizes |= {("i32", "i8"): _WHOLE, ("f64", "f64"): ("16x16x4", "4x4x4_4b")}
    for (result, kind), each in sizes.items():
        for size in each:
            yield f"v_mfma_{result}_{size}_{kind}"
            yield f"v_mfma_{result}_{size.partition('_')[0]}{kind}"


def decode(d: Decoded) -> Run:
    """The meaning of an MFMA."""
    shape = mfma_shape(d.name)
    assert shape is not None
    return _mfma(d, replace(shape, a=d.target.float8(shape.a), b=d.target.float8(shape.b)))


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
    per_lane = {"f64": 1, "f32": 1, "xf32": 2, "f16": 4, "i8": 4, "bf16": 4 if newer else 2}.get(
        kind, 8
    )
    return max(1, 64 * per_lane // (m * k))


def elements(c: Cohort, op: Operand, kind: str, count: int) -> Values:
    """What each lane holds: (block, lane, element), as numbers."""
    words = -(-count * FORMATS[kind].bits // 32)
    file = c.v if op.file == "v" else c.a
    data = np.ascontiguousarray(np.moveaxis(file[op.index : op.index + words], 0, -1))
    return unpack(data, kind)[..., :count]


def _operand(each: Values, rows: int, shape: Shape) -> Values:
    """A or B as matrices: (block of threads, product, row, k).

    Lane ``row + rows * (product + products * step)`` holds ``parallel`` consecutive elements of K.
    """
    count = each.shape[-1]
    steps = shape.k // count
    split = each.reshape(each.shape[0], steps, shape.blocks, rows, count)
    return split.transpose(0, 2, 3, 1, 4).reshape(each.shape[0], shape.blocks, rows, shape.k)


def _broadcast(a: Values, cbsz: int, abid: int) -> Values:
    """CBSZ and ABID: one of 2**CBSZ neighbouring products gives its A to all of them."""
    size = 1 << cbsz
    source = np.arange(a.shape[1]) // size * size + abid
    return a[:, source]


def _group_lanes(each: Values, blgp: int) -> Values:
    """BLGP: groups of 16 lanes of B, exchanged."""
    lane = np.arange(64)
    group = {
        1: lane % 32, 2: 32 + lane % 32, 3: (lane + 16) % 64,
        4: lane % 16, 5: 16 + lane % 16, 6: 32 + lane % 16, 7: 48 + lane % 16,
    }[blgp]  # fmt: skip
    return each[:, group]


def place(shape: Shape) -> tuple[Values, Values, Values]:
    """Product, row and column of each element of the result: arrays over (lane, register)."""
    lane = np.arange(64)[:, None]
    count = shape.m * shape.n * shape.blocks // 64
    register = np.arange(count)[None, :]
    column = lane % shape.n + 0 * register
    if shape.result == "f64":
        product = lane // shape.n % shape.blocks + 0 * register
        return product, 4 * register + lane // 16, column
    if shape.m == 4:
        return lane // 4 + 0 * register, register + 0 * lane, column
    above = lane // shape.n  # which group of four rows
    each = shape.m * shape.n // 64
    product, inner = register // each + 0 * lane, register % each
    row = inner // 4 * (256 // shape.n) + 4 * above + inner % 4
    return product, row, column


_BROADCASTS = {"cbsz", "abid", "blgp"}


def check_modifiers(d: Decoded, accepted: set[str]) -> None:
    """Refuses the modifiers that other matrix instructions have.

    Raises:
        UnknownInstructionError: If there is one.
    """
    for name in sorted((d.operands.values.keys() | d.operands.flags) - accepted):
        raise UnknownInstructionError(f"{d.line}: modifier {name} without semantics here")


def _mfma(d: Decoded, shape: Shape) -> Run:
    target, a_op, b_op, c_op = d.operands.items[:4]
    cbsz, abid, blgp = (d.operands.number(n) for n in ("cbsz", "abid", "blgp"))
    signs = d.operands.bits("neg", (0, 0, 0))
    check_modifiers(d, {"cbsz", "abid", "blgp", "neg"} if shape.result == "f64" else _BROADCASTS)
    if abid >> cbsz or 1 << cbsz > shape.blocks:
        raise UnknownInstructionError(f"{d.line}: more products than there are share an operand")
    if blgp and shape.result == "f64":
        raise UnknownInstructionError(f"{d.line}: groups of lanes of fp64 exchanged")
    product, row, column = place(shape)
    a_count, b_count = shape.parallel(shape.m), shape.parallel(shape.n)
    wide: Any = np.float64 if shape.result == "f64" else np.float32

    plain = not (cbsz or blgp or any(signs)) and shape.result != "f64"
    where = (product * shape.m + row) * shape.n + column

    def run(c: Cohort) -> None:
        if c.native is not None and plain:
            words = tuple(
                -(-n * FORMATS[k].bits // 32) for n, k in ((a_count, shape.a), (b_count, shape.b))
            )
            counts = a_count, b_count
            c.native.trace.matrix(
                TracedProduct(shape, (a_op, b_op), target, c_op, counts, words, where.T, "f32", 64)
            )
            return
        a = _operand(elements(c, a_op, shape.a, a_count), shape.m, shape)
        raw_b = elements(c, b_op, shape.b, b_count)
        if blgp:
            raw_b = _group_lanes(raw_b, blgp)
        b = _operand(raw_b, shape.n, shape)
        if cbsz:
            a = _broadcast(a, cbsz, abid)
        if signs[0]:
            a = -a
        if signs[1]:
            b = -b
        accumulator = accumulator_of(c, c_op, row.shape[1], shape.result)
        if signs[2]:
            accumulator = -accumulator
        if shape.result == "i32":
            total = a.astype(np.int64) @ b.astype(np.int64).swapaxes(2, 3)
            value = accumulator + total[:, product, row, column]
            write(c, target, value.astype(np.int64).astype(np.uint32))
            return
        total = summed(a.astype(wide), b.astype(wide))
        value = accumulator + total[:, product, row, column]
        write(c, target, words_of(value.astype(wide)))

    return run


def summed(a: Values, b: Values) -> Values:
    """A times the transpose of B: products added one after the other, from the first of K on.

    Libraries for matrix products add in an order of their own, which differs by machine.
    """
    total = np.zeros((*a.shape[:-1], b.shape[-2]), a.dtype)
    for k in range(a.shape[-1]):
        total += a[..., :, None, k] * b[..., None, :, k]
    return total


def accumulator_of(c: Cohort, op: Operand, count: int, result: str) -> Values:
    """C as each lane holds it: (block, lane, register)."""
    kind = {"f32": F32, "i32": I32, "f64": F64}[result]
    if op.is_constant:
        return kind.constant(op)[None, None]
    words = count * (2 if result == "f64" else 1)
    file = c.v if op.file == "v" else c.a
    data = np.ascontiguousarray(np.moveaxis(file[op.index : op.index + words], 0, -1))
    return data.view(kind.dtype)


def words_of(value: Values) -> Values:
    """Numbers as the dwords of registers."""
    return np.ascontiguousarray(value).view(np.uint32)


def write(c: Cohort, target: Operand, words: Values) -> None:
    """Writes registers of all lanes: matrix instructions do not look at EXEC."""
    file = c.v if target.file == "v" else c.a
    file[target.index : target.index + words.shape[-1]] = np.moveaxis(words, -1, 0)

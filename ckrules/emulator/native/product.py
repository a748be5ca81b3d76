"""Matrix products as their instructions describe them, and the C of one.

Numpy (`ckrules.emulator.ops.matrix`) and C compute from the same description.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.emulator.native.values import UntraceableError
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.float_formats import FORMATS, table

_ELEMENTS = {
    **{kind: f"{kind.upper()}_" for kind in ("f32", "f16", "bf16", "i8", "u8")},
    "xf32": "F32_",
}
"""Formats that `runtime.h` reads; others are looked up in a table."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One matrix product: sizes, blocks, types."""

    m: int
    n: int
    k: int
    blocks: int
    result: str
    a: str
    b: str
    lanes: int = 64
    """Those that hold operands."""

    def parallel(self, rows: int) -> int:
        """Elements of K that each lane holds of an operand with so many rows."""
        return rows * self.k * self.blocks // self.lanes


@dataclass(frozen=True)
class MatrixInstruction:
    """A matrix product with its registers."""

    shape: Shape
    operands: tuple[Operand, Operand]
    target: Operand
    addend: Operand
    where: NDArray[Any]
    """Which element of the result is where: (register, lane)."""
    wide: str
    """The type in which reals are summed."""
    parts: tuple[int, int] = (1, 1)
    """Ranges of K of which each lane holds a piece, for A and for B."""

    def side(self, i: int) -> tuple[Operand, str, int, int]:
        """A (0) or B (1): its first register, format, rows, and elements that a lane holds."""
        shape = self.shape
        rows = (shape.m, shape.n)[i]
        return self.operands[i], (shape.a, shape.b)[i], rows, shape.parallel(rows)


def written(trace: Any, p: MatrixInstruction) -> str:
    """The C of a product of all lanes."""
    shape, count = p.shape, len(p.where)
    sides = [_read(trace, p, i) for i in range(2)]
    target = _first(trace, p.target, count)
    if p.addend.is_constant and p.addend.value:
        raise UntraceableError("a constant added to a product")
    same = (p.addend.file, p.addend.index) == (p.target.file, p.target.index)
    first = target if same else _first(trace, p.addend, count) if not p.addend.is_constant else ""
    before = f"{first}[at]" if first else "0"
    near = not p.addend.is_constant and p.addend.file == p.target.file
    near = near and 0 < abs(p.addend.index - p.target.index) < count
    rows = p.where.reshape(-1, shape.n)  # lanes side by side hold elements side by side
    if (rows != rows[:, :1] + np.arange(shape.n)).any():
        raise UntraceableError("a result whose columns are not in order")
    trace.heads.append(f"static const u16 where[] = {{{','.join(map(str, rows[:, 0]))}}};")
    total = "i32" if shape.result == "i32" else p.wide
    old = f"({total})(i32){before}" if total == "i32" else f"({total})u32_as_f32({before})"
    result = f"{old} + from[x]"
    result = f"(u32)({result})" if total == "i32" else f"f32_as_u32((f32)({result}))"
    # Where the addend reaches into the result, all of it is read before any is written.
    place = f"whole[r][g * {shape.n} + x]" if near else f"{target}[at]"
    end = f"memcpy({target} + (r * n + b) * LANES, whole[r], 4 * LANES);"
    return f"""for (long b = 0; b < n; b++) {{
{total} left[{shape.blocks * shape.k * shape.m}], right[{shape.blocks * shape.k * shape.n}];
{total} sum[{shape.blocks * shape.m * shape.n}];
{f"u32 whole[{count}][LANES];" if near else ""}
operand_{total}(left, {sides[0]});
operand_{total}(right, {sides[1]});
product_{total}(sum, left, right, {shape.m}, {shape.n}, {shape.k}, {shape.blocks});
for (long r = 0; r < {count}; r++)
for (long g = 0; g < LANES / {shape.n}; g++) {{
const {total} *from = sum + where[r * (LANES / {shape.n}) + g];
for (long x = 0; x < {shape.n}; x++) {{
const long at = (r * n + b) * LANES + g * {shape.n} + x;
{place} = {result};
}}
}}
{f"for (long r = 0; r < {count}; r++) {end}" if near else ""}
}}"""


def _read(trace: Any, p: MatrixInstruction, i: int) -> str:
    """What ``operand_T`` of `runtime.h` takes to read A or B of a block."""
    op, kind, rows, count = p.side(i)
    first = _first(trace, op, -(-count * FORMATS[kind].bits // 32))
    word, values = _ELEMENTS.get(kind, "TABLE_"), "0"
    if word == "TABLE_":
        values = f"floats{len(trace.heads)}"
        each = ",".join(f"0x{int(bits):x}" for bits in table(kind).view(np.uint32))
        trace.heads.append(f"static const u32 {values}[] = {{{each}}};")
    where = f"{first} + b * LANES, n * LANES, {word}, (const f32 *){values}"
    shape = p.shape
    return f"{where}, {rows}, {shape.blocks}, {count}, {shape.k}, {shape.lanes}, {p.parts[i]}"


def _first(trace: Any, op: Operand, words: int) -> str:
    if op.file not in "va" or op.count < words:
        raise UntraceableError("no vector registers")
    found: str = trace.place(op.file, op.index)
    return found

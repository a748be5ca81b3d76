"""Instructions run on values that write C: what becomes of one is a function over blocks and lanes.

Registers and constants of an instruction are parameters, so that one function serves all
instructions of a shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ckrules.emulator.native.values import (
    Parts,
    Traced,
    UntraceableError,
    common_type,
    ctype,
    kind_of,
    literal,
    result_type,
)
from ckrules.emulator.operands import Special
from ckrules.emulator.ops.float_formats import table

_BINARY = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.bitwise_and: "&", np.bitwise_or: "|",
    np.bitwise_xor: "^", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=", np.logical_and: "&&",
    np.logical_or: "||",
}  # fmt: skip
_CALLS = {
    np.rint: "rint",
    np.trunc: "trunc",
    np.floor: "floor",
    np.ceil: "ceil",
    np.sqrt: "sqrt",
    np.absolute: "fabs",
    np.fabs: "fabs",
}
_TESTS = {
    np.isnan: "({0} != {0})",
    np.isfinite: "(({0}) - ({0}) == 0)",
    np.isinf: "({0} == {0} && !(({0}) - ({0}) == 0))",
}
_ELEMENTS = {
    "f32": "F32_",
    "xf32": "F32_",
    "f16": "F16_",
    "bf16": "BF16_",
    "i8": "I8_",
    "u8": "U8_",
}
REGISTERS, CONSTANTS, BUFFERS = 40, 16, 8


@dataclass
class NativeForm:
    """What an instruction became: a function's body, and this instruction's parameters."""

    body: str
    registers: list[int]
    constants: list[int]
    issues: list[tuple[str, frozenset[int], bool, int]]
    """Counters, the registers that are loaded, whether in order, bytes of an access to LDS."""
    writes: bool = False
    """Whether the access to LDS writes."""


@dataclass(frozen=True)
class TracedProduct:
    """A matrix product, as its instruction describes it."""

    shape: Any
    operands: tuple[Any, Any]
    target: Any
    addend: Any
    counts: tuple[int, int]
    """Elements of A and of B that a lane holds."""
    words: tuple[int, ...]
    """Registers of A and of B."""
    where: Any
    """Which element of the result is where: (register, lane)."""
    wide: str
    """The type in which reals are summed."""
    lanes: int
    """Those that hold operands."""
    parts: int = 1
    """Ranges of K of which each lane holds a piece."""


@dataclass
class Trace:
    """The C of one instruction, as it comes about."""

    lanes: int
    registers: dict[tuple[str, int], int] = field(default_factory=dict)
    constants: list[int] = field(default_factory=list)
    pure: list[tuple[bool, str]] = field(default_factory=list)
    """Statements without effects: whether of a lane, and the text."""
    effects: list[tuple[bool, str]] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    """Statements of a block behind its lanes."""
    done: list[str] = field(default_factory=list)
    """Loops and calls that are complete."""
    issues: list[tuple[str, frozenset[int], bool, Any]] = field(default_factory=list)
    touched: list[tuple[int, bool]] = field(default_factory=list)
    refreshes: bool = False
    buffers: int = 0
    spread_out: dict[str, int] = field(default_factory=dict)
    """Values that other lanes read, and their buffers."""
    tables: dict[bytes, str] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    number: int = 0

    # Values

    def new(self, dtype: Any, text: str, *, lane: bool) -> Traced:
        """A value with a name of its own."""
        self.number += 1
        name = f"t{self.number}"
        kind = np.dtype(dtype)
        self.pure.append((lane, f"const {ctype(kind)} {name} = ({ctype(kind)})({text});"))
        return Traced(self, kind, name, lane=lane)

    def register(self, file: str, index: int) -> Traced:
        """What a register holds now."""
        at = self.place(file, index)
        if at in self.written:
            raise UntraceableError("a register is read after it was written")
        text = f"{at}[b]" if file == "s" else f"{at}[x]"
        found = self.new(np.uint32, text, lane=file != "s")
        found.home = at
        return found

    def place(self, file: str, index: int) -> str:
        """A register's name in C."""
        number = self.registers.setdefault((file, index), len(self.registers))
        return f"r{number}"

    def value(self, given: Any, dtype: np.dtype[Any]) -> Traced:
        """Anything as a value of a type."""
        if isinstance(given, Traced):
            return self.cast(given, dtype)
        if isinstance(given, (bool, int, float, np.generic)) or given.ndim == 0:
            return Traced(self, dtype, literal(given, dtype), lane=False)
        if given.size == 1 or (given == given.flat[0]).all():
            return self.cast(self._constant(given.flat[0]), dtype)
        if given.size == self.lanes:
            return self.cast(self._table(given.reshape(-1), "l"), dtype)
        raise UntraceableError("an array as an operand")

    def _constant(self, value: Any) -> Traced:
        bits = int.from_bytes(value.tobytes(), "little")
        self.constants.append(bits)
        at, size = len(self.constants) - 1, 8 * value.dtype.itemsize
        if value.dtype.kind == "b":
            return self.new(value.dtype, f"i->k[{at}]", lane=False)
        text = f"u{size}_as_{ctype(value.dtype)}((u{size})i->k[{at}])"
        return self.new(value.dtype, text, lane=False)

    def _table(self, values: Any, index: str) -> Traced:
        key = values.tobytes() + values.dtype.str.encode()
        if key not in self.tables:
            self.tables[key] = name = f"table{len(self.tables)}"
            each = ",".join(
                literal(v, np.dtype(f"u{values.itemsize}"))
                for v in values.view(f"u{values.itemsize}")
            )
            self.heads.append(f"static const u{8 * values.itemsize} {name}[] = {{{each}}};")
        kind = "u8" if values.dtype.kind == "b" else ctype(values.dtype)
        text = f"{self.tables[key]}[{index}]"
        if kind != f"u{8 * values.itemsize}":
            text = f"u{8 * values.itemsize}_as_{kind}({text})"
        return self.new(values.dtype, text, lane=True)

    def element(self, table: Any, index: Traced) -> Traced:
        """An element of a table."""
        return self._table(table, index.text)

    def spread(self, value: Any) -> Any:
        """A value as one of each lane."""
        if isinstance(value, Traced) and not value.lane:
            return self.new(value.dtype, value.text, lane=True)
        return value

    def cast(self, value: Traced, dtype: np.dtype[Any]) -> Traced:
        """A value as another type, as C and numpy both convert."""
        if value.dtype == dtype:
            return value
        text, source = value.text, value.dtype
        if dtype.kind == "b":
            text = f"{text} != 0"
        elif "float16" in (source.name, dtype.name) and source.kind != "b":
            if source.kind == "i" or source.kind == "u":
                if source.itemsize > 2:
                    raise UntraceableError("a large whole number as fp16")
                text = f"(float){text}"
            elif source.kind == "f" and dtype.kind in "iu":
                text = f"(float){text}"
        return self.new(dtype, text, lane=value.lane)

    def call(self, name: str, args: tuple[Any, ...], dtype: Any) -> Traced:
        """A function of ``runtime.h``."""
        kind = common_type(*args)
        each = [self.value(a, kind) for a in args]
        text = f"{name}_{ctype(kind)}({', '.join(e.text for e in each)})"
        return self.new(dtype or kind, text, lane=any(e.lane for e in each))

    def apply(self, ufunc: Any, args: tuple[Any, ...]) -> Any:
        """A function of numpy."""
        results = result_type(ufunc, tuple(kind_of(a) for a in args))
        if ufunc is np.frexp:
            return self._frexp(args[0], results)
        if ufunc is np.ldexp:
            a, n = self.value(args[0], results[0]), self.value(args[1], np.dtype(np.int32))
            text = f"scale_{ctype(results[0])}({a.text}, {n.text})"
            return self.new(results[0], text, lane=a.lane or n.lane)
        common = common_type(*args)
        each = [self.value(a, common) for a in args]
        text = _expression(ufunc, [e.text for e in each], common)
        return self.new(results[0], text, lane=any(e.lane for e in each))

    def _frexp(self, a: Traced, results: tuple[np.dtype[Any], ...]) -> tuple[Traced, Traced]:
        if a.dtype.itemsize < 4:
            raise UntraceableError("frexp of fp16")
        kind = ctype(a.dtype)
        return (
            self.new(results[0], f"mantissa_{kind}({a.text})", lane=a.lane),
            self.new(results[1], f"exponent_{kind}({a.text})", lane=a.lane),
        )

    # Effects

    def guard(self, bad: Traced) -> None:
        """Leaves the instruction to numpy if a condition holds anywhere."""
        if self.effects or self.after:
            raise UntraceableError("a guard behind an effect")
        self._loop([*self.pure, (bad.lane, f"lost |= {bad.text};")], [])
        self.done.append("if (lost) return 1;")

    def _loop(self, statements: list[tuple[bool, str]], after: list[str]) -> None:
        before = [text for lane, text in statements if not lane]
        inner = [text for lane, text in statements if lane]
        lines = ["for (long b = 0; b < n; b++) {", *before]
        if inner:
            lines += ["LANES_LOOP {", "const long x = b * LANES + l; (void)x;", *inner, "}"]
        self.done.append("\n".join([*lines, *after, "}"]))

    def flush(self) -> None:
        """Ends the loops so far, since a function is called or the instruction is over."""
        if self.effects or self.after:
            self._loop([*self.pure, *self.effects], self.after)
            self.effects, self.after = [], []

    def store(self, target: Any, value: Any, where: Any) -> None:
        """Writes the lanes of a mask of a register."""
        if not isinstance(target, Traced) or target.home is None:
            raise UntraceableError("a store to no register")
        new, bit = self.value(value, np.dtype(np.uint32)), self.value(where, np.dtype(bool))
        if new.dtype != np.uint32 or self.after:
            raise UntraceableError("a store of no dword")
        at = target.home
        self.written.add(at)
        self.effects.append((True, f"{at}[x] ^= (({new.text}) ^ {at}[x]) & (0 - (u32){bit.text});"))

    def scalar(self, index: int, value: Any) -> None:
        """Writes a scalar register of each block."""
        new = self.value(value, np.dtype(np.uint32))
        at = self.place("s", index)
        if new.lane:
            raise UntraceableError("a lane's value in a scalar register")
        self.written.add(at)
        self.after.append(f"{at}[b] = {new.text};")
        if index >= Special.EXEC:
            self.refreshes = True

    def condition(self, value: Any) -> None:
        """Writes the condition of each block."""
        new = self.value(value, np.dtype(bool))
        if new.lane:
            raise UntraceableError("a lane's value as the condition")
        self.after.append(f"c->scc[b] = {new.text};")

    def mask(self, index: int) -> Traced:
        """A bit of each lane."""
        words = [self.register("s", index + i) for i in range(self.lanes // 32)]
        text = words[0].text
        if len(words) == 2:
            text = f"((u64){words[1].text} << 32 | {text})"
        return self.new(bool, f"(((u64){text}) >> l) & 1", lane=True)

    def set_mask(self, index: int, value: Any) -> None:
        """Writes a bit of each lane."""
        if index == Special.NULL:
            return
        bit = self.value(value, np.dtype(bool))
        self.number += 1
        name = f"m{self.number}"
        self.pure.append((False, f"u8 {name}[LANES] __attribute__((aligned(64)));"))
        self.effects.append((True, f"{name}[l] = {bit.text};"))
        for i in range(self.lanes // 32):
            at = self.place("s", index + i)
            self.written.add(at)
            self.after.append(f"{at}[b] = packed({name} + {32 * i});")

    def reduced(self, value: Traced) -> Traced:
        """Whether a bit is set in any lane of a block: a value behind the loop over lanes."""
        raise UntraceableError("lanes taken together")

    def of_lane(self, value: Any, lane: Any = None) -> Traced:
        """What one lane of each block has: the first active one, or one by number."""
        held = self.value(value, np.dtype(np.uint32))
        self.number += 1
        name = f"w{self.number}"
        self.pure.append((False, f"u32 {name}[LANES];"))
        self.effects.append((True, f"{name}[l] = {held.text};"))
        at = "first_lane(c, b)" if lane is None else self.value(lane, np.dtype(np.uint32)).text
        return Traced(self, np.uint32, f"{name}[{at}]", lane=False)

    def gathered(self, value: Traced, lanes: Any) -> Traced:
        """What other lanes of the block have: each reads from the lane of a number."""
        at = self.value(lanes, np.dtype(np.int64)).text
        bits = value if value.dtype.kind == "b" else value.view(f"u{value.itemsize}")
        words = 2 if value.itemsize == 8 else 1
        if (first := self.spread_out.get(bits.text)) is None:
            self.spread_out[bits.text] = first = self.buffers
            self.buffers += words
            if self.buffers > BUFFERS or self.after or self.written:
                raise UntraceableError("lanes exchanged behind an effect")
            for i in range(words):
                part = f"{bits.text} >> {32 * i}" if words == 2 else bits.text
                self.effects.append((True, f"c->data[{first + i} * n * LANES + x] = {part};"))
            self.flush()
        parts = [f"c->data[({first + i} * n + b) * LANES + {at}]" for i in range(words)]
        text = f"(u64){parts[1]} << 32 | {parts[0]}" if words == 2 else parts[0]
        found = self.new(bits.dtype, text, lane=True)
        return found if value.dtype.kind == "b" else found.view(value.dtype)

    def write_lane(self, file: str, index: int, lane: Any, value: Any) -> None:
        """Writes a register's lane by number."""
        at = self.place(file, index)
        self.written.add(at)
        place, new = (self.value(each, np.dtype(np.uint32)).text for each in (lane, value))
        self.after.append(f"{at}[b * LANES + {place}] = {new};")

    # Memory

    def scalar_access(self, start: Any, room: Any, size: int, *, buffer: bool) -> list[Traced]:
        """Calls what loads scalar registers; gives the dwords."""
        for name, given in (("address", start), ("room", room)):
            self.after.append(f"c->{name}[b] = {self.value(given, np.dtype(np.int64)).text};")
        self.flush()
        self.done.append(f"if (scalar_load(c, {size}, {int(buffer)})) return 1;")
        count = max(1, size // 4)
        return [self.new(np.uint32, f"c->data[{i} * n + b]", lane=False) for i in range(count)]

    def matrix(self, product: TracedProduct) -> None:
        """A matrix product of all lanes."""
        p, shape, wide = product, product.shape, product.wide
        kinds = [_ELEMENTS.get(kind, "TABLE_") for kind in (shape.a, shape.b)]
        tables = [
            self._floats(table(kind)) if name == "TABLE_" else "0"
            for kind, name in zip((shape.a, shape.b), kinds, strict=True)
        ]
        a, b = (self._base(op, words) for op, words in zip(p.operands, p.words, strict=True))
        count = p.where.shape[0]
        d = self._base(p.target, count)
        before = "0" if p.addend.is_constant else f"{self._base(p.addend, count)}[at]"
        near = not p.addend.is_constant and p.addend.file == p.target.file
        near = near and 0 < abs(p.addend.index - p.target.index) < count
        if p.addend.is_constant and p.addend.value:
            raise UntraceableError("a constant added to a product")
        rows = p.where.reshape(-1, shape.n)  # lanes side by side hold elements side by side
        if (rows != rows[:, :1] + np.arange(shape.n)).any():
            raise UntraceableError("a result whose columns are not in order")
        where = ",".join(map(str, rows[:, 0].tolist()))
        self.heads.append(f"static const u16 where[] = {{{where}}};")
        k, blocks, lanes = shape.k, shape.blocks, p.lanes
        sizes = [
            f"{kinds[i]}, {tables[i]}, {rows}, {blocks}, {c}, {k}, {lanes}, {p.parts}"
            for i, (rows, c) in enumerate(((shape.m, p.counts[0]), (shape.n, p.counts[1])))
        ]
        total = "i32" if shape.result == "i32" else wide
        old = f"({total})(i32){before}" if total == "i32" else f"({total})u32_as_f32({before})"
        result = f"{old} + from[x]"
        result = f"(u32)({result})" if total == "i32" else f"f32_as_u32((f32)({result}))"
        # Where the addend reaches into the result, all of it is read before any is written.
        target = f"whole[r][g * {shape.n} + x]" if near else f"{d}[at]"
        row = f"{d} + (r * n + b) * LANES"
        written = f"for (long r = 0; r < {count}; r++) memcpy({row}, whole[r], 4 * LANES);"
        self.done.append(
            f"""for (long b = 0; b < n; b++) {{
{total} left[{blocks * k * shape.m}], right[{blocks * k * shape.n}];
{total} sum[{blocks * shape.m * shape.n}];
{f"u32 whole[{count}][LANES];" if near else ""}
operand_{total}(left, {a} + b * LANES, n * LANES, {sizes[0]});
operand_{total}(right, {b} + b * LANES, n * LANES, {sizes[1]});
product_{total}(sum, left, right, {shape.m}, {shape.n}, {k}, {blocks});
for (long r = 0; r < {count}; r++)
for (long g = 0; g < LANES / {shape.n}; g++) {{
const {total} *from = sum + where[r * (LANES / {shape.n}) + g];
for (long x = 0; x < {shape.n}; x++) {{
const long at = (r * n + b) * LANES + g * {shape.n} + x;
{target} = {result};
}}
}}
{written if near else ""}
}}"""
        )

    def _base(self, op: Any, words: int) -> str:
        """The first of several registers."""
        if op.file not in "va" or op.count < words:
            raise UntraceableError("no vector registers")
        return self.place(op.file, op.index)

    def _floats(self, values: Any) -> str:
        name = f"floats{len(self.heads)}"
        each = ",".join(f"0x{int(bits):x}" for bits in values.view(np.uint32))
        self.heads.append(f"static const u32 {name}[] = {{{each}}};")
        return f"(const f32 *){name}"

    def access(self, name: str, address: Any, size: int, room: Any = None, data: Any = None) -> Any:
        """Calls what loads or stores, with each lane's address; gives what was loaded."""
        start = self.value(address, np.dtype(np.int64))
        if self.after:
            raise UntraceableError("an access behind an effect")
        self.effects.append((True, f"c->address[x] = {start.text};"))
        if room is not None:
            reach = self.value(room, np.dtype(np.int64))
            self.effects.append((True, f"c->room[x] = {reach.text};"))
        first = self.buffers
        words = max(1, size // 4)
        if data is not None:
            if len(data.each) != words:
                raise UntraceableError("other data than are stored")
            for i, each in enumerate(data.each):
                text = self.value(each, np.dtype(np.uint32)).text
                self.effects.append((True, f"c->data[{i} * n * LANES + x] = {text};"))
        self.flush()
        self.buffers += words
        if self.buffers > BUFFERS:
            raise UntraceableError("more data than there is room for")
        self.done.append(f"if ({name}(c, {size}, {first})) return 1;")
        if data is not None:
            return None
        return Parts(
            [
                self.new(np.uint32, f"c->data[{first + i} * n * LANES + x]", lane=True)
                for i in range(words)
            ]
        )

    def finished(self) -> NativeForm:
        """The function's body and the parameters."""
        self.flush()
        if len(self.registers) > REGISTERS or len(self.constants) > CONSTANTS:
            raise UntraceableError("more operands than there is room for")
        head = ["const long n = c->n; u8 lost = 0; (void)lost;", *self.heads]
        for (file, _), number in self.registers.items():
            each = "n" if file == "s" else "n * LANES"
            head.append(f"u32 *r{number} = c->{file} + (long)i->r[{number}] * {each};")
        tail = ["refresh(c);"] if self.refreshes else []
        size = self.touched[0][0] if self.touched else 0
        issues = [
            (counter, loaded, ordered, size if stamp else 0)
            for counter, loaded, ordered, stamp in self.issues
        ]
        return NativeForm(
            "\n".join([*head, *self.done, *tail, "return 0;"]),
            [index for _, index in self.registers],
            self.constants,
            issues,
            bool(self.touched) and self.touched[0][1],
        )


def _expression(ufunc: Any, args: list[str], kind: np.dtype[Any]) -> str:
    small = kind.itemsize < 4 and kind.kind in "iu"
    if ufunc in _BINARY:
        if kind.kind == "b" and ufunc in (np.add, np.subtract, np.multiply):
            raise UntraceableError("sums of bits")
        if small and ufunc is np.multiply:
            args = [f"(u32){a}" for a in args]
        return f"{args[0]} {_BINARY[ufunc]} {args[1]}"
    if ufunc is np.divide and kind.kind == "f":
        return f"{args[0]} / {args[1]}"
    if ufunc is np.invert:
        return f"!{args[0]}" if kind.kind == "b" else f"~{args[0]}"
    if ufunc is np.negative:
        return f"-{args[0]}"
    if ufunc in (np.left_shift, np.right_shift):
        word = "left" if ufunc is np.left_shift else "right"
        return f"shift_{word}_{ctype(kind)}({args[0]}, {args[1]})"
    if ufunc in (np.minimum, np.maximum):
        sign = "<" if ufunc is np.minimum else ">"
        nan = f"{args[0]} != {args[0]} || " if kind.kind == "f" else ""
        return f"({nan}{args[0]} {sign} {args[1]}) ? {args[0]} : {args[1]}"
    if ufunc is np.bitwise_count and kind.kind == "u":
        return f"__builtin_popcountll({args[0]})"
    if kind.kind == "f":
        if ufunc in _TESTS:
            return _TESTS[ufunc].format(args[0])
        if ufunc is np.signbit:
            return f"{ctype(kind)}_as_u{8 * kind.itemsize}({args[0]}) >> {8 * kind.itemsize - 1}"
        if ufunc in _CALLS:  # of fp16 in fp32, whose results are exact or rounded alike
            end = "" if kind.itemsize == 8 else "f"
            return f"__builtin_{_CALLS[ufunc]}{end}({args[0]})"
    elif ufunc is np.absolute:
        return f"{args[0]} < 0 ? -{args[0]} : {args[0]}"
    raise UntraceableError(ufunc.__name__)

"""Instructions run on values that write C: what becomes of one is a function over blocks and lanes.

Registers and constants of an instruction are parameters, so that one function serves all
instructions of a shape.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ckrules.emulator.native.expressions import expression
from ckrules.emulator.native.library import SIZES
from ckrules.emulator.native.product import MatrixInstruction, written
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

_NAME = re.compile(r"\b[mtw]\d+\b")
"""Values of a form in its C: a statement begins with the one that it declares."""


@dataclass
class NativeForm:
    """What an instruction became: a function's body, and this instruction's parameters."""

    body: str
    registers: list[tuple[str, int]]
    constants: list[int]
    issues: list[tuple[str, frozenset[int], bool, int]]
    """Counters, the registers that are loaded, whether in order, bytes of an access to LDS."""
    writes: bool = False
    """Whether the access to LDS writes."""


@dataclass
class Trace:
    """The C of one instruction, as it comes about."""

    lanes: int
    registers: list[tuple[str, int]] = field(default_factory=list)
    """What parameters stand for. A register that is used twice has two of them, so that a function
    serves all instructions of its shape, whichever of their registers are the same."""
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
    written: set[tuple[str, int]] = field(default_factory=set)
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
        if (file, index) in self.written:
            raise UntraceableError("a register is read after it was written")
        at = self.place(file, index)
        text = f"{at}[b]" if file == "s" else f"{at}[x]"
        found = self.new(np.uint32, text, lane=file != "s")
        found.home = at
        return found

    def place(self, file: str, index: int, *, writes: bool = False) -> str:
        """A register's name in C."""
        self.registers.append((file, index))
        if writes:
            self.written.add((file, index))
        return f"r{len(self.registers) - 1}"

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
        elif np.float16 in (source, dtype) and source.kind != "b":
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
        text = expression(ufunc, [e.text for e in each], common)
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
        self._loop([(bad.lane, f"lost |= {bad.text};")], [])
        self.done.append("if (lost) return 1;")

    def _loop(self, effects: list[tuple[bool, str]], after: list[str]) -> None:
        """A loop over blocks and lanes, with those values alone that its effects need."""
        statements = list(effects)
        needed = set(_NAME.findall(" ".join([*(text for _, text in effects), *after])))
        for lane, text in reversed(self.pure):
            names = _NAME.findall(text)
            if names[0] in needed:
                needed.update(names)
                statements.insert(0, (lane, text))
        before = [text for lane, text in statements if not lane]
        inner = [text for lane, text in statements if lane]
        lines = ["for (long b = 0; b < n; b++) {" if inner else "BLOCKS_LOOP {", *before]
        if inner:
            lines += ["LANES_LOOP {", "const long x = b * LANES + l; (void)x;", *inner, "}"]
        self.done.append("\n".join([*lines, *after, "}"]))

    def flush(self) -> None:
        """Ends the loops so far, since a function is called or the instruction is over."""
        if self.effects or self.after:
            self._loop(self.effects, self.after)
            self.effects, self.after = [], []

    def store(self, target: Any, value: Any, where: Any) -> None:
        """Writes the lanes of a mask of a register."""
        if not isinstance(target, Traced) or target.home is None:
            raise UntraceableError("a store to no register")
        new, bit = self.value(value, np.dtype(np.uint32)), self.value(where, np.dtype(bool))
        if new.dtype != np.uint32 or self.after:
            raise UntraceableError("a store of no dword")
        at = target.home
        self.written.add(self.registers[int(at[1:])])
        self.effects.append((True, f"{at}[x] ^= (({new.text}) ^ {at}[x]) & (0 - (u32){bit.text});"))

    def scalar(self, index: int, value: Any) -> None:
        """Writes a scalar register of each block."""
        new = self.value(value, np.dtype(np.uint32))
        if new.lane:
            raise UntraceableError("a lane's value in a scalar register")
        at = self.place("s", index, writes=True)
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
            at = self.place("s", index + i, writes=True)
            self.after.append(f"{at}[b] = packed({name} + {32 * i});")

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
            if self.buffers > SIZES["BUFFERS"] or self.after or self.written:
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
        at = self.place(file, index, writes=True)
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

    def matrix(self, product: MatrixInstruction) -> None:
        """A matrix product of all lanes."""
        self.done.append(written(self, product))

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
        if self.buffers > SIZES["BUFFERS"]:
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
        if len(self.registers) > SIZES["OPERANDS"] or len(self.constants) > SIZES["CONSTANTS"]:
            raise UntraceableError("more operands than there is room for")
        head = ["const long n = c->n; u8 lost = 0; (void)lost;", *self.heads]
        for number, (file, _) in enumerate(self.registers):
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
            self.registers,
            self.constants,
            issues,
            bool(self.touched) and self.touched[0][1],
        )

"""Operands of assembly text: registers, constants, and the modifiers after them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.memory import SCRATCH_BASE, SHARED_BASE


class Special(IntEnum):
    """Scalar registers with names, by their number among the scalar registers here."""

    FLAT_SCRATCH = 102
    XNACK_MASK = 104
    VCC = 106
    TTMP = 108
    M0 = 124
    NULL = 125
    EXEC = 126


SCALARS = 128
"""Scalar registers of a wave, the named ones among them."""

#: Numbers of the registers of each file in sets of registers.
BASES = {"s": 0, "v": 1000, "a": 2000}


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand.

    ``file`` is ``v`` (vector), ``a`` (accumulation), ``s`` (scalar), ``i`` (a constant given as a
    whole number), ``f`` (one given as a floating-point number), ``off`` or ``scc``.
    """

    file: str
    index: int = 0
    count: int = 1
    """Registers of 32 bits."""
    value: int | float = 0
    literal: bool = False
    """Whether the constant is one of 32 bits that stands after the instruction."""
    negative: bool = False
    absolute: bool = False
    signed: bool = False
    """``sext(…)``"""
    half: int | None = None
    """0 for ``v1.l`` and 1 for ``v1.h``, where an instruction names half a register."""

    @property
    def is_constant(self) -> bool:
        """Whether it is not a register."""
        return self.file in "if"

    def registers(self) -> range:
        """Its registers as numbers; see `BASES`."""
        if self.file not in BASES or (self.index == Special.NULL and self.file == "s"):
            return range(0)
        start = BASES[self.file] + self.index
        return range(start, start + self.count)


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands and the modifiers of an instruction."""

    items: tuple[Operand, ...]
    flags: frozenset[str]
    """Modifiers without a value, such as ``offen``."""
    values: dict[str, str] = field(hash=False)
    """Modifiers with a value, such as ``offset``."""

    def number(self, name: str, default: int = 0) -> int:
        """A modifier's whole number."""
        return int(self.values[name], 0) if name in self.values else default

    def bits(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A modifier of the form ``[0,1]``."""
        text = self.values.get(name)
        return tuple(map(int, text.strip("[]").split(","))) if text else default


_REGISTER = re.compile(r"([vas])(?:(\d+)|\[(\d+)(?::(\d+))?\])(?:\.([lh]))?$")
_TTMP = re.compile(r"ttmp(?:(\d+)|\[(\d+):(\d+)\])$")
_NAMES = {
    "vcc": (Special.VCC, 2), "vcc_lo": (Special.VCC, 1), "vcc_hi": (Special.VCC + 1, 1),
    "exec": (Special.EXEC, 2), "exec_lo": (Special.EXEC, 1), "exec_hi": (Special.EXEC + 1, 1),
    "m0": (Special.M0, 1), "null": (Special.NULL, 1),
    "flat_scratch": (Special.FLAT_SCRATCH, 2), "flat_scratch_lo": (Special.FLAT_SCRATCH, 1),
    "flat_scratch_hi": (Special.FLAT_SCRATCH + 1, 1),
    "xnack_mask": (Special.XNACK_MASK, 2),
}  # fmt: skip
#: Of 64 bits: where addresses of LDS and of private memory begin.
_APERTURES = {"src_shared_base": SHARED_BASE, "src_private_base": SCRATCH_BASE}
_WHOLE = re.compile(r"-?(?:0x[0-9a-f]+|\d+)$")
_REAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?$")


_AROUND: tuple[tuple[str, Callable[[Operand], Operand]], ...] = (
    ("neg(", lambda op: replace(op, negative=True)),
    ("abs(", lambda op: replace(op, absolute=True)),
    # How LLVM 22 writes a constant that stands after the instruction though it need not.
    ("lit(", lambda op: replace(op, literal=True)),
    ("sext(", lambda op: replace(op, signed=True)),
)


@lru_cache(maxsize=4096)
def operand(text: str) -> Operand | None:
    """The operand of a text, or None if it is none (a modifier).

    >>> operand("lit(0x8)").literal
    True

    >>> operand("v[2:3]")
    Operand(file='v', index=2, count=2, value=0, literal=False, negative=False, absolute=False, \
signed=False, half=None)
    """
    if text.startswith("-") and not text[1:2].isdigit():
        inner = operand(text[1:])
        return None if inner is None else replace(inner, negative=True)
    if len(text) > 2 and text[0] == text[-1] == "|":
        inner = operand(text[1:-1])
        return None if inner is None else replace(inner, absolute=True)
    for word, change in _AROUND:
        if text.startswith(word) and text.endswith(")"):
            inner = operand(text[len(word) : -1])
            return None if inner is None else change(inner)
    if hit := _REGISTER.match(text):
        found = _range(hit[1], 0, hit[2], hit[3], hit[4])
        return replace(found, half="lh".index(hit[5])) if hit[5] else found
    if hit := _TTMP.match(text):
        return _range("s", int(Special.TTMP), hit[1], hit[2], hit[3])
    if text in _NAMES:
        index, count = _NAMES[text]
        return Operand("s", int(index), count)
    if text in _APERTURES:
        return Operand("i", count=2, value=_APERTURES[text])
    if text in ("off", "scc"):
        return Operand(text)
    if _WHOLE.match(text):
        value = int(text, 0)
        literal = text.lstrip("-").startswith("0x") or not -16 <= value <= 64
        return Operand("i", value=value, literal=literal)
    if _REAL.match(text):
        return Operand("f", value=float(text))
    return None


def _range(file: str, base: int, one: str | None, first: str | None, last: str | None) -> Operand:
    if one is not None:
        return Operand(file, base + int(one))
    start = int(first or 0)
    end = int(last) if last is not None else start
    return Operand(file, base + start, end - start + 1)


_PIECE = re.compile(r"\s*((?:[^,\s\[(|]|\[[^\]]*\]|\([^)]*\)|\|[^|]*\||\|)+)\s*(,?)")


def parse(text: str) -> Operands:
    """The operands of an instruction's text.

    >>> parse("v[0:3], v14, s[44:47], 0 offen offset:16").values
    {'offset': '16'}

    Raises:
        UnknownInstructionError: If a part is neither an operand nor a modifier.
    """
    items: list[Operand] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    at = 0
    while at < len(text):
        hit = _PIECE.match(text, at)
        if hit is None:
            raise UnknownInstructionError(f"operands that cannot be read: {text}")
        at, piece = hit.end(), hit[1]
        found = operand(piece)
        if found is not None:
            items.append(found)
        elif ":" in piece and not piece.startswith("<"):
            name, _, value = piece.partition(":")
            values[name] = value
        else:
            flags.add(piece)
    return Operands(tuple(items), frozenset(flags), values)

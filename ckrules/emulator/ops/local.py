"""LDS instructions.

Sources: AMD, "Instinct MI300 ISA", 12.13; "CDNA4 ISA" for the transposing reads; "RDNA4 ISA",
16.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U32, Get, Values, raw, store, vector_get, vector_put
from ckrules.emulator.lds import Touch
from ckrules.emulator.operands import Operand
from ckrules.emulator.ops.atomics import ATOMICS, LOCAL
from ckrules.emulator.wave import Cohort, Outstanding


def counter(d: Decoded) -> str:
    """The counter of LDS instructions."""
    return "ds" if d.target.generation >= 12 else "lgkm"


def registers(op: Operand, count: int | None = None) -> frozenset[int]:
    """The numbers of an operand's registers."""
    found = op.registers()
    return frozenset(found if count is None else found[:count])


def loaded_into(op: Operand, count: int | None = None) -> frozenset[int]:
    """The numbers of the vector registers that a load writes."""
    if op.file not in "va" or op.half is not None:
        raise UnknownInstructionError(f"a load into {op.file}{op.index}")
    return registers(op, count)


def _address(op: Operand, offset: int) -> Callable[[Cohort], Values]:
    """Where lanes access LDS: the sum has 32 bits.

    Source: LLVM, AMDGPUDAGToDAGISel::isDSOffsetLegal (a negative base takes an offset).
    """
    get = vector_get(op, U32)
    step = np.array([offset], np.uint32)
    return lambda c: get(c) + step


def _issued(c: Cohort, d: Decoded, loaded: frozenset[int], touched: list[Touch]) -> None:
    if c.signalled:
        raise UnknownInstructionError(f"{d.line}: LDS between the halves of a barrier")
    c.issue(counter(d), Outstanding(loaded, stamp=touched))


Make = Callable[[Decoded], Run]


@dataclass(frozen=True, slots=True)
class Width:
    """What a load or store moves: bytes of a lane, and of fewer than four how they are kept."""

    size: int
    signed: bool = False
    keeps: bool = False
    """Whether the other half of the register stays (``d16``)."""
    high: bool = False

    @property
    def words(self) -> int:
        """Registers that hold it."""
        return max(1, self.size // 4)


def _load(width: Width, stride: int = 0) -> Make:
    """A load by each lane, or with a stride two of them, at multiples of it."""

    def make(d: Decoded) -> Run:
        target, source = d.operands.items
        places, loaded = _addresses(d, source, stride), loaded_into(target)

        def run(c: Cohort) -> None:
            touched: list[Touch] = []
            found = []
            for address in places:
                data, own = c.chunk.lds.load(c, address(c), width.size)
                found.append(data)
                touched += own
            _issued(c, d, loaded, touched)
            for i, data in enumerate(found):
                put_loaded(c, replace(target, index=target.index + i * width.words), data, width)

        return run

    return make


def _addresses(d: Decoded, base: Operand, stride: int) -> list[Callable[[Cohort], Values]]:
    if not stride:
        return [_address(base, d.operands.number("offset"))]
    return [_address(base, d.operands.number(f"offset{i}") * stride) for i in range(2)]


def put_dwords(c: Cohort, target: Operand, data: Values) -> None:
    """Writes dwords to consecutive registers of the active lanes."""
    for i in range(data.shape[-1]):
        store(c, target.file, target.index + i, data[..., i])


def put_loaded(c: Cohort, target: Operand, data: Values, width: Width) -> None:
    """Writes dwords, or 8 or 16 bits: extended to a dword, or into one half of it (``d16``)."""
    if width.size >= 4:
        put_dwords(c, target, data)
        return
    value = data[..., 0]
    if width.signed:
        sign = np.uint32(1 << (8 * width.size - 1))
        value = (value ^ sign) - sign
    if width.keeps:
        shift = np.uint32(16 * width.high)
        old = raw(c, target.file, target.index) & np.uint32(0xFFFF0000 >> int(shift))
        value = old | ((value & np.uint32(0xFFFF)) << shift)
    store(c, target.file, target.index, value)


def data_of(op: Operand, count: int) -> Callable[[Cohort], Values]:
    """The dwords of consecutive registers: (block, lane, dword)."""
    if op.file not in "va" or op.half is not None:
        raise UnknownInstructionError(f"data from {op.file}{op.index}")

    def get(c: Cohort) -> Values:
        file = c.v if op.file == "v" else c.a
        return np.moveaxis(file[op.index : op.index + count], 0, -1)

    return get


def stored(op: Operand, width: Width) -> Callable[[Cohort], Values]:
    """The dwords that a store takes from consecutive registers, or from an upper half."""
    get = data_of(op, width.words)
    return (lambda c: get(c) >> np.uint32(16)) if width.high else get


def _store(width: Width, stride: int = 0) -> Make:
    """A store by each lane, or with a stride two of them, at multiples of it."""

    def make(d: Decoded) -> Run:
        where, *sources = d.operands.items
        places = _addresses(d, where, stride)
        data = [stored(op, width) for op in sources]

        def run(c: Cohort) -> None:
            touched: list[Touch] = []
            for address, get in zip(places, data, strict=True):
                touched += c.chunk.lds.store(c, address(c), get(c), width.size)
            _issued(c, d, frozenset(), touched)

        return run

    return make


def _load_transposed(d: Decoded) -> Run:
    """Reads of gfx950 that transpose: 16 lanes exchange the elements of what each has read."""
    bits = int(d.name.rpartition("_b")[2])
    if bits not in (8, 16):
        raise UnknownInstructionError(f"{d.line}: transposing reads of {bits} bits")
    target, source = d.operands.items
    address = _address(source, d.operands.number("offset"))
    loaded = loaded_into(target)

    def run(c: Cohort) -> None:
        data, touched = c.chunk.lds.load(c, address(c), 8)
        _issued(c, d, loaded, touched)
        for i, word in enumerate(transposed(data, bits)):
            store(c, target.file, target.index + i, word)

    return run


def transposed(data: Values, bits: int) -> list[Values]:
    """The two dwords that 16 lanes hold after a transposing read of 64 bits each.

    The elements of 16 lanes, lane after lane, are a matrix of 16 columns; lane ``i`` gets column
    ``i``. So its element ``j`` is element ``i % n`` of lane ``(16 * j + i) // n``, where ``n`` is
    the number of elements in 64 bits.
    """
    words, each = (data[..., 0], data[..., 1]), 64 // bits
    lane = np.arange(words[0].shape[1])
    start = lane % each * bits
    upper, shift, mask = start >= 32, (start % 32).astype(np.uint32), np.uint32((1 << bits) - 1)
    found = []
    for word in range(2):
        total: Values = np.zeros(1, np.uint32)
        for k in range(each // 2):
            source = lane // 16 * 16 + (16 * (k + word * each // 2) + lane % 16) // each
            low, high = (w[:, source] for w in words)
            part = (np.where(upper, high, low) >> shift) & mask
            total = total | (part << np.uint32(k * bits))
        found.append(total)
    return found


def _permute(d: Decoded) -> Run:
    """DS_BPERMUTE: each lane reads from the lane of an address."""
    target, where, source = d.operands.items
    address, get = _address(where, d.operands.number("offset")), vector_get(source, U32)
    put, loaded = vector_put(target, U32), loaded_into(target)

    def run(c: Cohort) -> None:
        lane = (address(c) >> np.uint32(2)) & np.uint32(c.lanes - 1)
        data = np.broadcast_to(get(c), c.exec.shape)
        blocks = np.arange(data.shape[0])[:, None]
        put(c, np.where(c.exec[blocks, lane], data[blocks, lane], np.uint32(0)))
        c.issue(counter(d), Outstanding(loaded))

    return run


def _atomic(combine: Callable[[Values, Values], Values], returns: bool) -> Make:
    """Read-modify-write of one dword, lane after lane."""

    def make(d: Decoded) -> Run:
        items = list(d.operands.items)
        target = items.pop(0) if returns else None
        address = _address(items[0], d.operands.number("offset"))
        get: Get = vector_get(items[1], U32)
        loaded = loaded_into(target) if target is not None else frozenset()

        def run(c: Cohort) -> None:
            place, data = address(c), np.broadcast_to(get(c), c.exec.shape)
            old, touched = c.chunk.lds.combine(c, place, data, combine)
            _issued(c, d, loaded, touched)
            if target is not None:
                put_dwords(c, target, old[..., None])

        return run

    return make


def _returning(name: str) -> str:
    word, _, kind = name.rpartition("_")
    return f"ds_{word}_rtn_{kind}"


_WORDS = [(f"b{32 * words}", Width(4 * words)) for words in range(1, 5)]
_HALVES = {"": Width(2), "_d16": Width(2, keeps=True), "_d16_hi": Width(2, keeps=True, high=True)}
_PARTS = [
    (f"{sign}{8 * size}{word}", replace(width, size=size, signed=sign == "i"))
    for sign, size in (("u", 1), ("i", 1), ("u", 2), ("i", 2))
    for word, width in _HALVES.items()
    if not width.keeps or (sign, size) != ("i", 2)
]  # fmt: skip
_STORED = [
    (f"b{8 * size}{word}", Width(size, high=bool(word)))
    for size in (1, 2) for word in ("", "_d16_hi")
]  # fmt: skip
_SPREAD = [("2", "_2addr", 1), ("2st64", "_2addr_stride64", 64)]
"""Accesses of two places: how older and newer mnemonics end, and what they multiply offsets by."""


def _names() -> Iterator[tuple[str, Make]]:
    """Loads and stores, as older and newer mnemonics name them."""
    for older, newer, parts, make in (
        ("read", "load", _PARTS, _load), ("write", "store", _STORED, _store)
    ):  # fmt: skip
        for word, (name, width) in itertools.product((older, newer), (*parts, *_WORDS)):
            yield f"ds_{word}_{name}", make(width)
        for (old, new, step), size in itertools.product(_SPREAD, (4, 8)):
            run = make(Width(size), step * size)
            yield from ((f"ds_{n}_b{8 * size}", run) for n in (older + old, newer + new))


OPCODES: dict[str, Make] = {
    **dict(_names()),
    **{f"ds_read_b64_tr_b{bits}": _load_transposed for bits in (4, 8, 16)},
    "ds_read_b96_tr_b6": _load_transposed,
    "ds_bpermute_b32": _permute,
    **{f"ds_{name}": _atomic(ATOMICS[of].combine, False) for name, of in LOCAL.items()},
    **{_returning(name): _atomic(ATOMICS[of].combine, True) for name, of in LOCAL.items()},
    "ds_wrxchg_rtn_b32": _atomic(ATOMICS["swap"].combine, True),
    "ds_nop": lambda d: lambda c: None,
}

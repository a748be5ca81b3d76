"""Vector and scalar memory instructions: buffer, global, flat, scratch, and scalar loads.

Sources: AMD, "Instinct MI300 ISA", chapters 8 and 9 (buffer resources: 9.1.5) and 12.5, 12.15;
"RDNA4 ISA", chapters 8 to 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ckrules.emulator.errors import FaultKind, UnknownInstructionError
from ckrules.emulator.instruction import Decoded, InOrder, Run
from ckrules.emulator.kinds import U32, U64, Values, scalar_get, scalar_put
from ckrules.emulator.memory import BASE
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.ops.addresses import WHERE
from ckrules.emulator.ops.atomics import ATOMICS
from ckrules.emulator.ops.local import (
    Width,
    data_of,
    loaded_into,
    put_dwords,
    put_loaded,
    registers,
    stored,
)
from ckrules.emulator.wave import Cohort, LaneAddresses, Mask, Outstanding

_SCALAR = re.compile(r"s_(?:buffer_)?load_(?:dword(x\d+)?|b(\d+)|([ui])(8|16))$")


_WIDTHS = {
    "dword": Width(4), "dwordx2": Width(8), "dwordx3": Width(12), "dwordx4": Width(16),
    "b32": Width(4), "b64": Width(8), "b96": Width(12), "b128": Width(16),
    "ubyte": Width(1), "sbyte": Width(1, signed=True), "ushort": Width(2),
    "sshort": Width(2, signed=True), "u8": Width(1), "i8": Width(1, signed=True),
    "u16": Width(2), "i16": Width(2, signed=True), "byte": Width(1), "short": Width(2),
    "b8": Width(1), "b16": Width(2),
    "short_d16": Width(2, keeps=True), "short_d16_hi": Width(2, keeps=True, high=True),
    "ubyte_d16": Width(1, keeps=True), "ubyte_d16_hi": Width(1, keeps=True, high=True),
    "sbyte_d16": Width(1, signed=True, keeps=True),
    "sbyte_d16_hi": Width(1, signed=True, keeps=True, high=True),
    "d16_b16": Width(2, keeps=True), "d16_hi_b16": Width(2, keeps=True, high=True),
    "d16_i8": Width(1, signed=True, keeps=True),
    "d16_hi_i8": Width(1, signed=True, keeps=True, high=True),
    "d16_u8": Width(1, keeps=True), "d16_hi_u8": Width(1, keeps=True, high=True),
    "byte_d16_hi": Width(1, high=True), "d16_hi_b8": Width(1, high=True),
}  # fmt: skip


def _access(d: Decoded) -> Run:
    unit, word, rest = d.name.split("_", 2)
    lds = "lds" in d.operands.flags or rest.startswith("lds_")
    width = _WIDTHS[rest.removeprefix("lds_")]
    return _load(d, unit, width, lds) if word == "load" else _store(d, unit, width)


# Loads and stores


def _counters(d: Decoded, unit: str, *, store: bool, returns: bool = True) -> list[str]:
    if d.target.generation >= 12:
        found = ["store" if store or not returns else "load"]
        return [*found, "ds"] if unit == "flat" else found
    written = (store or not returns) and d.target.generation >= 10
    found = ["vs" if written else "vm"]
    return [*found, "lgkm"] if unit == "flat" else found


def _in_order(d: Decoded, unit: str) -> bool:
    """Whether accesses end in the order of issue: flat ones, which count twice, from gfx10 on.

    Source: LLVM, AMDGPU/GCNSubtarget.h, hasFlatLgkmVMemCountInOrder.
    """
    return unit != "flat" or d.target.generation >= 10


def read_parts(c: Cohort, places: LaneAddresses, size: int) -> Values:
    """What is at places outside of LDS: (block, lane, dword), zero where nothing may be read."""
    if c.native is not None:
        traced: Values = c.native.read_parts(places, size)
        return traced
    unit = 4 if size >= 4 else size
    result = np.zeros(places.offsets.shape, np.uint32)
    if places.private:
        at, within = _private(c, places, unit)
        for i in range(unit):
            byte = c.scratch[at[0], at[1], within + i].astype(np.uint32)
            result[at] |= byte << np.uint32(8 * i)
        return result
    there = places.there
    wanted = places.offsets if there.all() else places.offsets[there]
    if not wanted.size:
        return result
    outside = c.chunk.memory.outside(wanted, unit)
    if outside.any():
        there = _reported(c, places, unit)
        wanted = places.offsets[there]
        if not wanted.size:
            return result
    values = c.chunk.memory.gather(wanted, unit)[..., 0]
    if wanted is places.offsets:
        return values
    result[there] = values
    return result


def _private(c: Cohort, places: LaneAddresses, unit: int) -> tuple[tuple[Values, ...], Values]:
    """Lanes that access their private memory, and the offsets into it."""
    at = places.there.nonzero()
    within = places.offsets[at]
    if len(within) and (within.min() < 0 or within.max() + unit > c.scratch.shape[2]):
        raise UnknownInstructionError("private memory outside of what the kernel asked for")
    return at, within


def _reported(c: Cohort, places: LaneAddresses, unit: int) -> Mask:
    """Reports accesses outside of all allocations, and leaves them out."""
    bad = c.chunk.memory.outside(places.offsets, unit) & places.there
    block, lane, part = (int(n[0]) for n in bad.nonzero())
    address = int(places.offsets[block, lane, part]) + BASE
    c.chunk.report(FaultKind.MEMORY_OUTSIDE, c, np.array([block, lane]), f"address 0x{address:x}")
    return places.there & ~bad


def write_parts(c: Cohort, places: LaneAddresses, data: Values, size: int) -> None:
    """Stores dwords or smaller parts at places outside of LDS."""
    if c.native is not None:
        c.native.write_parts(places, data, size)
        return
    unit = 4 if size >= 4 else size
    data = np.broadcast_to(data, places.offsets.shape)
    if places.private:
        at, within = _private(c, places, unit)
        for i in range(unit):
            c.scratch[at[0], at[1], within + i] = (data[at] >> np.uint32(8 * i)).astype(np.uint8)
        return
    there = places.there
    if c.chunk.memory.outside(places.offsets[there], unit).any():
        there = _reported(c, places, unit)
    offsets = places.offsets[there]
    if not offsets.size:
        return
    c.chunk.note_writes(c, there, offsets, data[there], unit)
    c.chunk.memory.scatter(offsets, data[there][:, None], unit)


def _load(d: Decoded, unit: str, width: Width, to_lds: bool) -> Run:
    items = list(d.operands.items)
    if to_lds:
        return _load_to_lds(d, unit, width, items)
    target = items.pop(0)
    where, size = WHERE[unit](d, items), width.size
    loaded = loaded_into(target)
    counters, ordered = _counters(d, unit, store=False), _in_order(d, unit)

    def run(c: Cohort) -> None:
        places = where(c, size)
        data, stamp = _read(c, places, size)
        put_loaded(c, target, data, width)
        _issue(c, counters, loaded, ordered, stamp)

    if unit == "flat":
        return run
    # one that keeps half a register is merged as it returns, behind the load of the other half
    read = {r for op in items for r in op.registers()}
    return InOrder(run, counters[0], loaded - read)


def _issue(
    c: Cohort, counters: Sequence[str], loaded: frozenset[int], ordered: bool, stamp: Any
) -> None:
    """Counts an access; what a flat one does in LDS is done when the last counter, LDS's, says so.

    Source: LLVM, SIInsertWaitcnts.cpp, updateEventWaitcntAfter (a flat access is an event of
    memory's counter and one of LDS's) and mayAccessVMEMThroughFlat (for what lies in LDS the
    latter alone is waited for).
    """
    for counter in counters:
        at_lds = counter == counters[-1]
        awaited = loaded if at_lds or stamp is None else frozenset[int]()
        c.issue(counter, Outstanding(awaited, ordered, stamp if at_lds else None))


def _read(c: Cohort, places: LaneAddresses, size: int) -> tuple[Values, Any]:
    """What is at places, and what to mark again if a barrier comes before the wait for LDS."""
    if c.native is None and places.shared:
        return c.chunk.lds.load(c, places.start, size)
    return read_parts(c, places, size), None


def _write(c: Cohort, places: LaneAddresses, data: Values, size: int) -> Any:
    """Stores at places; what to mark again if a barrier comes before the wait for LDS."""
    if c.native is None and places.shared:
        return c.chunk.lds.store(c, places.start, data, size)
    write_parts(c, places, data, size)
    return None


def _load_to_lds(d: Decoded, unit: str, width: Width, items: list[Operand]) -> Run:
    """Loads whose data go to LDS: lane by lane from the address in M0 on."""
    where, size = WHERE[unit](d, items), width.size
    # The offset counts for both addresses (LLVM: IntrinsicsAMDGPU.td, llvm.amdgcn.global.load.lds).
    step = d.operands.number("offset")
    (counter, *_) = _counters(d, unit, store=False)
    stride = max(4, size)

    def run(c: Cohort) -> None:
        data = read_parts(c, where(c, size), size)
        start = c.s[Special.M0].astype(np.int64)[:, None] + step
        place = start + np.arange(c.lanes) * stride
        touched = c.chunk.lds.store(c, place, data, max(4, size))
        c.issue(counter, Outstanding(frozenset(), stamp=touched))

    return run


def _store(d: Decoded, unit: str, width: Width) -> Run:
    items = list(d.operands.items)
    source = items.pop(0) if unit == "buffer" else items.pop(1)
    where, size = WHERE[unit](d, items), width.size
    data = stored(source, width)
    counters, ordered = _counters(d, unit, store=True), _in_order(d, unit)

    def run(c: Cohort) -> None:
        values, places = data(c), where(c, size)
        stamp = _write(c, places, values, size)
        _issue(c, counters, frozenset(), ordered, stamp)

    return run


def _atomic(d: Decoded) -> Run:
    unit, _, name = d.name.split("_", 2)
    atomic = ATOMICS[name]
    words, combine = atomic.words, atomic.combine
    items = list(d.operands.items)
    returns = bool(d.operands.flags & {"glc", "sc0"}) or "RETURN" in d.operands.values.get("th", "")
    if unit == "buffer":
        source = target = items.pop(0)
    else:
        target = items.pop(0) if returns else items[0]
        source = items.pop(1)
    where, data = WHERE[unit](d, items), data_of(source, atomic.given)
    loaded = loaded_into(target, words) if returns else frozenset()
    counters = _counters(d, unit, store=False, returns=returns)
    ordered = _in_order(d, unit)

    def run(c: Cohort) -> None:
        places = where(c, 4 * words)
        if places.private or places.shared:
            raise UnknownInstructionError(f"{d.line}: an atomic of no device memory")
        old = c.chunk.atomic(c, places, data(c), combine)
        if returns:
            put_dwords(c, target, old)
        _issue(c, counters, loaded, ordered, None)

    return run


# Scalar loads


def _scalar_load(d: Decoded) -> Run:
    hit = _SCALAR.match(d.name)
    assert hit is not None
    target, base, *rest = d.operands.items
    size = int(hit[4]) // 8 if hit[4] else 4 * target.count
    where = _scalar_places(d, base, rest, size)
    buffer = d.name.startswith("s_buffer")
    loaded = registers(target)
    counter = "km" if d.target.generation >= 12 else "lgkm"
    put = [scalar_put(Operand("s", target.index + i), U32) for i in range(target.count)]

    def run(c: Cohort) -> None:
        if c.native is not None:
            words = c.native.trace.scalar_access(*where(c), size, buffer=buffer)
        else:
            data = read(c)
            words = [data[:, i] for i in range(len(put))]
        for word, each in zip(words, put, strict=True):
            if hit[3] == "i":
                sign = np.uint32(1 << (8 * size - 1))
                word = (word ^ sign) - sign
            each(c, word)
        c.issue(counter, Outstanding(loaded, ordered=False))

    def read(c: Cohort) -> Values:
        start, room = where(c)
        parts = np.arange(0, size, 4)
        place, there = start[:, None] + parts, parts + min(size, 4) <= room[:, None]
        memory, unit = c.chunk.memory, min(size, 4)
        outside = there & memory.outside(place, unit)
        # What is loaded beyond the end of an allocation may be there only to fill the registers.
        outside[:, 1:] &= buffer
        if outside.any():
            block, part = (int(n[0]) for n in outside.nonzero())
            detail = f"address 0x{int(place[block, part]) + BASE:x}"
            c.chunk.report(FaultKind.MEMORY_OUTSIDE, c, np.array([block, -1]), detail)
        data = np.zeros(place.shape, np.uint32)
        good = there & ~memory.outside(place, unit)
        data[good] = memory.gather(place[good], unit)[..., 0]
        return data

    return run


def _scalar_places(
    d: Decoded, base: Operand, rest: list[Operand], size: int
) -> Callable[[Cohort], tuple[Values, Values]]:
    """The offset from `BASE` of each block, and how many bytes there are from there on."""
    step = d.operands.number("offset")
    gets = []
    for op in rest:
        if op.is_constant:
            step += int(op.value)
        else:
            gets.append(scalar_get(op, U32))
    buffer = d.name.startswith("s_buffer")
    pair = scalar_get(Operand("s", base.index, 2), U64)
    least = np.array([step], np.int64)

    def where(c: Cohort) -> tuple[Values, Values]:
        offset = np.broadcast_to(least, c.slots.shape)
        for get in gets:
            offset = offset + get(c).astype(np.int64)
        address = (pair(c) & np.uint64(0xFFFFFFFFFFFF)).astype(np.int64) - np.int64(BASE)
        if size >= 4:
            address, offset = address & ~np.int64(3), offset & ~np.int64(3)
        room = np.broadcast_to(np.int64(size), c.slots.shape)
        if buffer:
            room = c.s[base.index + 2].astype(np.int64) - offset
        return address + offset, room

    return where


_UNITS = ("buffer", "global", "flat", "scratch")
_LOADED = ("dword", "dwordx2", "dwordx3", "dwordx4", "dwordx8", "dwordx16", "b32", "b64", "b96",
           "b128", "b256", "b512", "u8", "i8", "u16", "i16")  # fmt: skip
OPCODES = {
    **{f"{u}_{w}_{each}": _access for u in _UNITS for w in ("load", "store") for each in _WIDTHS},
    **{f"{u}_load_lds_{each}": _access for u in _UNITS for each in _WIDTHS},
    **{f"{u}_atomic_{each}": _atomic for u in _UNITS[:3] for each in ATOMICS},
    **{f"s_{b}load_{each}": _scalar_load for b in ("", "buffer_") for each in _LOADED},
}

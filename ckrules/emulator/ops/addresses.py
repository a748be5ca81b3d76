"""Where vector memory instructions access memory.

Sources: AMD, "Instinct MI300 ISA", chapter 9 (buffer resources: 9.1.5) and 10; "RDNA4 ISA",
chapters 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded
from ckrules.emulator.kinds import U32, U64, raw, scalar_get, vector_get
from ckrules.emulator.memory import BASE, SCRATCH_BASE, SHARED_BASE
from ckrules.emulator.operands import Operand
from ckrules.emulator.wave import Cohort, Places

Where = Callable[[Cohort, int], Places]


def _buffer(d: Decoded, items: list[Operand]) -> Where:
    """Addresses by a buffer resource; parts outside of it do not exist."""
    resource, soffset = items[-2], scalar_get(items[-1], U32)
    vaddr = items[0] if len(items) == 3 and items[0].file == "v" else None
    flags = d.operands.flags
    step, base = d.operands.number("offset"), resource.index
    offen, idxen = "offen" in flags, "idxen" in flags
    if "addr64" in flags:
        raise UnknownInstructionError(f"{d.line}: addr64")

    def where(c: Cohort, size: int) -> Places:
        low, high = c.s[base].astype(np.uint64), c.s[base + 1].astype(np.uint64)
        address = ((high & np.uint64(0xFFFF)) << np.uint64(32)) | low
        stride = ((c.s[base + 1] >> np.uint32(16)) & np.uint32(0x3FFF)).astype(np.int64)
        records, soff = c.s[base + 2].astype(np.int64), soffset(c).astype(np.int64)
        zero = np.zeros(c.exec.shape, np.int64)
        index = zero + (raw(c, "v", vaddr.index) if idxen and vaddr else 0)
        column = vaddr.index + idxen if vaddr else 0
        # Lane and constant are added as 32 bits: compilers move a constant out of a sum whose rest
        # is negative.
        offset = (zero + step + (raw(c, "v", column) if offen else 0)) & 0xFFFFFFFF
        parts = np.arange(0, max(size, 1), 4 if size >= 4 else size)
        private = bool((address >= SCRATCH_BASE).all() and (address < BASE).all())
        if private:
            place = (offset + soff[:, None])[..., None] + parts
            return Places(place, np.broadcast_to(c.exec[..., None], place.shape), private=True)
        # Each dword is checked on its own, without wrapping again; the scalar offset does not count
        # (LLVM: IntrinsicsAMDGPU.td, "excluded from bounds checking"; relaxed OOB mode).
        if idxen and stride.any():
            reach = offset[..., None] + parts + min(size, 4)
            inside = (index < records[:, None])[..., None] & (reach <= stride[:, None, None])
        else:
            reach = offset[..., None] + parts + min(size, 4)
            inside = reach <= records[:, None, None]
        linear = offset + index * stride[:, None] + soff[:, None]
        place = (address.astype(np.int64)[:, None] - BASE + linear)[..., None] + parts
        return Places(place, inside & c.exec[..., None])

    return where


def _global(d: Decoded, items: list[Operand]) -> Where:
    """Addresses in a pair of registers, or a scalar pair and an offset of 32 bits a lane."""
    vaddr = next((op for op in items if op.file == "v"), None)
    saddr = next((op for op in items[1:] if op.file == "s" and op.count == 2), None)
    step = d.operands.number("offset")
    if vaddr is None:
        raise UnknownInstructionError(f"{d.line}: no address")
    if saddr is not None:
        lane, scalar = vector_get(Operand("v", vaddr.index), U32), scalar_get(saddr, U64)
    else:
        wide = vector_get(vaddr, U64)

    def where(c: Cohort, size: int) -> Places:
        if saddr is not None:
            address = scalar(c).astype(np.int64)[:, None] + lane(c).astype(np.int64)
        else:
            address = wide(c).astype(np.int64)
        parts = np.arange(0, size, 4 if size >= 4 else size)
        active = address[c.exec]
        private = bool(active.size and (active >= SCRATCH_BASE).all() and (active < BASE).all())
        local = (active >= SHARED_BASE) & (active < SHARED_BASE + (1 << 32))
        shared = bool(local.any())
        if shared and not local.all():
            raise UnknownInstructionError(f"{d.line}: addresses of LDS and others at once")
        start = np.int64(SCRATCH_BASE if private else SHARED_BASE if shared else BASE)
        place = (address + step - start)[..., None] + parts
        there = np.broadcast_to(c.exec[..., None], place.shape)
        return Places(place, there, private, shared)

    return where


def _scratch(d: Decoded, items: list[Operand]) -> Where:
    """Offsets into each lane's own memory."""
    vaddr = next((op for op in items if op.file == "v"), None)
    saddr = next((op for op in items if op.file == "s"), None)
    step = d.operands.number("offset")
    lane = vector_get(vaddr, U32) if vaddr else None
    scalar = scalar_get(saddr, U32) if saddr else None

    def where(c: Cohort, size: int) -> Places:
        offset = np.full(c.exec.shape, step, np.int64)
        if lane is not None:
            offset = offset + lane(c).astype(np.int64)
        if scalar is not None:
            offset = offset + scalar(c).astype(np.int64)[:, None]
        parts = np.arange(0, size, 4 if size >= 4 else size)
        place = offset[..., None] + parts
        return Places(place, np.broadcast_to(c.exec[..., None], place.shape), private=True)

    return where


WHERE: dict[str, Callable[[Decoded, list[Operand]], Where]] = {
    "buffer": _buffer,
    "global": _global,
    "flat": _global,
    "scratch": _scratch,
}

"""Where vector memory instructions access memory.

Sources: AMD, "Instinct MI300 ISA", chapter 9 (buffer resources: 9.1.5) and 10; "RDNA4 ISA",
chapters 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded
from ckrules.emulator.kinds import U32, U64, Values, raw, scalar_get, vector_get
from ckrules.emulator.memory import BASE, SCRATCH_BASE, SHARED_BASE
from ckrules.emulator.operands import Operand
from ckrules.emulator.wave import Cohort, LaneAddresses

Where = Callable[[Cohort, int], LaneAddresses]


def _buffer(d: Decoded, items: list[Operand]) -> Where:
    """Addresses by a buffer resource; parts outside of it do not exist."""
    resource, soffset = items[-2], scalar_get(items[-1], U32)
    vaddr = items[0] if len(items) == 3 and items[0].file == "v" else None
    flags = d.operands.flags
    step, base = np.array([d.operands.number("offset")], np.int64), resource.index
    offen, idxen = "offen" in flags, "idxen" in flags
    if "addr64" in flags:
        raise UnknownInstructionError(f"{d.line}: addr64")

    def where(c: Cohort, size: int) -> LaneAddresses:
        low, high = c.s[base].astype(np.uint64), c.s[base + 1].astype(np.uint64)
        address = ((high & np.uint64(0xFFFF)) << np.uint64(32)) | low
        stride = ((c.s[base + 1] >> np.uint32(16)) & np.uint32(0x3FFF)).astype(np.int64)
        records, soff = c.s[base + 2].astype(np.int64), soffset(c).astype(np.int64)
        index = raw(c, "v", vaddr.index) if idxen and vaddr else np.zeros(1, np.uint32)
        column = vaddr.index + idxen if vaddr else 0
        # Lane and constant are added as 32 bits: compilers move a constant out of a sum whose rest
        # is negative.
        lane = raw(c, "v", column) if offen else np.zeros(1, np.uint32)
        offset = np.broadcast_to((step + lane) & np.int64(0xFFFFFFFF), c.exec.shape)
        if ((address >= np.uint64(SCRATCH_BASE)) & (address < np.uint64(BASE))).any():
            # Swizzled: the scalar offset counts bytes of the whole wave (LLVM,
            # AMDGPU/SIFrameLowering.cpp, getScratchScaleFactor).
            start = offset + (soff >> np.int64(d.target.wave_size.bit_length() - 1))[:, None]
            return LaneAddresses(start, np.full(start.shape, size), c.exec, size, private=True)
        # Each dword is checked on its own, without wrapping again; the scalar offset does not count
        # (LLVM: IntrinsicsAMDGPU.td, "excluded from bounds checking"; relaxed OOB mode).
        if idxen and stride.any():
            room = np.where(index < records[:, None], stride[:, None] - offset, 0)
        else:
            room = records[:, None] - offset
        linear = offset + index * stride[:, None] + soff[:, None]
        return LaneAddresses(address.astype(np.int64)[:, None] - BASE + linear, room, c.exec, size)

    return where


def _global(d: Decoded, items: list[Operand]) -> Where:
    """Addresses in a pair of registers, or a scalar pair and an offset of 32 bits a lane."""
    vaddr = next((op for op in items if op.file == "v"), None)
    saddr = next((op for op in items[1:] if op.file == "s" and op.count == 2), None)
    step = np.array([d.operands.number("offset")], np.int64)
    if vaddr is None:
        raise UnknownInstructionError(f"{d.line}: no address")
    if saddr is not None:
        lane, scalar = vector_get(Operand("v", vaddr.index), U32), scalar_get(saddr, U64)
    else:
        wide = vector_get(vaddr, U64)

    def where(c: Cohort, size: int) -> LaneAddresses:
        if saddr is not None:
            address = scalar(c).astype(np.int64)[:, None] + lane(c).astype(np.int64)
        else:
            address = wide(c).astype(np.int64)
        private, shared = _elsewhere(d, c, address)
        start = np.int64(SCRATCH_BASE if private else SHARED_BASE if shared else BASE)
        room = np.broadcast_to(np.int64(size), c.exec.shape)
        return LaneAddresses(address + step - start, room, c.exec, size, private, shared)

    return where


def _elsewhere(d: Decoded, c: Cohort, address: Values) -> tuple[bool, bool]:
    """Whether active lanes access their private memory, or LDS."""
    if not (c.exec & (address >= np.int64(SHARED_BASE)) & (address < np.int64(BASE))).any():
        return False, False
    active = address[c.exec]
    private = bool((active >= SCRATCH_BASE).all() and (active < BASE).all())
    local = (active >= SHARED_BASE) & (active < SHARED_BASE + (1 << 32))
    shared = bool(local.any())
    if shared and not local.all():
        raise UnknownInstructionError(f"{d.line}: addresses of LDS and others at once")
    return private, shared


def _scratch(d: Decoded, items: list[Operand]) -> Where:
    """Offsets into each lane's own memory."""
    vaddr = next((op for op in items if op.file == "v"), None)
    saddr = next((op for op in items if op.file == "s"), None)
    step = d.operands.number("offset")
    lane = vector_get(vaddr, U32) if vaddr else None
    scalar = scalar_get(saddr, U32) if saddr else None

    def where(c: Cohort, size: int) -> LaneAddresses:
        offset = np.full(c.exec.shape, step, np.int64)
        if lane is not None:
            offset = offset + lane(c).astype(np.int64)
        if scalar is not None:
            offset = offset + scalar(c).astype(np.int64)[:, None]
        return LaneAddresses(offset, np.full(offset.shape, size), c.exec, size, private=True)

    return where


WHERE: dict[str, Callable[[Decoded, list[Operand]], Where]] = {
    "buffer": _buffer,
    "global": _global,
    "flat": _global,
    "scratch": _scratch,
}

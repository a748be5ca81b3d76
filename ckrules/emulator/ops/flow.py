"""Branches, waits, barriers and what has no effect here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import U64, scalar_get, scalar_put
from ckrules.emulator.operands import Special
from ckrules.emulator.wave import Cohort, Mask, State

NOTHING = (
    "s_nop", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_wb", "s_dcache_inv", "s_clause",
    "s_delay_alu", "s_code_end", "s_sendmsg", "s_set_inst_prefetch_distance", "s_ttracedata",
    "s_incperflevel", "s_decperflevel", "s_wait_alu", "s_wait_idle", "s_inst_prefetch",
    "buffer_wbl2", "buffer_inv", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1",
    "buffer_wbinvl1_vol", "global_inv", "global_wb", "global_wbinv", "s_waitcnt_depctr", "v_nop",
    "s_denorm_mode", "s_trap_nop", "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data",
)  # fmt: skip
"""Instructions that change neither registers nor memory."""

_COUNTERS = {"vmcnt": "vm", "lgkmcnt": "lgkm", "expcnt": "exp", "vscnt": "vs"}
_WAITS = {
    "s_wait_loadcnt": ("load",), "s_wait_storecnt": ("store",), "s_wait_dscnt": ("ds",),
    "s_wait_kmcnt": ("km",), "s_wait_expcnt": ("exp",), "s_wait_samplecnt": ("sample",),
    "s_wait_bvhcnt": ("bvh",),
    "s_waitcnt_vscnt": ("vs",), "s_waitcnt_vmcnt": ("vm",), "s_waitcnt_lgkmcnt": ("lgkm",),
    "s_waitcnt_expcnt": ("exp",),
}  # fmt: skip

LEAVING = ("s_branch", "s_cbranch", "s_endpgm", "s_barrier", "s_setpc", "s_swappc")


_MODE = re.compile(r"hwreg\(HW_REG_MODE, *(\d+), *(\d+)\)")


def _set_mode(d: Decoded) -> Run:
    """S_SETREG: the handling of denormal numbers, which are always kept here, and nothing else."""
    found = [hit for flag in d.operands.flags if (hit := _MODE.search(flag))]
    if not found or not (int(found[0][1]) >= 4 and int(found[0][1]) + int(found[0][2]) <= 8):
        raise UnknownInstructionError(f"{d.line}: a register other than the mode of denormals")
    return lambda c: None


def _target(d: Decoded) -> int:
    step = int(d.operands.items[0].value)
    step = step - 0x10000 if step & 0x8000 else step
    address = d.line.address + d.line.size + 4 * step
    if address not in d.jumps:
        raise UnknownInstructionError(f"{d.line}: it jumps to no instruction")
    return d.jumps[address]


def _vcc(c: Cohort) -> Mask:
    return np.asarray(c.mask(Special.VCC).any(axis=1))


def _active(c: Cohort) -> Mask:
    return np.asarray(c.exec.any(axis=1))


_CONDITIONS: dict[str, Callable[[Cohort], Mask]] = {
    "scc0": lambda c: ~c.scc,
    "scc1": lambda c: c.scc,
    "vccz": lambda c: ~_vcc(c),
    "vccnz": _vcc,
    "execz": lambda c: ~_active(c),
    "execnz": _active,
}


@dataclass(frozen=True, slots=True)
class Branch:
    """A jump to an instruction, always or on a condition of each block."""

    target: int
    condition: str = ""
    """One of `_CONDITIONS`; always if empty."""

    def __call__(self, c: Cohort) -> None:
        """Takes it, or parts the cohort."""
        taken = _CONDITIONS[self.condition](c) if self.condition else np.ones(1, bool)
        if taken.all():
            c.pc = self.target
        elif taken.any():
            other = c.part(taken)
            other.pc = self.target
            c.chunk.add(other)


def _branch(d: Decoded) -> Run:
    condition = "" if d.name == "s_branch" else d.name.removeprefix("s_cbranch_")
    return Branch(_target(d), condition)


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits until no more than so many operations of counters are outstanding."""

    limits: tuple[tuple[str, int], ...]

    def __call__(self, c: Cohort) -> None:
        """Ends the others."""
        for counter, left in self.limits:
            c.wait(counter, left)


_LGKM_OF_GFX9 = 15
"""What LGKM_CNT of four bits says where an instruction names other counters alone.

Source: LLVM, AMDGPUBaseInfo.cpp, getLgkmcntBitMask (six bits from gfx10 on).
"""


def _wait_all(d: Decoded) -> Run:
    """S_WAITCNT: counters by name, or all of them in one number."""
    limits: list[tuple[str, int]] = []
    for flag in d.operands.flags:
        for name, number in re.findall(r"([a-z]+)\((\d+)\)", flag):
            limits.append((_COUNTERS[name], int(number)))
    for op in d.operands.items:
        if op.value == 0:
            limits += [(name, 0) for name in _COUNTERS.values()]
        else:
            raise UnknownInstructionError(f"{d.line}: counters in one number")
    if d.target.generation < 10 and "lgkm" not in dict(limits):
        limits.append(("lgkm", _LGKM_OF_GFX9))
    return Wait(tuple(limits))


def _wait(d: Decoded) -> Run:
    left = int(d.operands.items[-1].value)
    return Wait(tuple((counter, left) for counter in _WAITS[d.name]))


def _wait_two(d: Decoded) -> Run:
    """Loads (or stores) in bits 8 to 13, LDS in bits 0 to 5."""
    number = int(d.operands.items[0].value)
    first = "load" if "load" in d.name else "store"
    return Wait(((first, number >> 8 & 63), ("ds", number & 63)))


def _barrier(c: Cohort) -> None:
    c.state = State.BARRIER


def _signal(d: Decoded) -> Run:
    if d.operands.items[0].value != -1:
        raise UnknownInstructionError(f"{d.line}: a barrier other than the workgroup's")

    def run(c: Cohort) -> None:
        c.signalled = True

    return run


def _wait_barrier(c: Cohort) -> None:
    c.signalled = False
    c.state = State.BARRIER


def _end(c: Cohort) -> None:
    c.state = State.ENDED


def _program_counter(d: Decoded) -> Run:
    put = scalar_put(d.operands.items[0], U64)
    offset = d.line.address + d.line.size

    def run(c: Cohort) -> None:
        put(c, np.full(c.slots.shape, c.chunk.base + offset, np.uint64))

    return run


def _jump_to(d: Decoded) -> Run:
    *link, source = d.operands.items
    get = scalar_get(source, U64)
    put = scalar_put(link[0], U64) if link else None
    after, jumps = d.line.address + d.line.size, d.jumps

    def run(c: Cohort) -> None:
        places = np.unique(get(c))
        if len(places) != 1 or int(places[0]) - c.chunk.base not in jumps:
            raise UnknownInstructionError(f"{d.line}: it jumps to no instruction")
        if put is not None:
            put(c, np.full(c.slots.shape, c.chunk.base + after, np.uint64))
        c.pc = jumps[int(places[0]) - c.chunk.base]

    return run


def _trap(d: Decoded) -> Run:
    def run(c: Cohort) -> None:
        raise UnknownInstructionError(f"{d.line}: the kernel stopped itself")

    return run


OPCODES: dict[str, Callable[[Decoded], Run]] = {
    **dict.fromkeys(NOTHING, lambda d: lambda c: None),
    "s_branch": _branch,
    **{f"s_cbranch_{condition}": _branch for condition in _CONDITIONS},
    "s_waitcnt": _wait_all,
    **dict.fromkeys(_WAITS, _wait),
    "s_wait_loadcnt_dscnt": _wait_two,
    "s_wait_storecnt_dscnt": _wait_two,
    "s_setreg_b32": _set_mode,
    "s_setreg_imm32_b32": _set_mode,
    "s_barrier": lambda d: _barrier,
    "s_barrier_signal": _signal,
    "s_barrier_wait": lambda d: _wait_barrier,
    "s_endpgm": lambda d: _end,
    "s_getpc_b64": _program_counter,
    "s_setpc_b64": _jump_to,
    "s_swappc_b64": _jump_to,
    "s_trap": _trap,
}

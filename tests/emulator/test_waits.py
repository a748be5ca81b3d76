"""Waits and barriers: registers used too early, queues that end in part, waves that are missing."""

from __future__ import annotations

import numpy as np
import pytest

from ckrules.emulator.errors import FaultKind, UnknownInstructionError
from ckrules.emulator.lds import Touch
from ckrules.emulator.machine import Order
from ckrules.emulator.wave import Cohort
from tests.helpers.isa import Bench


def run(text: str, arch: str = "gfx942") -> Bench:
    """Lines with s[0:1] the address of memory and s[4:7] a buffer of it."""
    b = Bench(text, arch=arch, lds=1024)
    address = b.memory.allocate(4096)
    b.s(0, address & 0xFFFFFFFF, address >> 32).s(4, address & 0xFFFFFFFF, address >> 32, 4096, 0)
    b.chunk.lds.written[:] = 1
    return b.run()


_FLAT = "flat_load_dword v1, v[8:9]\nglobal_load_dword v2, v0, s[0:1]\n"
_TWO = "global_load_dword v1, v0, s[0:1]\nglobal_load_dword v2, v0, s[0:1]\n"


@pytest.mark.parametrize(("text", "arch", "bad"), [
    (_TWO + "s_waitcnt vmcnt(1)\nv_mov_b32 v3, v1", "gfx942", False),
    (_TWO + "s_waitcnt vmcnt(1)\nv_mov_b32 v3, v2", "gfx942", True),
    (_TWO + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v2", "gfx942", False),
    (_TWO + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v3, v1", "gfx942", True),
    (_TWO + "v_mov_b32 v2, 0", "gfx942", True),
    (_TWO + "v_mov_b32 v3, v4", "gfx942", False),
    ("global_load_dword v1, v0, s[0:1]\nglobal_store_dword v0, v5, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v1", "gfx942", False),
    ("global_load_dword v1, v0, s[0:1]\nglobal_store_dword v0, v5, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v1", "gfx1100", True),
    ("global_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx1100", False),
    ("global_atomic_add_u32 v1, v0, v2, s[0:1] glc\ns_waitcnt_vscnt null, 0x0\nv_mov_b32 v3, v1", "gfx1100", True),
    ("global_atomic_add_u32 v1, v0, v2, s[0:1] glc\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx1100", False),
    ("global_load_b32 v1, v0, s[0:1]\ns_wait_dscnt 0x0\nv_mov_b32 v3, v1", "gfx1201", True),
    ("global_load_b32 v1, v0, s[0:1]\ns_wait_loadcnt 0x0\nv_mov_b32 v3, v1", "gfx1201", False),
    ("ds_load_b32 v1, v0\nglobal_load_b32 v2, v0, s[0:1]\ns_wait_loadcnt_dscnt 0x100\nv_mov_b32 v3, v1", "gfx1201", False),
    ("ds_load_b32 v1, v0\nglobal_load_b32 v2, v0, s[0:1]\ns_wait_loadcnt_dscnt 0x100\nv_mov_b32 v3, v2", "gfx1201", True),
    ("ds_read_b32 v1, v0\nds_read_b32 v2, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v3, v1", "gfx942", False),
    ("s_load_dword s8, s[0:1], 0x0\ns_load_dword s9, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s10, s8", "gfx942", True),
    ("s_load_dword s8, s[0:1], 0x0\ns_load_dword s9, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s10, s8", "gfx942", False),
    # registers that the text does not name
    ("s_load_dwordx2 vcc, s[0:1], 0x0\nv_div_fmas_f32 v1, v2, v3, v4", "gfx942", True),
    ("s_load_dwordx2 vcc, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_div_fmas_f32 v1, v2, v3, v4", "gfx942", False),
    ("s_load_dwordx2 vcc, s[0:1], 0x0\ns_cbranch_vccnz 0", "gfx942", True),
    ("s_load_dword s8, s[0:1], 0x0\nds_read_b32 v1, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v2, v1", "gfx942", True),
    ("s_load_b32 s8, s[0:1], 0x0\ns_wait_kmcnt 0x0\ns_mov_b32 s10, s8", "gfx1201", False),
    ("flat_load_dword v1, v[8:9]\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx942", True),
    ("flat_load_dword v1, v[8:9]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v3, v1", "gfx942", False),
    (_FLAT + "s_wait_loadcnt_dscnt 0x100\nv_mov_b32 v3, v1", "gfx1201", False),
    (_FLAT + "s_wait_loadcnt_dscnt 0x100\nv_mov_b32 v3, v2", "gfx1201", True),
    (_FLAT + "s_wait_loadcnt 0x1\nv_mov_b32 v3, v1", "gfx1201", True),
    (_FLAT + "s_waitcnt vmcnt(1) lgkmcnt(0)\nv_mov_b32 v3, v1", "gfx1100", False),
    (_FLAT + "s_waitcnt vmcnt(1) lgkmcnt(0)\nv_mov_b32 v3, v1", "gfx942", True),
    (_TWO + "flat_load_dword v4, v[8:9]\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v1", "gfx942", False),
    (_TWO + "flat_load_dword v4, v[8:9]\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v2", "gfx942", True),
    (_TWO + "flat_load_dword v4, v[8:9]\ns_waitcnt vmcnt(2)\nv_mov_b32 v3, v1", "gfx942", True),
    # clang writes no wait for what a full counter ends
    (_TWO + 62 * "global_load_dword v5, v0, s[0:1]\n" + "v_mov_b32 v3, v1", "gfx942", False),
    (_TWO + 62 * "global_load_dword v5, v0, s[0:1]\n" + "v_mov_b32 v3, v2", "gfx942", True),
    ("global_load_dword a1, v0, s[0:1]\nv_accvgpr_read_b32 v1, a1", "gfx942", True),
    ("global_load_dword a1, v0, s[0:1]\nv_accvgpr_read_b32 v1, a2", "gfx942", False),
    ("global_load_dword v1, v0, s[0:1]\nglobal_load_dword v1, v0, s[0:1] offset:4", "gfx942", False),
    ("global_load_dword v1, v0, s[0:1]\nbuffer_load_dword v1, v0, s[4:7], 0 offen\nv_mov_b32 v3, v1", "gfx942", True),
    ("global_load_dword v1, v0, s[0:1]\nglobal_load_dword v1, v1, s[0:1]", "gfx942", True),
    ("global_load_dword v1, v0, s[0:1]\nglobal_load_ushort v1, v0, s[0:1]", "gfx942", False),
    ("global_load_dword v1, v0, s[0:1]\nglobal_load_short_d16 v1, v0, s[0:1]", "gfx942", False),
    ("global_load_short_d16 v1, v0, s[0:1]\nglobal_load_short_d16_hi v1, v0, s[0:1]", "gfx942", False),
    # as clang 19 writes it for gfx1100 (LLVM, FLATInstructions.td: TiedSourceNotRead)
    ("global_load_u16 v1, v0, s[0:1]\nglobal_load_d16_hi_b16 v1, v2, s[0:1]", "gfx1100", False),
    ("ds_load_b32 v1, v0\nglobal_load_d16_hi_b16 v1, v0, s[0:1]", "gfx1100", True),
    ("ds_read_b32 v1, v0\nglobal_load_dword v1, v0, s[0:1]", "gfx942", True),
    ("flat_load_dword v1, v[8:9]\nglobal_load_dword v1, v0, s[0:1]", "gfx942", True),
    ("ds_bpermute_b32 v1, v0, v2\nv_mov_b32 v3, v1", "gfx942", True),
    # as clang 22 writes it: LGKM_CNT has four bits, so that of 16 reads the first has ended
    ("ds_read_b32 v1, v0\n" + "".join(f"ds_read_b32 v{i}, v0\n" for i in range(4, 19)) + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx942", False),
    ("ds_read_b32 v1, v0\n" + "".join(f"ds_read_b32 v{i}, v0\n" for i in range(4, 18)) + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx942", True),
    ("ds_load_b32 v1, v0\n" + "".join(f"ds_load_b32 v{i}, v0\n" for i in range(4, 19)) + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v1", "gfx1100", True),
    ("buffer_load_dwordx4 v[8:11], v0, s[4:7], 0 offen\nv_mfma_f32_4x4x1_16b_f32 v[20:23], v10, v1, 0", "gfx942", True),
])  # fmt: skip
def test_registers_used_before_their_wait(text: str, arch: str, bad: bool) -> None:
    b = run(text, arch)
    assert (FaultKind.NOT_WAITED in b.faults) is bad


def test_a_wait_that_is_not_named_is_refused() -> None:
    with pytest.raises(UnknownInstructionError, match="s_waitcnt"):
        run("s_waitcnt 0x1234")
    assert not run("s_waitcnt 0x0").faults


def test_rdna_waits_and_hints_change_nothing() -> None:
    text = """
        s_waitcnt_depctr 0xfff
        s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
        s_clause 0x3
        s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
        v_mov_b32_e32 v1, 5
    """
    assert (run(text, "gfx1100").get(1) == 5).all()
    with pytest.raises(UnknownInstructionError, match="s_setreg"):
        run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3")


def test_a_wave_that_ends_before_a_barrier_is_reported() -> None:
    # The second wave has s8 = 1 and leaves.
    text = "s_cmp_eq_u32 s8, 1\ns_cbranch_scc1 1\ns_barrier\ns_nop 0"
    for leaver, bad in ((0, False), (1, True)):
        b = Bench(text, waves=2)
        b.cohorts[1].s[8] = leaver
        b.run()
        assert (FaultKind.BARRIER in b.faults) is bad


def test_split_barriers_hold_waves_together() -> None:
    text = """
        ds_store_b32 v0, v1
        s_wait_dscnt 0x0
        s_barrier_signal -1
        s_barrier_wait 0xffff
        ds_load_b32 v2, v3
        s_wait_dscnt 0x0
    """
    b = Bench(text, arch="gfx1201", waves=2, lds=256)
    lane = np.arange(32)
    for number, c in enumerate(b.cohorts):
        b.put(c, 0, (128 * number + 4 * lane).astype(np.uint32))
        b.put(c, 3, (128 * (1 - number) + 4 * lane).astype(np.uint32))
        b.put(c, 1, (1000 * number + lane).astype(np.uint32))
    b.run()
    assert (b.cohorts[0].v[2, 0] == 1000 + lane).all()
    assert not b.faults


def test_a_wave_that_does_not_end_is_stopped() -> None:
    from ckrules.emulator.errors import EmulatorError

    with pytest.raises(EmulatorError, match="did not end"):
        run("s_branch 65535")


@pytest.mark.parametrize("waiter", [0, 1])
@pytest.mark.parametrize("order", list(Order))
def test_a_block_waits_for_another_one(order: Order, waiter: int) -> None:
    """A block's first wave polls memory, which the other block writes behind a barrier."""
    text = """
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc1 7
        s_cmp_eq_u32 s9, 1
        s_cbranch_scc1 5
        global_load_dword v1, v0, s[0:1]
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s10, v1
        s_cmp_eq_u32 s10, 0
        s_cbranch_scc1 65531
        s_barrier
        s_cmp_eq_u32 s8, 1
        s_cbranch_scc1 2
        global_store_dword v0, v2, s[0:1]
        s_waitcnt vmcnt(0)
    """
    b = Bench(text, blocks=2, waves=2)
    b.chunk.patience = 200
    address = b.memory.allocate(4096)
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    for c in b.cohorts:
        c.s[8, waiter] = 1  # the block that waits
        c.s[9] = c.wave
        c.v[2] = 7
    b.run(order)
    assert b.memory.read(address, 4) == bytes([7, 0, 0, 0])
    assert set(b.faults) == {FaultKind.REPEATED_WRITE}


_HANDED_ON = """
    s_cmp_eq_u32 s8, 1
    s_cbranch_scc1 9
    global_store_dword v0, v2, s[0:1]
    s_waitcnt vmcnt(0)
    {stored}
    s_cmp_eq_u32 s9, 1
    s_cbranch_scc1 2
    global_store_dword v1, v2, s[0:1] offset:1024
    s_waitcnt vmcnt(0)
    {signalled}
    s_branch 11
    s_cmp_eq_u32 s9, 1
    s_cbranch_scc1 5
    global_load_dword v3, v1, s[0:1] offset:1024
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v3
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 65531
    s_barrier
    global_load_dword v3, v0, s[0:1]
    s_waitcnt vmcnt(0)
    global_store_dword v0, v3, s[0:1] offset:2048
"""


def _handed_on(early: bool, order: Order, seed: int) -> bool:
    """Whether block 1 reads all that two waves of block 0 store before wave 0 sets a flag."""
    barrier, nothing = "s_barrier", "s_nop 0"
    words = (nothing, barrier) if early else (barrier, nothing)
    b = Bench(_HANDED_ON.format(stored=words[0], signalled=words[1]), blocks=2, waves=2)
    b.chunk.patience = 200
    address = b.memory.allocate(4096)
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    for c in b.cohorts:
        c.s[8, 1], c.s[9], c.v[2] = 1, c.wave, 7
        b.put(c, 0, (512 * c.wave + 4 * np.arange(64)).astype(np.uint32))
        b.put(c, 1, np.zeros(64, np.uint32))
    b.chunk.run(order, seed, apart=True)
    read = np.frombuffer(b.memory.read(address, 4096), np.uint32)
    return bool((read[512:576] == 7).all() and (read[640:704] == 7).all())


def test_what_is_signalled_too_early_shows_in_random_order() -> None:
    """Wave 0 says that a block has stored its part: only a barrier makes that true of wave 1."""
    assert all(_handed_on(True, order, 0) for order in (Order.FORWARD, Order.REVERSED))
    early = [_handed_on(True, Order.RANDOM, seed) for seed in range(20)]
    assert not all(early)
    assert early == [_handed_on(True, Order.RANDOM, seed) for seed in range(20)]
    assert all(_handed_on(False, Order.RANDOM, seed) for seed in range(20))


def test_lanes_part_and_meet_again() -> None:
    text = """
        v_cmp_gt_u32_e32 vcc, 10, v0
        s_and_saveexec_b64 s[10:11], vcc
        s_cbranch_execz 1
        v_add_u32_e32 v1, 100, v1
        s_mov_b64 exec, s[10:11]
        v_add_u32_e32 v1, 1, v1
        global_store_dword v2, v1, s[0:1]
    """
    b = Bench(text, blocks=2)
    lane = np.arange(64)
    number = np.stack([lane, lane + 64])
    address = b.memory.allocate(512)
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    b.v(0, number.astype(np.uint32)).v(2, (4 * number).astype(np.uint32)).run()
    stored = np.frombuffer(b.memory.read(address, 512), np.uint32)
    assert (stored == 1 + 100 * (np.arange(128) < 10)).all()


def test_blocks_that_part_and_meet_again_mark_an_access_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every other block takes 12 branches with a read of LDS under way, and all meet behind each."""
    lines = ["ds_read_b32 v1, v0"]
    for _ in range(12):
        lines += ["s_cmp_eq_u32 s8, 0", "s_cbranch_scc1 1", "s_add_u32 s9, s9, 1"]
    b = Bench("\n".join([*lines, "s_barrier", "s_waitcnt lgkmcnt(0)"]), blocks=4, lds=1024)
    b.chunk.lds.written[:] = 1
    b.wave.s[8] = np.arange(4) % 2
    marks = []
    carry = b.chunk.lds.carry

    def noted(c: Cohort, touches: list[Touch]) -> None:
        marks.append(len(touches))
        carry(c, touches)

    monkeypatch.setattr(b.chunk.lds, "carry", noted)
    b.run()
    assert not b.faults
    assert marks == [1]

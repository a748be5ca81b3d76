"""Whole kernels: assembled and linked, loaded, disassembled and run on each generation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckrules.device.cpu import disassembler
from ckrules.emulator.program import load
from tests.helpers.assembled import assemble, run

pytestmark = pytest.mark.toolchain

ARCHES = ["gfx90a", "gfx942", "gfx1100", "gfx1201"]


class Syntax:
    """How a generation writes what the kernels here need."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.rdna = arch.startswith("gfx1")
        self.lanes = 32 if self.rdna else 64
        self.new = arch == "gfx1201"
        self.block = "ttmp9" if self.new else "s2"
        self.scalar_wait = "s_wait_kmcnt 0x0" if self.new else "s_waitcnt lgkmcnt(0)"
        self.load_wait = "s_wait_loadcnt 0x0" if self.new else "s_waitcnt vmcnt(0)"
        self.local_wait = "s_wait_dscnt 0x0" if self.new else "s_waitcnt lgkmcnt(0)"
        self.barrier = "s_barrier_signal -1\ns_barrier_wait -1" if self.new else "s_barrier"
        self.add = "v_add_nc_u32_e32" if self.rdna else "v_add_u32_e32"
        self.dword = "b32" if self.rdna else "dword"
        self.read, self.write = ("load", "store") if self.rdna else ("read", "write")

    def begin(self, threads: int) -> str:
        """Pointers in s[4:7], the thread in v0, the byte offset of its dword in v1."""
        return f"""
            s_load_{"b128" if self.rdna else "dwordx4"} s[4:7], s[0:1], 0x0
            {self.scalar_wait}
            v_and_b32_e32 v0, 0x3ff, v0
            s_mul_i32 s3, {self.block}, {threads}
            {self.add} v1, s3, v0
            v_lshlrev_b32_e32 v1, 2, v1
        """

    def load(self) -> str:
        """This thread's dword in v2."""
        return f"global_load_{self.dword} v2, v1, s[4:5]\n{self.load_wait}\n"

    def store(self) -> str:
        """v3 stored for this thread."""
        return f"global_store_{self.dword} v1, v3, s[6:7]\n"


@pytest.mark.parametrize("arch", ARCHES)
def test_a_kernel_computes_lane_by_lane(arch: str, tmp_path: Path) -> None:
    syntax = Syntax(arch)
    threads = 2 * syntax.lanes
    code = f"""
        {syntax.begin(threads)}
        {syntax.load()}
        v_cvt_f32_u32_e32 v4, v1
        v_fma_f32 v3, v2, 2.0, -v4
        v_cmp_gt_f32_e32 vcc{"_lo" if syntax.rdna else ""}, 0, v3
        v_cndmask_b32_e32 v3, v3, v2, vcc{"_lo" if syntax.rdna else ""}
        {syntax.store()}
    """
    x = np.random.default_rng(0).normal(0, 300, 3 * threads).astype(np.float32)
    made, faults = run(
        assemble(code, arch, tmp_path), x.tobytes(), x.nbytes, blocks=3, threads=threads
    )
    value = 2 * x - np.arange(len(x), dtype=np.float32) * 4
    assert (np.frombuffer(made, np.float32) == np.where(value < 0, x, value)).all()
    assert not faults


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("waits", [True, False])
def test_waves_exchange_data_through_lds(arch: str, waits: bool, tmp_path: Path) -> None:
    syntax = Syntax(arch)
    threads = 2 * syntax.lanes
    code = f"""
        {syntax.begin(threads)}
        {syntax.load()}
        v_lshlrev_b32_e32 v4, 2, v0
        ds_{syntax.write}_b32 v4, v2
        {syntax.local_wait}
        {syntax.barrier if waits else ""}
        v_xor_b32_e32 v4, {4 * threads - 4}, v4
        ds_{syntax.read}_b32 v3, v4
        {syntax.local_wait}
        {syntax.store()}
    """
    x = np.arange(2 * threads, dtype=np.uint32)
    object_ = assemble(code, arch, tmp_path, lds=4 * threads)
    made, faults = run(object_, x.tobytes(), x.nbytes, blocks=2, threads=threads)
    if waits:
        assert not faults
        assert (np.frombuffer(made, np.uint32) == x.reshape(2, -1)[:, ::-1].reshape(-1)).all()
    else:
        assert "lds-race" in faults


@pytest.mark.parametrize("arch", ARCHES)
def test_lanes_part_in_a_loop(arch: str, tmp_path: Path) -> None:
    """Collatz steps of each lane's number, of blocks of which some end long before others."""
    syntax = Syntax(arch)
    bits, exec_, vcc = ("b32", "exec_lo", "vcc_lo") if syntax.rdna else ("b64", "exec", "vcc")
    saved = "s8" if syntax.rdna else "s[8:9]"
    done = "s10" if syntax.rdna else "s[10:11]"
    andn2 = "and_not1" if syntax.new or syntax.rdna else "andn2"
    code = f"""
        {syntax.begin(syntax.lanes)}
        {syntax.load()}
        v_mov_b32_e32 v3, 0
        s_mov_{bits} {saved}, {exec_}
    .Lloop:
        v_cmp_eq_u32_e32 {vcc}, 1, v2
        s_{andn2}_{bits} {exec_}, {exec_}, {vcc}
        s_cbranch_execz .Lout
        v_and_b32_e32 v5, 1, v2
        v_lshrrev_b32_e32 v4, 1, v2
        v_lshl_add_u32 v6, v2, 1, v2
        {syntax.add} v6, 1, v6
        v_cmp_eq_u32_e64 {done}, 1, v5
        v_cndmask_b32_e64 v2, v4, v6, {done}
        {syntax.add} v3, 1, v3
        s_branch .Lloop
    .Lout:
        s_mov_{bits} {exec_}, {saved}
        {syntax.store()}
    """
    x = np.concatenate([np.ones(syntax.lanes), np.arange(1, 2 * syntax.lanes + 1)]).astype(
        np.uint32
    )

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    made, faults = run(
        assemble(code, arch, tmp_path), x.tobytes(), x.nbytes, blocks=3, threads=syntax.lanes
    )
    assert np.frombuffer(made, np.uint32).tolist() == [steps(int(n)) for n in x]
    assert not faults


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_a_matrix_product_in_accumulation_registers(arch: str, tmp_path: Path) -> None:
    syntax = Syntax(arch)
    name = "16x16x4f32" if arch == "gfx90a" else "16x16x4_f32"
    code = f"""
        {syntax.begin(64)}
        {syntax.load()}
        v_accvgpr_write_b32 a8, v2
        v_mfma_f32_{name} a[0:3], a8, v2, 0
        s_nop 15
        v_accvgpr_read_b32 v10, a0
        v_accvgpr_read_b32 v11, a1
        v_accvgpr_read_b32 v12, a2
        v_accvgpr_read_b32 v13, a3
        v_lshlrev_b32_e32 v1, 2, v1
        global_store_dwordx4 v1, v[10:13], s[6:7]
    """
    x = np.random.default_rng(1).integers(-5, 6, 64).astype(np.float32)
    made, faults = run(assemble(code, arch, tmp_path), x.tobytes(), 1024)
    each = x.reshape(4, 16)  # (k, row)
    product = each.T @ each
    got = np.frombuffer(made, np.float32).reshape(4, 16, 4)  # (group of rows, column, row)
    assert (got.transpose(0, 2, 1).reshape(16, 16) == product).all()
    assert not faults


FORMS = {
    "gfx90a": """
        v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_add_f16_sdwa v0, v1, -v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD
        v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD
        v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0,1] neg_lo:[0,0,1]
        v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]
        v_fma_mix_f32 v0, v1, -v2, |v3| op_sel:[1,0,0] op_sel_hi:[1,1,0]
        v_fma_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[1,0,0]
        v_pack_b32_f16 v0, v1, v2 op_sel:[0,1,0]
        v_cvt_f16_f32_e32 v0, v1
        v_mad_u64_u32 v[0:1], s[2:3], v4, v5, v[6:7]
        v_addc_co_u32_e32 v0, vcc, 0, v1, vcc
        v_lshlrev_b64 v[0:1], 3, v[2:3]
        v_mul_f32_e64 v0, |v1|, v2 clamp mul:2
        v_perm_b32 v0, v1, v2, s3
        v_bfi_b32 v0, s3, v1, 0.5
        v_cmp_class_f32_e64 s[2:3], v0, v1
        v_mfma_f32_32x32x8bf16_1k a[0:15], v[2:3], v[4:5], a[0:15]
        v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[4:7]
        ds_read2st64_b32 v[0:1], v2 offset1:1
        ds_read_u16_d16_hi v0, v1 offset:6
        buffer_load_dword v0, s[4:7], 0 offen lds
        buffer_atomic_add_f32 v0, v1, s[4:7], 0 offen
        global_atomic_pk_add_f16 v0, v1, s[0:1] offset:16
        flat_load_dwordx2 a[0:1], v[2:3] glc
        scratch_load_dword v0, off, s3 offset:16
        s_load_dwordx16 s[16:31], s[0:1], -0x10
        s_and_saveexec_b64 s[2:3], vcc
        s_waitcnt vmcnt(3) expcnt(0) lgkmcnt(2)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
        v_readlane_b32 s2, v0, m0
    """,
    "gfx942": """
        v_cvt_pk_fp8_f32 v0, v1, -v2 op_sel:[0,0,1]
        v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_3
        v_cvt_pk_f32_bf8_sdwa v[0:1], v2 src0_sel:WORD_1
        v_lshl_add_u64 v[0:1], v[2:3], 3, v[4:5]
        v_mov_b64_e32 v[0:1], s[2:3]
        v_mfma_f32_16x16x32_fp8_bf8 v[0:3], v[4:5], v[6:7], v[0:3]
        v_mfma_i32_32x32x16_i8 a[0:15], v[4:5], v[6:7], a[0:15]
        global_load_lds_dword v[2:3], off offset:16
        buffer_load_dwordx4 a[0:3], v0, s[4:7], s8 offen offset:64 sc0 nt sc1
        global_atomic_add_f32 v0, v1, v2, s[0:1] sc0
        buffer_wbl2 sc1
        buffer_inv sc1
        v_add_f32_dpp v0, v1, v2 row_newbcast:3 row_mask:0xf bank_mask:0xf
    """,
    "gfx1100": """
        v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v6
        v_dual_fmac_f32 v0, v1, v2 :: v_dual_lshlrev_b32 v3, 2, v5
        v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
        v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,0]
        v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]
        v_add_f32_dpp v0, v1, v2 row_xmask:3 row_mask:0xf bank_mask:0xf fi:1
        v_add_f16_e64 v0, -v1, |v2| clamp
        v_cvt_f32_f16_e32 v0, v1
        v_cndmask_b32_e64 v0, v1, v2, s3
        v_add_co_ci_u32_e64 v0, null, 0, v1, vcc_lo
        v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]
        v_cmpx_lt_u32_e32 3, v0
        v_fma_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[1,0,0]
        ds_load_2addr_stride64_b64 v[0:3], v4 offset1:2
        ds_store_b8_d16_hi v0, v1
        buffer_load_d16_hi_b16 v0, v1, s[4:7], 0 offen
        global_load_b96 v[0:2], v3, s[0:1] offset:-16
        buffer_atomic_add_f32 v0, v1, s[4:7], null offen glc
        s_load_b256 s[8:15], s[0:1], null
        s_waitcnt_vscnt null, 0x0
        s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
        s_and_not1_saveexec_b32 s2, s3
        s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
        s_waitcnt_depctr 0xfff
    """,
    "gfx1201": """
        v_dual_max_num_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5
        v_wmma_f32_16x16x16_fp8_bf8 v[0:7], v[8:9], v[10:11], v[0:7]
        v_wmma_i32_16x16x16_iu8 v[0:7], v[8:9], v[10:11], v[0:7] neg_lo:[1,1,0] clamp
        v_cvt_f32_fp8_e64 v0, v1 byte_sel:2
        v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]
        v_pk_max_num_f16 v0, v1, v2
        v_maximum3_f32 v0, v1, v2, v3
        v_add_f32_e64_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
        s_add_f32 s0, s1, s2
        s_fmac_f32 s0, s1, s2
        s_mul_u64 s[0:1], s[2:3], s[4:5]
        buffer_load_b128 v[0:3], v4, s[4:7], null offen offset:64 th:TH_LOAD_NT scope:SCOPE_SYS
        buffer_store_d16_hi_b8 v0, v1, s[4:7], s8 offen
        global_atomic_pk_add_bf16 v0, v1, s[0:1]
        global_atomic_add_u32 v0, v1, v2, s[0:1] th:TH_ATOMIC_RETURN
        s_load_u16 s3, s[0:1], 0x2
        s_load_b96 s[4:6], s[0:1], s8 offset:0x10
        s_buffer_load_b64 s[4:5], s[8:11], s3 offset:0x10
        s_wait_storecnt_dscnt 0x102
        s_wait_alu 0xfffe
        global_wb scope:SCOPE_DEV
    """,
}


@pytest.mark.parametrize("arch", sorted(FORMS))
def test_forms_that_the_disassembler_prints_are_known(arch: str, tmp_path: Path) -> None:
    program = load(assemble(FORMS[arch], arch, tmp_path, scratch=64), disassembler())
    lines = [i for i in program.instructions if i.line.mnemonic not in ("s_code_end", "s_nop")]
    unknown = [
        str(i.line) for i in lines if getattr(i.run, "__qualname__", "").startswith("_fails")
    ]
    assert not unknown
    assert len(lines) > len(FORMS[arch].strip().splitlines())

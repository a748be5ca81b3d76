"""Which instructions have a C form: without one they would be numpy's, right and slow, unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckrules.emulator.instruction import Target
from ckrules.emulator.native import shapes as module
from ckrules.emulator.native.cohort import traced
from ckrules.emulator.native.shapes import Shapes
from ckrules.emulator.program import _instruction
from tests.helpers.isa import meaning

#: Lines of kernels, by GPU; what the folder's other tests run is compared with numpy bit by bit.
LINES = {
    "gfx90a": (
        "v_pk_mov_b32 v[2:3], v[4:5], v[6:7] op_sel:[0,1]",
        "v_pk_fma_f32 v[2:3], v[4:5], v[2:3], v[6:7]",
    ),
    "gfx942": (
        "v_exp_f32_e32 v1, v2",
        "v_log_f32_e32 v1, v2",
        "v_pk_mul_f32 v[0:1], s[0:1], v[0:1] op_sel_hi:[0,1]",
        "v_pack_b32_f16 v1, v2, v3",
        "v_floor_f16 v1, v2",
        "v_div_scale_f32 v1, s[0:1], v2, v2, 1.0",
        "v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        "v_div_fixup_f32 v1, v2, v3, 1.0",
        "v_writelane_b32 v1, s15, 0",
        "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf",
        "v_cmp_class_f32_e64 s[0:1], v1, v2",
        "v_cvt_f32_fp8_sdwa v0, v9 src0_sel:BYTE_0",
        "ds_bpermute_b32 v1, v2, v3",
        "v_mfma_f32_16x16x16_f16 v[2:5], v[24:25], v[28:29], v[4:7]",
    ),
    "gfx950": (
        "v_bitop3_b32 v1, v2, v3, v4 bitop3:0x1e",
        "v_cvt_pk_f16_f32 v1, v2, v3",
        "v_permlane32_swap_b32_e32 v1, v2",
        "ds_read_b64_tr_b16 v[2:3], v0 offset:4096",
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[0:3]",
    ),
    "gfx1201": ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]",),
}


@pytest.mark.parametrize(("arch", "line"), [(a, line) for a in LINES for line in LINES[a]])
def test_has_a_c_form(arch: str, line: str) -> None:
    assert traced(meaning(line, arch).run, 32 if arch.startswith("gfx1") else 64) is not None


@pytest.mark.parametrize(("one", "other"), [
    ("v_add_u32 v1, v1, v2", "v_add_u32 v3, v4, v5"),
    ("v_fma_f32 v1, v2, v2, v1", "v_fma_f32 v3, v4, v5, v6"),
    ("s_add_u32 s1, s1, s1", "s_add_u32 s2, s3, s4"),
    ("ds_read_b64 v[2:3], v2", "ds_read_b64 v[4:5], v8"),
])  # fmt: skip
def test_which_registers_are_the_same_makes_no_other_function(one: str, other: str) -> None:
    forms = [traced(meaning(line, "gfx942").run, 64) for line in (one, other)]
    assert forms[0] is not None
    assert forms[1] is not None
    assert forms[0].body == forms[1].body
    assert len(forms[0].registers) == len(forms[1].registers)


@pytest.mark.parametrize(("one", "other"), [
    ("v_add_u32 v1, v2, v3", "v_add_u32 v9, v8, v7"),
    ("v_add_u32 v1, v1, v3", "v_add_u32 v9, v9, v7"),
    ("v_add_u32 v1, v1, v3", "v_add_u32 v9, v8, v7"),
    ("v_add_co_u32 v1, vcc, v2, v3", "v_add_co_u32 v4, vcc, v5, v6"),
    ("v_cmp_gt_u32_e64 s[0:1], v2, v3", "v_cmp_gt_u32_e64 s[2:3], v4, v5"),
    ("v_cmp_gt_u32_e64 s[0:1], v2, v3", "v_cmp_gt_u32_e64 s[102:103], v4, v5"),
    ("v_mov_b64 v[2:3], v[4:5]", "v_mov_b64 v[2:3], v[3:4]"),
    ("ds_read_b64 v[2:3], v2", "ds_read_b64 v[4:5], v8"),
    ("ds_write_b64 v8, v[4:5] offset:8", "ds_write_b64 v1, v[6:7] offset:8"),
    ("global_load_dwordx4 v[4:7], v[0:1], off", "global_load_dwordx4 a[0:3], v[2:3], off"),
    ("buffer_load_dword v0, v1, s[0:3], 0 offen", "buffer_load_dword v5, v6, s[4:7], 0 offen"),
    ("v_mfma_f32_16x16x16_f16 v[2:5], v[24:25], v[28:29], v[4:7]",
     "v_mfma_f32_16x16x16_f16 a[0:3], v[24:25], v[28:29], a[0:3]"),
])  # fmt: skip
def test_a_form_that_was_moved_is_the_one_that_is_traced(one: str, other: str) -> None:
    shapes = Shapes(64)
    for line in (one, other):
        instruction = meaning(line, "gfx942")
        assert shapes.form(instruction) == traced(instruction.run, 64)


def test_what_reads_its_own_address_is_not_moved() -> None:
    shapes = Shapes(64)
    for address in (0, 64):
        line = replace(meaning("s_getpc_b64 s[0:1]", "gfx942").line, address=address)
        instruction = _instruction(line, 0, Target("gfx942", 64), {})
        assert shapes.form(instruction) == traced(instruction.run, 64)


def test_only_the_first_of_a_shape_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(module, "traced", lambda run, lanes: asked.append(run))
    shapes = Shapes(64)
    for a, b in ((1, 2), (5, 7), (9, 11)):
        shapes.form(meaning(f"v_add_u32 v{a}, v{b}, v3", "gfx942"))
    assert len(asked) == 1


def test_the_same_text_has_the_same_form() -> None:
    shapes = Shapes(64)
    forms = [shapes.form(meaning("v_add_u32 v1, v2, v3", "gfx942")) for _ in range(2)]
    assert forms[0] is forms[1]


@pytest.mark.parametrize(("line", "loops"), [
    ("s_add_u32 s1, s2, s3", 0), ("s_load_dwordx2 s[2:3], s[0:1], 0x8", 0),
    ("v_add_f32 v1, v2, v3", 1), ("ds_read_b64 v[2:3], v2", 2),
])  # fmt: skip
def test_c_goes_over_lanes_only_for_what_lanes_have(line: str, loops: int) -> None:
    form = traced(meaning(line, "gfx942").run, 64)
    assert form is not None
    assert form.body.count("LANES_LOOP") == loops

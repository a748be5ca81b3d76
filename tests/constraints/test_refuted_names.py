"""Kernels that were legal until they were run: the rules say what runs showed."""

from __future__ import annotations

import pytest

from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name

_PERMUTED = (
    "quant_rowcol_quant_fp8_rcr_basic_v1_cshuffle_interwave_False_True_True_64x32x32_4x2x1_16x16x32"
    "_preshufflequant_permuteN_out_fp32_{}kbpc2"
)
_INT4 = (
    "quant_aquant_i4_bf8_rcr_compv3_cshuffle_intrawave_False_False_False_{}x64x64_2x4x1_16x16x32"
    "_qg1x1x64_{}out_bf16_tc"
)
_PARTS = (
    "gemm_fp16_ccc_mem_default_intrawave_True_True_True_False_{}_16x16x16_streamk_linear_tc_kbpc2"
)


@pytest.mark.parametrize(("name", "arch", "ck", "codes"), [
    (_PERMUTED.format("tc_"), "gfx942", "2025.11", ["GEMM074"]),
    (_PERMUTED.format(""), "gfx942", "2025.11", []),
    (_INT4.format(96, "permuteN_"), "gfx950", "2025.11", ["GEMM074"]),
    (_INT4.format(64, ""), "gfx950", "2025.11", []),
    (_PARTS.format("64x96x16_2x2x1"), "gfx90a", "2025.11", ["GEMM075"]),
    (_PARTS.format("32x48x16_1x1x1"), "gfx90a", "2025.11", []),
    (_PARTS.format("64x96x16_2x2x1"), "gfx90a", "2026.06", []),
])  # fmt: skip
def test_codes(name: str, arch: str, ck: str, codes: list[str]) -> None:
    config = config_from_name(name, Books(ck), arch=arch)
    found = Books(ck).of(str(config.point["variant"])).violations({**config.point, "arch": arch})
    assert [v.code for v in found if v.rule.severity == "error"] == codes


def _found(fields: dict[str, object], variant: str = "standard") -> list[tuple[str, str]]:
    """Code and kind of what a GEMM of CK 2025.11 breaks."""
    rules = Books("2025.11").of(variant)
    full = {**rules.vocabulary.baseline, "variant": variant, **fields}
    return [(v.code, str(v.kind)) for v in rules.violations(rules.point(full))]


@pytest.mark.parametrize(("fields", "codes"), [
    ({"elementwise_op": "multiply"}, [("GEMM077", "profile")]),
    ({"elementwise_op": "relu"}, [("GEMM077", "profile")]),
    ({"elementwise_op": "gelu", "dtype_c": "fp8"}, [("GEMM077", "profile")]),
    ({"elementwise_op": "relu", "dtype_c": "fp8"},
     [("GEMM003", "compile"), ("GEMM077", "profile")]),
])  # fmt: skip
def test_operations_without_d_compile(fields: dict[str, object], codes: list[object]) -> None:
    """The compiler takes 14 of 15 such kernels; what is wrong with them is their name."""
    assert _found(fields) == codes


_ONE_WAVE = {
    "pipeline": "preshufflev2", "double_smem_buffer": True, "num_wave_groups": 2,
    "tile_m": 32, "tile_n": 32, "tile_k": 32, "wave_m": 1, "wave_n": 1,
}  # fmt: skip


def test_wave_groups_divide_nothing_with_shuffled_weights() -> None:
    """A kernel of one wave and two groups compiles and computes right; cshuffle asserts them."""
    for dtype in ("fp16", "fp16_i4"):
        fields = {**_ONE_WAVE, "dtype": dtype, "epilogue": "default"}
        assert _found(fields, "preshuffle") == []
    shuffled = _found({**_ONE_WAVE, "epilogue": "cshuffle"}, "preshuffle")
    assert ("WAVE002", "compile") in shuffled

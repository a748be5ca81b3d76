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

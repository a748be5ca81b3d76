"""Split KV whose waves lie along K (qr_nwarp_sshuffle), which lists of 2026 have for 16 rows."""

from __future__ import annotations

import pytest

from ckrules.constraints import book
from ckrules.constraints.fmha.examples import DECODE
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.kernels.names import format_name, parse_name

NAME = (
    "fmha_fwd_splitkv_d{}_fp16_batch_b16x{}_w16x16x16_w16x16x16_qr_nwarp_sshuffle_vr_pssk"
    "_nlogits_nbias_mask_lse_nsquant_npagedkv_nsink_{}"
)
#: The tiles of 16 rows of KernelComponentFactoryGfx11 and Gfx12 (ROCm/rocm-libraries @ 4e5c4b1).
LISTED = {
    "gfx11": [
        (32, "64x16x32x32x32_r1x2x1_r1x2x1"), (64, "64x32x64x32x64_r1x4x1_r1x4x1"),
        (128, "64x32x128x32x128_r1x4x1_r1x4x1"), (256, "64x32x256x32x256_r1x4x1_r1x4x1"),
    ],
    "gfx12": [
        (32, "64x16x32x32x32_r1x2x1_r1x2x1"), (64, "64x32x64x32x64_r1x4x1_r1x4x1"),
        (128, "128x32x128x32x128_r1x8x1_r1x8x1"), (256, "128x32x256x32x256_r1x8x1_r1x8x1"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("family", "arch"), [("gfx11", "gfx1151"), ("gfx12", "gfx1201")])
def test_what_lists_have_is_legal(family: str, arch: str) -> None:
    rules = book("fmha_fwd_splitkv", ck="2026.09")
    for hdim, tile in LISTED[family]:
        name = NAME.format(hdim, tile, family)
        parsed = parse_name(name)
        assert format_name(parsed.point, parsed.spelling) == name
        assert not rules.violations({**parsed.point, "arch": arch})


def test_waves_of_qr_do_not_lie_so() -> None:
    """The same tile of qr takes the maximum of a part of each row."""
    point = {**BASELINE, **DECODE}
    rules = book("fmha_fwd_splitkv", ck="2025.11")
    assert not rules.violations(point)
    found = {v.code for v in rules.violations({**point, "pipeline": "qr"})}
    assert {"FMHA009", "FMHA039"} <= found


def test_other_kernels_have_no_such_pipeline() -> None:
    found = book("fmha_fwd", ck="2025.11").space(arch="gfx942", pipeline="qr_nwarp_sshuffle")
    assert found.where("variant != 'fmha_fwd_splitkv'").count() == 0

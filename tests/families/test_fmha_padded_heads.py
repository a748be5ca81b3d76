"""Heads padded in vectors (qr_hpad), which lists of 2026 have for gfx11 and gfx12."""

from __future__ import annotations

import pytest

from ckrules.constraints import book
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.problem_fields import values
from ckrules.kernels import problem_books
from ckrules.kernels.names import format_name, parse_name

NAME = (
    "fmha_fwd_d{}_fp16_batch_b{}_qr_hpad_vr_psskddv"
    "_nlogits_nbias_mask_nlse_ndropout_nskip_nqscale_ntrload_nsink_{}"
)
_FOUR = "r4x1x1_r4x1x1_w16x16x16_w16x16x16"
_EIGHT = "r8x1x1_r8x1x1_w16x16x16_w16x16x16"
#: The tiles of KernelComponentFactoryGfx11 and Gfx12 (ROCm/rocm-libraries @ 014d097).
LISTED = [
    (32, f"64x64x16x32x32x32_{_FOUR}"),
    (64, f"64x64x32x64x32x64_{_FOUR}"),
    (64, f"128x64x32x64x32x64_{_EIGHT}"),
    (128, f"128x64x32x128x32x128_{_EIGHT}_o6"),
    (192, f"64x64x32x128x32x256_{_FOUR}"),
    (256, f"64x64x32x256x32x256_{_FOUR}"),
    (256, f"128x64x32x256x32x256_{_EIGHT}_o6"),
]


@pytest.mark.parametrize("ck", ["2026.06", "2026.09"])
@pytest.mark.parametrize(("family", "arch"), [("gfx11", "gfx1100"), ("gfx12", "gfx1201")])
def test_what_lists_have_is_legal(ck: str, family: str, arch: str) -> None:
    rules = book("fmha_fwd", ck=ck)
    for hdim, tile in LISTED:
        name = NAME.format(hdim, tile, family)
        parsed = parse_name(name)
        assert format_name(parsed.point, parsed.spelling) == name
        assert not rules.violations({**parsed.point, "arch": arch})


def test_november_2025_has_none() -> None:
    point = {**parse_name(NAME.format(*LISTED[0], "gfx12")).point, "arch": "gfx1201"}
    found = book("fmha_fwd", ck="2025.11").violations(point)
    assert "FMHA013" in {v.rule.code for v in found}
    assert not book("fmha_fwd", ck="2025.11").space(arch="gfx942", pipeline="qr_hpad").count()


def test_head_dimensions_are_vectors() -> None:
    """Single elements are loaded by qr with the same padding, which takes any head dimension."""
    point = {**parse_name(NAME.format(*LISTED[3], "gfx12")).point, "arch": "gfx1201"}
    rules = problem_books.book("fmha_fwd", ck="2026.09")
    for hdim, right in ((72, True), (80, True), (68, False)):
        text = f"batch=2,heads=4,seqlen_q=100,hdim={hdim},mask=causal"
        problem = values(parse(text))
        found = rules.violations({**point, **problem})
        assert [v.rule.code for v in found] == ([] if right else ["FPROB007"] * len(found))
        assert bool(found) is not right
        assert not rules.violations({**point, "pipeline": "qr", **problem})

"""Real attention kernels: compiled by clang against CK 2025.11, and run on the device `cpu`."""

from __future__ import annotations

import pytest

from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of
from tests.compiling.gemm_kernels import Kernel, Kernels

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

FORWARD = (
    "fmha_fwd_d64_fp16_batch_b128x64x32x64x32x64_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_vr_psskddv"
    "_nlogits_nbias_mask_lse_ndropout_nskip_nsquant_ntrload"
)
PRODUCT = "fmha_bwd_dot_do_o_d64_fp16_b64_group_o2_ps"
KERNELS = Kernels("fmha", ("mode",), preferred=[("gfx942", PRODUCT), ("gfx942", FORWARD)])
MOST = 4
"""Problems of the built-in set that each kernel computes."""


def test_the_kernels_cover_what_they_should() -> None:
    points = KERNELS.points
    assert KERNELS.broken() == []
    assert {p["arch"] for p in points} == {"gfx942", "gfx950", "gfx1201"}
    assert len({p["variant"] for p in points}) == 5
    assert {p.get("pipeline") for p in points} >= {"qr", "qr_async", "qr_async_trload"}


@pytest.mark.parametrize("kernel", KERNELS.params(KERNELS.names))
def test_it_computes_what_the_rules_let_through(kernel: Kernel) -> None:
    point = KERNELS.point(kernel)
    family = problems_of(point["variant"])
    rules = problem_books.book(point["variant"], ck="2025.11")
    right = [
        str(p) for p in family.smoke(point) if not rules.violations({**point, **family.values(p)})
    ]
    assert len(right) >= 3
    KERNELS.computes(kernel, tuple(right[:MOST]))

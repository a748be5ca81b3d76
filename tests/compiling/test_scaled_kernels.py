"""Real kernels with scales: compiled by clang against CK 2025.11, and run on the CPU."""

from __future__ import annotations

import pytest

from tests.compiling.gemm_kernels import Kernel, Kernels

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

FEW = (("gfx942", "scaled_flatmm_fp8_bf16_flatmm_default_row_column_32x64x128_1x2x1_16x16x64"),)
KERNELS = Kernels("scaled", FEW)
_PROBLEMS = (
    ("M=33,N=128,K=384", "M=32,N=64,K=256,k_batch=2"),
    ("M=1,N=64,K=256,experts=3,topk=2",),
    ("M=45,N=128,K=768", "M=1,N=64,K=256"),
    ("M=5,N=128,K=512,experts=3,topk=2",),
)
#: What is run: kernel and problems.
RUN = dict(zip(KERNELS.names, _PROBLEMS, strict=True))


def test_the_kernels_cover_what_they_should() -> None:
    assert KERNELS.broken() == []
    assert {p["variant"] for p in KERNELS.points} == {"flatmm", "moe_flatmm", "mx_flatmm"}
    assert "bf16_fp4" in {p["dtype"] for p in KERNELS.points}


@pytest.mark.parametrize("kernel", KERNELS.params(KERNELS.names))
def test_it_compiles_and_has_the_predicted_lds(kernel: Kernel) -> None:
    KERNELS.compiled(kernel)


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_it_computes_right(kernel: Kernel) -> None:
    KERNELS.computes(kernel, RUN[kernel])


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_support_is_as_the_rules_say(kernel: Kernel) -> None:
    """A kernel for experts took tokens that meet more of them than there are."""
    m, n, k = (KERNELS.point(kernel)[f"tile_{x}"] for x in "mnk")
    text = f"M={m},N={2 * n},K={2 * k}"
    apart = (
        f"stride_a={3 * k}",
        f"stride_a={k}",
        f"stride_b={3 * k}",
        "stride_c=8",
        f"stride_c={4 * n}",
    )
    if KERNELS.point(kernel)["variant"] == "moe_flatmm":
        routed = [f"{text},{more},experts=3,topk=2" for more in apart]
        routed += [f"{text},experts=1,topk=1", f"{text},experts=1,topk=6"]
        KERNELS.refuses(kernel, tuple(routed), ",experts=3,topk=2")
    else:
        KERNELS.refuses(kernel, tuple(f"{text},{more}" for more in apart))

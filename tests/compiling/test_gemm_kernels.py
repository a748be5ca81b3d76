"""Real GEMM kernels: compiled by clang against CK 2025.11, and some of them run on the CPU."""

from __future__ import annotations

import pytest

from tests.compiling.gemm_kernels import Kernel, Kernels

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

_16 = "False_False_False_False_32x32x32_1x2x1_16x16x16"
#: What is run: GPU, kernel and problems, in several orders of waves and blocks.
RUN: dict[tuple[str, str], tuple[str, ...]] = {
    (
        "gfx942",
        "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x32_2x2x1_16x16x16",
    ): (
        "M=65,N=64,K=96",
        "M=64,N=64,K=128,k_batch=2",
    ),
    (
        "gfx942",
        "gemm_bf16_rrr_mem_default_interwave_False_False_True_False_32x64x64_1x2x1_32x32x8",
    ): ("M=33,N=64,K=72",),
    (
        "gfx942",
        "gemm_int8_rcr_compv3_default_intrawave_False_False_False_False_32x32x64_1x2x1_16x16x32",
    ): ("M=32,N=64,K=192",),
    (
        "gfx942",
        (
            "gemm_fp16_ccrr_compv4_default_intrawave_False_False_False_True_64x64x32_2x2x1_32x32x8"
            "_multid_MultiDAdd_d2"
        ),
    ): ("M=128,N=128,K=128",),
    (
        "gfx942",
        "gemm_fp16_rcr_compv4_default_intrawave_False_False_True_False_64x64x32_2x2x1_16x16x16",
    ): (
        "M=64,N=64,K=96",
        "M=64,N=64,K=160",
    ),
    (
        "gfx942",
        (
            "gemm_fp8_rcr_preshufflev2_default_default_False_False_False_False_64x64x64_1x4x1"
            "_16x16x32_preshuffle"
        ),
    ): (
        "M=64,N=64,K=256",
        "M=1,N=128,K=320",
    ),
    ("gfx942", "gemm_fp16_rcr_compv3_default_intrawave_" + _16 + "_batched"): (
        "M=40,N=32,K=64,batch=3",
    ),
    (
        "gfx942",
        (
            "gemm_fp16_rrr_mem_default_intrawave_False_False_False_False_32x32x64_1x2x1_16x16x16"
            "_grouped"
        ),
    ): ("M=32+5+40,N=32+64+32,K=128",),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_compv3_default_intrawave_False_False_False_True_32x32x32_1x1x1_16x16x16"
            "_grouped"
        ),
    ): ("M=64+5+33,N=64+128+64,K=96",),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_32x64x32_1x2x1_16x16x16"
            "_streamk"
        ),
    ): (
        "M=64,N=128,K=160",
        "M=32,N=64,K=224",
    ),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_mem_default_intrawave_False_False_False_False_32x16x64_1x1x1_16x16x16"
            "_streamk_linear"
        ),
    ): (
        "M=64,N=64,K=320",
        "M=224,N=32,K=128",
    ),
    (
        "gfx942",
        (
            "gemm_fp16_i4_rcr_compv3_default_intrawave_False_False_False_False_64x64x64_2x2x1"
            "_32x32x16"
        ),
    ): ("M=65,N=64,K=192",),
    ("gfx1201", "gemm_fp16_rcr_compv3_default_intrawave_" + _16 + "_batched"): (
        "M=32,N=32,K=96,batch=2",
    ),
    ("gfx90a", "gemm_fp16_ccr_compv3_default_intrawave_" + _16): ("M=32,N=32,K=64",),
}
_64 = "False_False_False_False_64x64x32_2x2x1_16x16x16"
#: MFMA with split-K, stream-K, and WMMA. Test_library has another of basic_v1, test_scaled_kernels
#: pre-shuffled weights.
FEW = (
    ("gfx942", "gemm_fp16_rcr_compv3_cshuffle_intrawave_" + _64),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_32x64x32_1x2x1_16x16x16"
            "_streamk"
        ),
    ),
    ("gfx1201", "gemm_fp16_rcr_compv3_default_intrawave_" + _16 + "_batched"),
)
KERNELS = Kernels("gemm", FEW)


def test_the_kernels_cover_what_they_should() -> None:
    points = KERNELS.points
    assert len(points) >= 40
    assert KERNELS.broken() == []
    seen = {k: {p[k] for p in points} for k in ("variant", "arch", "dtype", "layout", "pipeline")}
    assert len(seen["variant"]) == 6
    assert seen["arch"] == {"gfx90a", "gfx942", "gfx950", "gfx1201"}
    assert len(seen["dtype"]) >= 7
    assert len(seen["layout"]) >= 7
    assert len(seen["pipeline"]) == 7
    assert set(RUN) <= set(KERNELS.names)
    assert len(RUN) >= 12


@pytest.mark.parametrize("kernel", KERNELS.params(KERNELS.names))
def test_it_compiles_and_has_the_predicted_lds(kernel: Kernel) -> None:
    KERNELS.compiled(kernel)


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_it_computes_right(kernel: Kernel) -> None:
    KERNELS.computes(kernel, RUN[kernel])


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_support_is_as_the_rules_say(kernel: Kernel) -> None:
    """What IsSupportedArgument refuses is what rules of kind launch refuse."""
    KERNELS.refuses(kernel)

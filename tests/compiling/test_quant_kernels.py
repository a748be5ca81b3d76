"""Real quantised kernels: compiled by clang against CK 2025.11, and run on the CPU."""

from __future__ import annotations

import pytest

from ckrules.arch import load
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from tests.compiling.gemm_kernels import Kernel, Kernels
from tests.device.lds_accesses import held

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

FEW = (
    (
        "gfx942",
        (
            "quant_bquant_fp8_rcr_compv3_default_intrawave_False_True_True_32x32x128_2x2x1_16x16x32"
            "_qg1x16x128_out_bf16_scale_fp8"
        ),
    ),
)
KERNELS = Kernels("quant", FEW)
_PROBLEMS = (
    ("M=33,N=32,K=256", "M=1,N=64,K=368"),
    ("M=17,N=32,K=384", "M=16,N=16,K=256"),
    ("M=33,N=40,K=640", "M=1,N=32,K=112"),
    ("M=40,N=32,K=512,stride_a=520,stride_c=40", "M=32,N=64,K=128"),
    ("M=48,N=40,K=72", "M=16,N=32,K=200"),
    ("M=1,N=64,K=320", "M=65,N=32,K=64"),
    ("M=33,N=32,K=384", "M=16,N=64,K=128"),
)
#: What is run: kernel and problems.
RUN = dict(zip(KERNELS.names, _PROBLEMS, strict=True))


def test_the_kernels_cover_what_they_should() -> None:
    assert KERNELS.broken() == []
    assert len({p["variant"] for p in KERNELS.points}) == 4
    assert {p["pipeline"] for p in KERNELS.points} == {"compv3", "mem", "preshufflev2"}
    assert "fp8_i4" in {p["dtype"] for p in KERNELS.points}


@pytest.mark.parametrize("kernel", KERNELS.params(KERNELS.names))
def test_it_compiles_and_has_the_predicted_lds(kernel: Kernel) -> None:
    KERNELS.compiled(kernel)


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_it_computes_right(kernel: Kernel) -> None:
    KERNELS.computes(kernel, RUN[kernel])


def _configuration(kernel: Kernel) -> Config:
    return Config(KERNELS.point(kernel))


def _not_modelled(kernel: Kernel) -> str:
    """What of a kernel has no map of LDS; empty: it has one."""
    point = _configuration(kernel).point
    if point["pipeline"] == "preshufflev2":
        return "pipeline preshufflev2"
    return "int4 operands" if point["dtype"] == "fp8_i4" else ""


MAPPED = [k for k in RUN if not _not_modelled(k)]


@pytest.mark.parametrize("kernel", KERNELS.params(MAPPED))
def test_accesses_to_lds_are_those_of_the_model(kernel: Kernel) -> None:
    built = KERNELS.build(kernel)
    held(built.config, built.folder, RUN[kernel][1])


@pytest.mark.parametrize("kernel", [k for k in RUN if k not in MAPPED])
def test_other_ways_through_lds_are_said_not_to_be_modelled(kernel: Kernel) -> None:
    config = _configuration(kernel)
    words = Books("2025.11").of(config.variant).vocabulary
    said = config.family.lds_map(config.point, words, load("gfx942"))
    assert said == f"the way of {_not_modelled(kernel)} through LDS is not modelled"


@pytest.mark.parametrize("kernel", KERNELS.params(RUN))
def test_support_is_as_the_rules_say(kernel: Kernel) -> None:
    """What IsSupportedArgument and the host library refuse is what rules of kind launch refuse."""
    k = KERNELS.point(kernel)["tile_k"]
    KERNELS.refuses(
        kernel, (f"M=32,N=32,K={2 * k},stride_a={k}", f"M=32,N=32,K={2 * k},stride_b={3 * k}")
    )

"""PIPE: which pipelines the kernels of a direction take, beside what pipelines ask of every GEMM."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.arch import of_release
from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import BoolExpr, all_of, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_DIR = "ops/gemm/pipeline"
_KERNELS = (
    "ops/grouped_convolution/kernel/"
    "grouped_convolution_{forward,backward_data,backward_weight}_kernel.hpp"
)
_ALL = ("forward", "bwd_data", "bwd_weight")

#: Directions whose kernels compile with a pipeline at all, by CK version.
_USABLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "2025.11": {
        "basic_v1": _ALL, "mem": _ALL, "compv3": _ALL, "compv4": ("forward", "bwd_weight"),
        "compv5": _ALL,
    },
    "2026.06": {
        "basic_v1": _ALL, "mem": _ALL, "compv3": _ALL, "compv4": _ALL, "compv5": _ALL,
        "compv6": _ALL, "comp_async": _ALL, "wavelet": _ALL, "basic_async_v1": _ALL,
    },
}  # fmt: skip
USABLE = {
    ck: Table.relation(
        "usable_pipelines",
        ("pipeline", "variant"),
        [(p, v) for p, variants in rows.items() for v in variants],
        source=f"{_DIR}/gemm_pipeline_ag*.hpp (CK {ck})",
    )
    for ck, rows in _USABLE.items()
}


@rule(
    "PIPE001", "pipeline-not-for-this-direction", kind="compile",
    says="{variant} has no kernel with {pipeline}, {table usable_pipelines}",
    source=[f"{_DIR}/gemm_pipeline_ag*.hpp: operator() overloads for the windows of the conv kernels",
            f"{_KERNELS}: RunGemm",
            f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_async_v1.hpp: is_a_col_major, is_b_row_major (CK 2026.06, read in ROCm/rocm-libraries @ 498ed36)"],
    issue="ROCm/rocm-libraries#5904",
    accepts=[{}, {"@ck": "2026.06", "arch": "gfx950", "variant": "bwd_weight",
                  "pipeline": "basic_async_v1"}],
    rejects=[{"pipeline": "basic_v2"}],
)  # fmt: skip
def pipeline_is_usable(c: ConvQuantities) -> BoolExpr:
    """The direction's kernel compiles with the pipeline.

    Why: the kernel calls the pipeline with the windows and buffers of its direction, and not
    every pipeline has such an overload.

    Fix: use mem or compv3, which every direction has.
    """
    return rel(of_release(USABLE, c.ck), c.pipeline, c.variant)


@rule(
    "PIPE005", "async-pipeline-off-gfx950", kind="hardware",
    applies=lambda c: c.pipeline.isin("comp_async", "basic_async_v1"),
    says="{pipeline} does not run on {arch}, {table async_pipelines}",
    source=[f"{_KERNELS}: the body is empty for Async pipelines off gfx950 (CK 2026.06)",
            f"{_KERNELS}: IsSupportedArgument, Async asks for device gfx950 (CK 2026.06)"],
    accepts=[{"arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True}],
    rejects=[{"pipeline": "comp_async", "double_smem_buffer": True}],
)  # fmt: skip
def async_needs_wide_direct_loads(c: ConvQuantities) -> BoolExpr:
    """Asynchronous pipelines run on GPUs with wide loads from global memory to LDS.

    Why: elsewhere the kernel's body is empty and its argument check refuses every problem.

    Fix: use compv4 or basic_v1.
    """
    return c.has("async_pipelines")


def _two_halves(c: ConvQuantities) -> BoolExpr:
    """The waves that PIPE008 asks of compv5, in the direction that PIPE014 leaves."""
    waves = all_of(c.wave_m == 1, c.wave_n == 1, c.wave_k == 2, c.num_wave_groups == 2)
    return waves & c.forward


@rule(
    "PIPE018", "compv5-in-convolution", kind="wrong-result", applies=_two_halves,
    says="{variant} stores the tiles of both waves of {pipeline} to the same places",
    source=[f"{_KERNELS}: RunGemm runs the epilogue in every wave (CK 2025.11: run; CK 2026.06: read, not run)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: RunGemm<UseDefaultScheduler> runs it in wave 0 alone"],
    accepts=[{"wave_m": 1, "wave_n": 1, "wave_k": 2, "num_wave_groups": 2, "epilogue": "default"}],
    rejects=[{"pipeline": "compv5", "wave_m": 1, "wave_n": 1, "wave_k": 2, "num_wave_groups": 2,
              "epilogue": "default"}],
)  # fmt: skip
def compv5_is_for_gemm(c: ConvQuantities) -> BoolExpr:
    """Convolutions do not use compv5.

    Why: wave 0 has the result and wave 1 a tile of zeros. Kernels of plain GEMMs store in wave 0
    only; those of convolutions store in both, so that it depends on the order of the two waves
    whether an element is right or zero. (PIPE008 and PIPE014 say what else compv5 asks.)

    Fix: use mem or compv3, with one wave along K.
    """
    return c.pipeline != "compv5"


@rule(
    "PIPE012", "double-buffer-in-backward-data", kind="compile", until="2026.06",
    applies=lambda c: (c.variant == "bwd_data") & (c.pipeline != "basic_v1"),
    says="{variant} with {pipeline} needs double_smem_buffer = false",
    source="grouped_convolution_backward_data_kernel.hpp: RunGemm2LDS calls get_length, which does not exist",
    accepts=[{"variant": "bwd_data"}],
    rejects=[{"variant": "bwd_data", "double_smem_buffer": True}],
)  # fmt: skip
def backward_data_has_one_buffer(c: ConvQuantities) -> BoolExpr:
    """Backward data has double_smem_buffer off.

    Why: the path with two LDS buffers of this kernel does not compile. basic_v1 ignores the
    flag. Since 2026.06 there is one path, to which pipelines say how much LDS they ask for.

    Fix: set double_smem_buffer to false.
    """
    return ~c.double_smem_buffer

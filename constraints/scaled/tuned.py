"""aiter's tuned tables: what their columns mean.

Facts: csrc/flydsl_conv3d/conv3d_tune.py (sizes, TFLOPS and bandwidths of convolutions, ROCm/aiter @
06f8f36e) and ROCm/aiter of August 2026, aiter/utility/base_tuner.py (columns, errRatio 0.05 of ``ARG_DEFAULTS``;
``update_config_files`` merges tables of several models, keeps the row with the smallest time of
each problem), aiter/configs and its model_configs (times, TFLOPS and bandwidths of the rows).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ckrules.constraints.scaled.libraries import OTHERS
from ckrules.constraints.scaled.words import GROUP, WEIGHTS_OF
from ckrules.engine.expr import Value
from ckrules.kernels.reader_tables import TunedTable

#: Words of torch for types.
_TORCH: Mapping[str, str] = {
    "torch.float8_e4m3fnuz": "fp8", "torch.float8_e4m3fn": "fp8", "torch.int8": "int8",
    "torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float4_e2m1fn_x2": "fp4",
    "torch.int4": "i4",
}  # fmt: skip


def operations(sizes: Mapping[str, int]) -> int:
    """Multiplications and additions of a row's problem, 0 where its columns do not say it.

    Of a mixture of experts both GEMMs count, of which the first has a gate and an up half.

    >>> operations({"M": 8, "N": 2048, "K": 3072}), operations({"token": 4})
    (100663296, 0)
    """
    if outputs := _outputs(sizes):
        return 2 * outputs * _weights(sizes) // sizes["K"]
    if all(name in sizes for name in ("M", "N", "K")):
        return 2 * sizes.get("B", 1) * sizes["M"] * sizes["N"] * sizes["K"]
    experts = ("token", "topk", "model_dim", "inter_dim")
    if all(name in sizes for name in experts) and sizes.get("use_g1u1") == 1:
        product = 1
        for name in experts:
            product *= sizes[name]
        return 6 * product
    return 0


def traffic(sizes: Mapping[str, int], bits: int) -> int:
    """Bytes of A and B, of elements with so many bits, and of C with 16, each counted once.

    0 for mixtures of experts, which read the weights of some experts only. A convolution's A is its
    input, B its weights.

    >>> traffic({"M": 8, "N": 2048, "K": 3072}, 8)
    6348800
    """
    if outputs := _outputs(sizes):
        read = _weights(sizes) + math.prod(sizes[name] for name in ("N", "C", "D", "H", "W"))
        return read * bits // 8 + 2 * outputs
    if not all(name in sizes for name in ("M", "N", "K")):
        return 0
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    return sizes.get("B", 1) * ((m * k + n * k) * bits // 8 + 2 * m * n)


#: Of each direction the columns of the input's size, of the filter's, and the tail of the others.
_DIRECTIONS = (("D", "kT", "d"), ("H", "kH", "h"), ("W", "kW", "w"))
_CONVOLUTION = (
    "N", "C", "K", "groups",
    *(f"{what}_{tail}" for what in ("stride", "pad", "dil") for *_, tail in _DIRECTIONS),
    *(name for *names, _ in _DIRECTIONS for name in names),
)  # fmt: skip


def _outputs(sizes: Mapping[str, int]) -> int:
    """The elements that a convolution computes, 0 where the columns are those of something else."""
    if not all(name in sizes for name in _CONVOLUTION):
        return 0
    outputs = sizes["N"] * sizes["K"]
    for name, filtered, tail in _DIRECTIONS:
        reach = sizes[f"dil_{tail}"] * (sizes[filtered] - 1) + 1
        room = sizes[name] + 2 * sizes[f"pad_{tail}"] - reach
        outputs *= max(0, room // max(1, sizes[f"stride_{tail}"]) + 1)
    return outputs


def _weights(sizes: Mapping[str, int]) -> int:
    inputs = sizes["C"] // max(1, sizes["groups"])
    return sizes["K"] * inputs * sizes["kT"] * sizes["kH"] * sizes["kW"]


def form(point: Mapping[str, Value], table: str) -> Mapping[str, Value]:
    """What a table's name says of a kernel with block scales: whether weights are pre-shuffled.

    Tables of pre-shuffled weights name the kernels of the others, since each is compiled in both
    forms.

    Source: csrc/ck_gemm_a8w8_blockscale/include/gemm_a8w8_blockscale_cktile_common.cuh
    ``TileGemmComputeImpl`` (PreshuffleB; ROCm/aiter @ 0cf6df2).

    >>> kernel = {"variant": "abquant", "pipeline": "abquant"}
    >>> form(kernel, "a8w8_blockscale_bpreshuffle_tuned_gemm.csv")
    {'pipeline': 'abquant_preshuffle', 'double_smem_buffer': True}
    """
    pipeline = WEIGHTS_OF.get(str(point.get("pipeline")))
    if pipeline is None or "blockscale_bpreshuffle" not in table:
        return {}
    return {"pipeline": pipeline, "double_smem_buffer": True}


def launched(point: Mapping[str, Value], sizes: Mapping[str, int]) -> Mapping[str, Value]:
    """The pads of a kernel with block scales: host code sets them by the groups of N and of K.

    Those of flatmm stand in its name.

    Source: csrc/ck_gemm_a8w8_blockscale/include/gemm_a8w8_blockscale_cktile_common.cuh
    ``TileGemmCompute`` (ROCm/aiter of August 2026).

    >>> launched({"variant": "abquant"}, {"M": 8, "N": 2240, "K": 7168})
    {'pad_n': True, 'pad_k': False}
    """
    if point["variant"] != "abquant" or not {"N", "K"} <= sizes.keys():
        return {}
    return {"pad_n": sizes["N"] % GROUP != 0, "pad_k": sizes["K"] % GROUP != 0}


#: By the largest M of each, the step that the finer look-up rounds M up to; beyond the last 128.
_STEPS = ((256, 16), (1024, 32), (4096, 64))


def looked_up(sizes: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """The sizes whose row serves a problem: its own, then M rounded up finely, then coarsely.

    Source: csrc/py_itfs_cu/gemm_common.cu ``getPaddedM`` (ROCm/aiter of August 2026), which the
    look-ups of a8w8, a4w4 and bf16 GEMMs call with levels 0 and 1.

    >>> list(looked_up({"M": 300, "N": 512, "K": 64}))
    [(300, 512, 64), (320, 512, 64), (512, 512, 64)]
    """
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    step = next((step for most, step in _STEPS if m <= most), 128)
    coarse = 8192 if m > 8192 and n > 4096 else 1 << max(0, m - 1).bit_length()
    for padded in dict.fromkeys((m, -(-m // step) * step, coarse)):
        yield padded, n, k


TUNED = TunedTable(
    columns=("kernelName", "kernelName1", "kernelName2"), gpu="gfx", mark="cktile",
    library="libtype", others=OTHERS, units="cu_num",
    sizes=(
        "B", "M", "N", "K", "token", "topk", "model_dim", "inter_dim", "use_g1u1", *_CONVOLUTION
    ),
    product=("M", "N", "K"),
    results=(
        "libtype", "kernelId", "solidx", "block_m", "ksplit", "us1", "us2", "run_1stage",
        "tile_m", "tile_n", "tile_k", "wave_m", "wave_n", "wgm",
    ),
    split="splitK", time="us", tflops="tflops", bandwidth="bw",
    errors=("errRatio", "err_ratio", "err1", "err2"), most_wrong=0.05,
    operations=operations, traffic=traffic,
    operands=("q_dtype_a", "q_dtype_w", "dtype"), types=_TORCH,
    type_marks={
        "a8w8": "fp8", "a4w4": "fp4", "conv3d_bf16": "bf16", "bf16_tuned_conv3d": "bf16",
    },
    mixed={("fp8", "fp4"): "fp8_fp4", ("bf16", "fp4"): "bf16_fp4", ("fp16", "fp4"): "fp16_fp4"},
    formats={
        "torch.float8_e4m3fnuz": ("gfx942",),
        "torch.float8_e4m3fn": ("gfx950", "gfx1200", "gfx1201", "gfx1250"),
    },
    form=form,
    launched=launched,
    looked_up=looked_up,
    tried={"scaled": "aiter", "quant": "aiter_a8w8"},
    merged=r"(tuned_fmoe|(?:a\d+w\d+|bf16)(?:_[a-z0-9]+)*?_tuned_(?:gemm|bmm|conv3d))",
)  # fmt: skip

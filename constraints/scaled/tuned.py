"""aiter's tuned tables: what their columns mean.

Facts: ROCm/aiter of August 2026, aiter/utility/base_tuner.py (columns, errRatio 0.05 of ``ARG_DEFAULTS``;
``update_config_files`` merges tables of several models, keeps the row with the smallest time of
each problem), aiter/configs and its model_configs (times, TFLOPS and bandwidths of the rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckrules.constraints.scaled.libraries import OTHERS
from ckrules.constraints.scaled.words import GROUP
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

    0 for mixtures of experts, which read the weights of some experts only.

    >>> traffic({"M": 8, "N": 2048, "K": 3072}, 8)
    6348800
    """
    if not all(name in sizes for name in ("M", "N", "K")):
        return 0
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    return sizes.get("B", 1) * ((m * k + n * k) * bits // 8 + 2 * m * n)


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
    sizes=("B", "M", "N", "K", "token", "topk", "model_dim", "inter_dim", "use_g1u1"),
    product=("M", "N", "K"),
    shape=(
        "gfx", "cu_num", "B", "M", "N", "K", "bias", "outdtype", "scaleAB", "bpreshuffle",
        "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype", "q_dtype_a",
        "q_dtype_w", "q_type", "use_g1u1", "doweight_stage1", "xbf16", "flat", "_tag",
    ),
    split="splitK", time="us", tflops="tflops", bandwidth="bw",
    errors=("errRatio", "err_ratio", "err1", "err2"), most_wrong=0.05,
    operations=operations, traffic=traffic,
    operands=("q_dtype_a", "q_dtype_w", "dtype"), types=_TORCH,
    type_marks={"a8w8": "fp8", "a4w4": "fp4"},
    mixed={("fp8", "fp4"): "fp8_fp4", ("bf16", "fp4"): "bf16_fp4", ("fp16", "fp4"): "fp16_fp4"},
    formats={
        "torch.float8_e4m3fnuz": ("gfx942",),
        "torch.float8_e4m3fn": ("gfx950", "gfx1200", "gfx1201", "gfx1250"),
    },
    launched=launched,
    looked_up=looked_up,
    tried="aiter",
    merged=r"(tuned_fmoe|(?:a\d+w\d+|bf16)(?:_[a-z0-9]+)*?_tuned_(?:gemm|bmm))",
)  # fmt: skip

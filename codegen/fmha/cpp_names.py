"""The C++ words of attention kernels.

Facts: include/ck_tile/ops/fmha of CK 2025.11, and how its example 01_fmha names their arguments
(``FmhaFwdTypeConfig`` of fmha_fwd.hpp, ``FmhaMasks`` of mask.hpp, codegen/cpp_symbol_map.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AttentionTypes(NamedTuple):
    """The types of an attention kernel that differ; scores, sums and their logarithms are float."""

    operand: str
    """Of Q, K, V and P."""
    bias: str
    result: str


_HALF, _BF16, _FP8 = "ck_tile::half_t", "ck_tile::bf16_t", "ck_tile::fp8_t"

TYPES: Mapping[str, AttentionTypes] = {
    "fp32": AttentionTypes("float", "float", "float"),
    "fp16": AttentionTypes(_HALF, _HALF, _HALF),
    "bf16": AttentionTypes(_BF16, _BF16, _BF16),
    "fp8": AttentionTypes(_FP8, "float", _FP8),
    "fp8fp16": AttentionTypes(_FP8, "float", _HALF),
    "fp8bf16": AttentionTypes(_FP8, "float", _BF16),
    "fp8fp32": AttentionTypes(_FP8, "float", "float"),
}

MASKS: Mapping[str, str] = {
    "no": "SimplifiedGenericAttentionMask<false>",
    "mask": "SimplifiedGenericAttentionMask<true>",
    "causal": "GenericAttentionMask<true, false>",
    "generic": "GenericAttentionMask<true, true>",
}
BIASES: Mapping[str, str] = {"no": "NO_BIAS", "bias": "ELEMENTWISE_BIAS", "alibi": "ALIBI"}
MODES: Mapping[str, bool] = {"batch": False, "group": True}
ROW_MAJOR: Mapping[str, bool] = {"row": True, "col": False}

KERNELS: Mapping[str, str] = {
    "fmha_fwd": "FmhaFwdKernel",
    "fmha_fwd_splitkv": "FmhaFwdSplitKVKernel",
    "fmha_fwd_pagedkv": "FmhaFwdPagedKVKernel",
    "fmha_batch_prefill": "FmhaBatchPrefillWithPagedKVCacheKernel",
}
PIPELINES: Mapping[str, Mapping[str, str]] = {
    "fmha_fwd": {
        "qr": "BlockFmhaPipelineQRKSVS",
        "qr_async": "BlockFmhaPipelineQRKSVSAsync",
        "qr_async_trload": "BlockFmhaPipelineQRKSVSAsyncTrload",
        "qs": "BlockFmhaPipelineQSKSVS",
    },
    "fmha_fwd_splitkv": {
        "qr": "BlockFmhaFwdSplitKVPipelineQRKSVS",
        "qr_nwarp_sshuffle": "BlockFmhaFwdSplitKVPipelineNWarpSShuffleQRKSVS",
    },
    "fmha_fwd_pagedkv": {"qr_pagedkv": "BlockFmhaFwdPagedKVPipelineQRKSVS"},
    "fmha_batch_prefill": {"qr_async": "BlockFmhaBatchPrefillPipelineQRKSVSAsync"},
}

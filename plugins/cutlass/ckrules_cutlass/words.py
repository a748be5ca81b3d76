"""The words of fields: types, layouts and schedules, with what CUTLASS calls them."""

from __future__ import annotations

from collections.abc import Mapping

TYPES: Mapping[str, tuple[str, int, str]] = {
    "fp32": ("f32", 4, "float"),
    "fp16": ("f16", 2, "cutlass::half_t"),
    "bf16": ("bf16", 2, "cutlass::bfloat16_t"),
    "fp8": ("e4m3", 1, "cutlass::float_e4m3_t"),
    "bf8": ("e5m2", 1, "cutlass::float_e5m2_t"),
    "int8": ("s8", 1, "int8_t"),
    "int32": ("s32", 4, "int32_t"),
}
"""By type of an element: the word of names, its bytes and its C++ type."""

OPERANDS: Mapping[str, tuple[str, str]] = {
    "fp16": ("gemm_f16_f16", "fp16"),
    "bf16": ("gemm_bf16_bf16", "bf16"),
    "tf32": ("tf32gemm_f32_f32", "fp32"),
    "fp8": ("gemm_e4m3_e4m3", "fp8"),
    "bf8": ("gemm_e5m2_e5m2", "bf8"),
    "int8": ("gemm_s8_s8", "int8"),
}
"""By dtype: the word of names, and the type that A and B have in memory."""

NONE = "none"
"""The type of a C that is not read."""

LAYOUTS = ("tnn", "tnt", "nnn", "nnt", "ntn", "ntt", "ttn", "ttt")
"""Letters of A, B and C with D: t is row-major, n is column-major."""

SCHEDULES: Mapping[str, tuple[str, str]] = {
    "warpspecialized": ("_warpspecialized", "KernelTmaWarpSpecialized"),
    "pingpong": ("_warpspecialized_pingpong", "KernelTmaWarpSpecializedPingpong"),
    "cooperative": ("_warpspecialized_cooperative", "KernelTmaWarpSpecializedCooperative"),
}
"""By mainloop schedule: the suffix of names and CUTLASS's tag."""

AUTO = "auto"
"""The schedule that the collective builder chooses."""

EPILOGUES: Mapping[str, str] = {"nosmem": "_epi_nosmem", "tma": "_epi_tma"}
"""By epilogue: the suffix of names."""

SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "dtype": {
        "f16": "fp16", "half": "fp16", "float16": "fp16", "bfloat16": "bf16", "e4m3": "fp8",
        "e5m2": "bf8", "s8": "int8", "i8": "int8",
    },
    "schedule": {
        "ws": "warpspecialized", "tmawarpspecialized": "warpspecialized",
        "warpspecializedpingpong": "pingpong", "warpspecializedcooperative": "cooperative",
    },
    "tile_scheduler": {"streamk": "stream_k"},
}  # fmt: skip
"""What people write for values."""

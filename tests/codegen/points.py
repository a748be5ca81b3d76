"""Configurations that the generator's golden files show."""

from __future__ import annotations

from typing import Any

from ckrules.constraints import book

FORWARD: dict[str, Any] = dict(book("forward").vocabulary.baseline)
DEPTHWISE: dict[str, Any] = dict(book("forward_depthwise").vocabulary.baseline)

#: By CK release and a short label: one point for each thing that templates decide.
GOLDEN: dict[str, dict[str, dict[str, Any]]] = {
    "2025.11": {
        "forward": FORWARD,
        "bwd_data_3d": {
            **FORWARD,
            "variant": "bwd_data",
            "ndim": 3,
            "layout": "ndhwgc",
            "pipeline": "mem",
            "vector_a": 8,
            "vector_b": 8,
            "vector_c": 8,
            "tile_k": 64,
        },
        "bwd_weight_two_stage": {
            **FORWARD,
            "variant": "bwd_weight",
            "two_stage": True,
            "tile_m": 64,
            "tile_n": 64,
            "tile_k": 32,
            "warp_tile_k": 8,
            "vector_c": 4,
        },
        "forward_split_image_1d": {
            **FORWARD,
            "ndim": 1,
            "layout": "nwgc",
            "split_image": True,
            "dtype": "bf16",
        },
    },
    "2026.06": {
        "forward_wavelet": {**FORWARD, "pipeline": "wavelet", "arch": "gfx950"},
        "bwd_weight_streamk": {
            **FORWARD,
            "variant": "bwd_weight",
            "streamk": "tree",
            "streamk_persistent": True,
        },
        "forward_explicit_gemm": {
            **FORWARD,
            "explicit_gemm": True,
            "specialization": "filter1x1_stride1_pad0",
        },
        "bwd_weight_two_stage": {**FORWARD, "variant": "bwd_weight", "two_stage": True},
        "forward_depthwise": DEPTHWISE,
    },
}

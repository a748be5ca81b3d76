"""Examples of inherited rules that only a convolution's direction or features can give."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.engine.rules import Examples

EXAMPLES: Mapping[str, Examples] = {
    "WARP003": Examples(
        accepts=[{"arch": "gfx950", "variant": "bwd_weight"}],
        rejects=[
            {"arch": "gfx950", "variant": "bwd_weight", "warp_tile_m": 4, "warp_tile_n": 64},
        ],
    ),
    "PIPE013": Examples(
        rejects=[
            {"pipeline": "basic_v1", "variant": "bwd_weight"},
            {"pipeline": "basic_v1", "variant": "bwd_data", "scheduler": "interwave"},
        ],
    ),
    "WAVE004": Examples(
        rejects=[
            {"variant": "bwd_data", "num_wave_groups": 4, "tile_n": 32, "tile_k": 16,
             "vector_a": 2, "vector_b": 1, "warp_tile_n": 16, "warp_tile_m": 16},
        ],
    ),
    "PIPE014": Examples(rejects=[{"pipeline": "compv5", "variant": "bwd_weight"}]),
    "PIPE019": Examples(
        rejects=[
            *(
                {"pipeline": "comp_async", "double_smem_buffer": True, "variant": variant}
                for variant in ("bwd_data", "bwd_weight")
            ),
            {"@ck": "2026.06", "arch": "gfx950", "pipeline": "basic_async_v1",
             "variant": "bwd_weight", "dtype": "fp32", "tile_k": 32, "warp_tile_m": 16,
             "warp_tile_n": 16, "vector_a": 4, "vector_b": 4},
        ],
    ),
    "PIPE010": Examples(
        accepts=[{"arch": "gfx950", "pipeline": "basic_async_v1", "variant": "bwd_weight"}],
        rejects=[
            {"arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True,
             "variant": "bwd_weight", "vector_a": 4},
        ],
    ),
    "VEC001": Examples(rejects=[{"tile_n": 96, "variant": "bwd_weight", "vector_b": 64}]),
    "VEC003": Examples(rejects=[{"variant": "bwd_weight", "tile_m": 192}]),
    "VEC005": Examples(rejects=[{"variant": "bwd_weight", "tile_m": 96, "vector_a": 1}]),
    "VEC006": Examples(
        accepts=[{"variant": "bwd_weight", "vector_a": 8, "vector_b": 8}],
        rejects=[{"variant": "bwd_weight", "vector_a": 4, "vector_b": 8}],
    ),
    "VEC007": Examples(
        accepts=[{"variant": "bwd_weight", "pipeline": "compv6"}],
        rejects=[
            {"variant": "bwd_weight", "pipeline": "compv6", "tile_m": 256, "tile_k": 16,
             "vector_a": 1, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16},
        ],
    ),
    "VEC009": Examples(
        rejects=[
            {"variant": "bwd_weight", "num_wave_groups": 2},
            {"variant": "bwd_data", "num_wave_groups": 2},
        ],
    ),
    "LDS002": Examples(
        accepts=[
            {"variant": "bwd_weight"},
            {"@ck": "2025.11", "variant": "bwd_weight", "dtype": "fp32", "tile_m": 16, "tile_n": 16, "tile_k": 48,
             "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 4},
            {"@ck": "2026.06", "variant": "bwd_weight", "arch": "gfx1201"},
        ],
        rejects=[
            {"variant": "bwd_weight", "tile_k": 48},
            {"@ck": "2025.11", "arch": "gfx90a", "tile_m": 16, "tile_n": 16, "tile_k": 48,
             "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "vector_a": 16,
             "vector_b": 16},
            {"@ck": "2025.11", "variant": "bwd_data", "tile_m": 16, "tile_k": 48, "tile_n": 64,
             "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "vector_a": 16},
            {"@ck": "2026.06", "variant": "bwd_weight", "arch": "gfx1201", "tile_k": 48},
            {"@ck": "2026.06", "tile_m": 64, "tile_n": 64, "tile_k": 192, "vector_a": 1,
             "vector_b": 1},
        ],
    ),
    "LDS003": Examples(
        accepts=[{"variant": "bwd_weight", "pipeline": "compv6"}],
        rejects=[
            {"variant": "bwd_weight", "pipeline": "compv6", "tile_k": 48, "tile_m": 32,
             "wave_m": 1, "wave_n": 1},
        ],
    ),
}  # fmt: skip

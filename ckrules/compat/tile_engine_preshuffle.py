"""tile_engine's validation functions of November 2025 for ``gemm_preshuffle``.

Names and arguments are those of ``tile_engine/ops/gemm_preshuffle/commons/validation_utils.py``,
which name no layout: kernels with pre-shuffled weights have ``rcr``.

>>> from ckrules.compat.tile_engine_preshuffle import is_tile_config_valid
>>> is_tile_config_valid(48, 128, 256, 1, 4, 1, 16, 16, 32, "fp8", "fp8", "fp16",
...                      "preshufflev2", "gfx942")
False
"""

from __future__ import annotations

from ckrules.compat import tile_engine


class PreshuffleValidation(tile_engine.Validation):
    """As `ckrules.compat.tile_engine.Validation`, for pre-shuffled weights."""

    def __init__(
        self, trait: tuple[object, ...] | None = None, *, ck: str = "2025.11",
        profile: str = "legal", permute_n: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            "gemm_preshuffle", trait, ck=ck, profile=profile, further={"permute_n": permute_n}
        )

    def is_tile_config_valid(  # type: ignore[override]  # upstream's own signature
        self, tile_m: int, tile_n: int, tile_k: int, warp_m: int, warp_n: int, warp_k: int,
        warp_tile_m: int, warp_tile_n: int, warp_tile_k: int, a_datatype: str, b_datatype: str,
        c_datatype: str, pipeline: str, gpu_target: str, trait_name: str | None = None,
    ) -> bool:  # fmt: skip
        return super().is_tile_config_valid(
            tile_m, tile_n, tile_k, warp_m, warp_n, warp_k, warp_tile_m, warp_tile_n, warp_tile_k,
            a_datatype, b_datatype, c_datatype, pipeline, "rcr", gpu_target, trait_name,
        )  # fmt: skip


_DEFAULT = PreshuffleValidation()
is_tile_config_valid = _DEFAULT.is_tile_config_valid
is_trait_combination_valid = _DEFAULT.is_trait_combination_valid

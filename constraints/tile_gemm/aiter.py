"""What aiter's lists of GEMMs of CK Tile have in common: fields, words, GPUs and names.

Facts: ROCm/aiter, csrc/ck_gemm_a8w8_blockscale/gemm_a8w8_blockscale_cktile_instance.py (August 2026),
csrc/ck_gemm_a8w8/gemm_a8w8_common.py (@ 10788a1) and
csrc/ck_gemm_a4w4_blockscale/gemm_a4w4_blockscale_common.py (@ 0055ba9): ``tileKernelInstance``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.tile_gemm.names import BITS, shapes
from ckrules.kernels.name_grammar import Piece, literal, number, one_of

#: Those that aiter has kernels of CK Tile for.
BOTH = ("gfx942", "gfx950")
#: The GPU that a list's name ends in.
_GPUS = {
    "_942": "gfx942",
    "_950": "gfx950",
    "_95x": "gfx950",
    "_gfx950": "gfx950",
    "_gfx942": "gfx942",
}
_TRUTHS = (
    "transpose_c", "double_smem_buffer", "pad_m", "pad_n", "pad_k", "permute_n", "persistent",
    "scale_rows", "routed_weight", "bias", "split_k",
)  # fmt: skip


def gpu_of(name: str) -> dict[str, Any]:
    """The GPU of a list, if its name says one."""
    found = next((gpu for end, gpu in _GPUS.items() if name.endswith(end)), None)
    return {} if found is None else {"arch": found}


def word(name: str, value: Any) -> Any:
    """The value of a field for what a list writes: words in small letters, 0 and 1 for switches."""
    if name in ("scheduler", "scales", "activation") and isinstance(value, str):
        return value.lower()
    if name in _TRUTHS and value in (0, 1):
        return bool(value)
    return value


def shape(m: str, n: str, k: str, field: str) -> dict[str, str]:
    """The fields of a tile or of waves by those of a dataclass."""
    return {m: f"{field}_m", n: f"{field}_n", k: f"{field}_k"}


INSTANCE: Mapping[str, str] = {
    **shape("M_Tile", "N_Tile", "K_Tile", "tile"),
    **shape("M_Warp", "N_Warp", "K_Warp", "wave"),
    **shape("M_Warp_Tile", "N_Warp_Tile", "K_Warp_Tile", "warp_tile"),
    "Scheduler": "scheduler", "TiledMMAPermuteN": "permute_n", "TransposeC": "transpose_c",
    "UsePersistentKernel": "persistent", "BlockPerCu": "k_block_per_cu",
}  # fmt: skip
"""The fields of ``tileKernelInstance``, which several lists have."""
NEEDED = ("M_Warp_Tile", "TiledMMAPermuteN", "BlockPerCu")
"""Those by which it is recognised."""


def instance_name(begins: str, schedulers: Sequence[str]) -> list[Piece]:
    """The name that it makes, behind what a list's names begin with (``_`` is their last)."""
    return [
        literal(begins.removesuffix("_")), *shapes(), literal("_"),
        one_of("scheduler", schedulers), literal("_"),
        one_of("permute_n", BITS), literal("x"), one_of("transpose_c", BITS), literal("x"),
        one_of("persistent", BITS), literal("_"), number("k_block_per_cu"),
    ]  # fmt: skip

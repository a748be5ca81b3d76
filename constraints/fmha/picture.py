"""The block tiles of the two products of attention, forward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.kernels.block_map import BlockMap

SEQUENCE_Q, SEQUENCE_K, HEAD, HEAD_V = "seqlen_q", "seqlen_k", "hdim", "hdim_v"
"""What the axes of tiles are called: the sizes of a problem."""


def sizes(point: Mapping[str, Any], what: str, product: int) -> tuple[int, int, int]:
    """The waves or the warp tile of a product, along M, N and K.

    >>> sizes({"wave_m0": 4, "wave_n0": 1, "wave_k0": 1}, "wave", 0)
    (4, 1, 1)
    """
    m, n, k = (int(point[f"{what}_{x}{product}"]) for x in "mnk")
    return m, n, k


def products(point: Mapping[str, Any]) -> tuple[BlockMap, BlockMap]:
    """S = Q Kᵀ and O = P V, where P is the softmax of S.

    Sources: ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp: GetQKBlockGemm and
    GetKVBlockGemm; ops/gemm/block/block_gemm_areg_bsmem_creg_v2.hpp: MakeCBlockTile, whose
    encoding is (MIterPerWarp, MWarp) by (NIterPerWarp, NWarp) (CK 2025.11).

    >>> from ckrules.constraints.fmha.vocabulary import BASELINE
    >>> [tile.block for tile in products(BASELINE)]
    [(128, 128, 32), (128, 128, 32)]
    """
    m0, n0, k0, n1, k1 = (int(point[f"tile_{x}"]) for x in ("m0", "n0", "k0", "n1", "k1"))
    return (
        BlockMap(
            (m0, n0, k0), sizes(point, "wave", 0), sizes(point, "warp_tile", 0),
            names=("Q", "Kᵀ", "S"), axes=(SEQUENCE_Q, SEQUENCE_K, HEAD),
        ),
        BlockMap(
            (m0, n1, k1), sizes(point, "wave", 1), sizes(point, "warp_tile", 1),
            names=("P", "V", "O"), axes=(SEQUENCE_Q, HEAD_V, SEQUENCE_K),
        ),
    )  # fmt: skip

"""The block tiles of the five products of attention, backward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.picture import HEAD, HEAD_V, SEQUENCE_K, SEQUENCE_Q, sizes
from ckrules.kernels.block_map import BlockMap


def products(point: Mapping[str, Any]) -> tuple[BlockMap, ...]:
    """S = Q Kᵀ, dV = Pᵀ dO, dP = dO Vᵀ, dK = dSᵀ Q and dQ = dS K.

    Sources: ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp: GetQKBlockGemm,
    GetPTOGradTBlockGemm, GetOGradVBlockGemm, GetSGradTQTBlockGemm and GetSGradKTBlockGemm;
    ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: MakeCBlockDistributionEncode (CK 2025.11).

    >>> from ckrules.constraints.fmha_bwd.vocabulary import BASELINE
    >>> [tile.product for tile in products(BASELINE)]
    ['S = Q Kᵀ', 'dV = Pᵀ dO', 'dP = dO Vᵀ', 'dK = dSᵀ Q', 'dQ = dS K']
    """
    m0, n0, *steps, head, head_v = (
        int(point[f"tile_{x}"]) for x in ("m0", "n0", "k0", "k1", "k2", "k3", "k4", "hdq", "hdv")
    )
    scores, turned = sizes(point, "warp_tile", 0), sizes(point, "warp_tile", 1)
    q, k = SEQUENCE_Q, SEQUENCE_K
    table = (
        ((m0, n0), 0, scores, ("Q", "Kᵀ", "S"), (q, k, HEAD)),
        ((n0, head_v), 1, turned, ("Pᵀ", "dO", "dV"), (k, HEAD_V, q)),
        ((m0, n0), 0, scores, ("dO", "Vᵀ", "dP"), (q, k, HEAD_V)),
        ((n0, head), 1, turned, ("dSᵀ", "Q", "dK"), (k, HEAD, q)),
        ((m0, head), 2, _last(scores, steps[-1]), ("dS", "K", "dQ"), (q, HEAD, k)),
    )
    return tuple(
        BlockMap((*result, step), sizes(point, "wave", waves), warp, names=names, axes=axes)
        for step, (result, waves, warp, names, axes) in zip(steps, table, strict=True)
    )


def _last(warp: tuple[int, int, int], step: int) -> tuple[int, int, int]:
    """The warp tile of the last product: that of the first, its K no longer than the step."""
    return warp[0], warp[1], min(warp[2], step)

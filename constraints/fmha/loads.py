"""FMHA: how threads share the loads of K, Q and V, and how V lies in LDS.

Facts: ``Make{Q,K,V}DramTileDistribution``, ``GetAlignment{Q,K,V}``, ``GetSmemKPackV`` and
``MakeVLdsBlockDescriptor`` of ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp,
CK 2025.11. All divisions there truncate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.examples import HEADS, LOW, NARROW
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.constraints.fmha.words import HALVES
from ckrules.engine.expr import FALSE, BoolExpr, IntExpr, all_of, any_of, implies, is_pow2, ite
from ckrules.engine.rules import rule

_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp"
_COLUMNS: Mapping[str, Any] = {"v_layout": "col"}


@rule(
    "FMHA028", "rows-of-v-in-lds", kind="compile",
    applies=lambda c: c.staged & (c.v_elements >= 1),
    says=["tile_n1 = {tile_n1} does not fill rows of all LDS banks",
          "tile_k1 = {tile_k1} is not a multiple of the {16 // element_bytes} elements that are read at once",
          "packs of {v_pack} elements do not fill a row of all LDS banks",
          "tile_k1 = {tile_k1} is not a multiple of the {v_pack} elements that a thread stores",
          "tile_n1 = {tile_n1} does not fill rows of all LDS banks with packs of {v_pack}"],
    source=f"{_POLICY}: GetSingleSmemElementSpaceSize, MakeVLdsBlockDescriptor static_assert PixelsPerRow % kKPack == 0, kNPerBlock % NPerRow == 0, kKPerBlock % kKPack == 0",
    accepts=[{}], rejects=[{"dtype": "fp8", "tile_k1": 8}, {"tile_n1": 48}],
)  # fmt: skip
def v_fills_rows(c: AttentionQuantities) -> BoolExpr:
    """V's step fills rows of all LDS banks, in packs of 16 bytes along K's sequence.

    Why: asserted.

    Fix: use multiples of 16 for tile_n1 and tile_k1.
    """
    pack = 16 // c.element_bytes
    row = c.fact("lds_banks") * 4 // c.element_bytes
    return all_of(
        c.tile_n1 % (row // pack) == 0, c.tile_k1 % pack == 0, row % c.v_pack == 0,
        c.tile_k1 % c.v_pack == 0, c.tile_n1 % (row // c.v_pack) == 0,
    )  # fmt: skip


@rule(
    "FMHA029", "threads-beyond-v", kind="compile",
    applies=lambda c: c.staged,
    says="{threads} threads load V's step of {tile_n1 * tile_k1=} elements: {v_elements=}, expected {v_least} or more",
    source=f"{_POLICY}: GetSmemKPackV (total_pixels), GetAlignmentV (kMinVecLoad)",
    accepts=[{}, {**_COLUMNS, **LOW, "tile_n1": 32, "tile_k1": 16, "wave_m0": 8, "wave_m1": 8}],
    rejects=[{"tile_n1": 32, "tile_k1": 16, "wave_m0": 16, "wave_m1": 16, "tile_m0": 512},
             {**LOW, "tile_n1": 32, "tile_k1": 16, "wave_m0": 8, "wave_m1": 8}],
)  # fmt: skip
def v_feeds_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Every thread loads an element of V's step at least, and 4 bytes where V is row-major.

    Why: the vector of a thread would have no elements.

    Fix: use fewer waves or a larger tile_k1.
    """
    return c.v_elements >= c.v_least


def _unless_vectors(c: AttentionQuantities, holds: BoolExpr) -> BoolExpr:
    """What holds where V is not in vectors of a page, which are loaded otherwise since 2026.06."""
    return any_of(c.in_vectors, holds) if c.since("2026.06") else holds


def _rows(c: AttentionQuantities) -> BoolExpr:
    rows = all_of(c.staged, c.v_layout == "row", c.v_elements >= c.v_least)
    return all_of(rows, ~c.in_vectors) if c.since("2026.06") else rows


@rule(
    "FMHA030", "lanes-do-not-cover-v", kind="compile", applies=_rows,
    says="lanes and waves do not cover V's step: tile_n1 = {tile_n1}, tile_k1 = {tile_k1}, {threads} threads",
    source=f"{_POLICY}: MakeVDramTileDistribution static_assert kKPerBlock == K0 * K1 * K2 * K3",
    accepts=[{}, {"tile_n1": 64}, {"tile_n1": 96}], rejects=[{"tile_n1": 48}],
)  # fmt: skip
def lanes_cover_v(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover V's step, which lies with the head dimension contiguous.

    Why: asserted where the elements of a thread are whole vectors; other steps are loaded in
    pairs, which wants a tile_n1 that is a multiple of 16 and a row for each group of lanes.

    Fix: use powers of two.
    """
    deep = c.v_elements // c.v_vector
    packs = c.v_pack // deep
    lanes = packs * (c.tile_n1 // c.v_vector)
    inside = c.wave_size % lanes == 0
    rows = c.waves * (c.wave_size // lanes) * packs * deep
    beside = lanes // c.wave_size
    wide = c.waves // beside * beside * (packs // beside) * deep
    return ite(
        c.v_in_pairs, all_of(c.tile_n1 % 16 == 0, _rows_of_pairs(c) >= 1),
        ite(inside, c.tile_k1 == rows, all_of(beside >= 1, c.tile_k1 == wide)),
    )  # fmt: skip


def _rows_of_pairs(c: AttentionQuantities) -> IntExpr:
    """Rows that a lane loads of a step of V in pairs."""
    lanes = ite(c.tile_n1 % 32 == 0, 16, 8)
    return c.tile_k1 // (c.wave_size // lanes) // c.waves


@rule(
    "FMHA032", "lanes-do-not-cover-columns-of-v", kind="compile",
    applies=lambda c: all_of(c.staged, c.v_layout == "col", c.v_elements >= 1),
    says=["a wave loads less than a column of V's step: tile_k1 = {tile_k1}, {wave_size} lanes of {v_pack} elements",
          "a turn of all waves loads more than the tile_n1 = {tile_n1} columns of V's step",
          "lanes and waves do not cover V's step: tile_n1 = {tile_n1}, tile_k1 = {tile_k1}, {threads} threads"],
    source=f"{_POLICY}: MakeVDramTileDistribution static_assert N2 != 0, N0 != 0 and on the product of lengths",
    accepts=[_COLUMNS, {**_COLUMNS, "tile_n1": 64}, {**_COLUMNS, "tile_n1": 96}],
    rejects=[{**_COLUMNS, "tile_n1": 136}, {**_COLUMNS, "tile_k1": 24}],
)  # fmt: skip
def lanes_cover_columns(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover V's step, which lies with K's sequence contiguous.

    Why: asserted. Where vectors of 16 bytes do not go around, a wave takes 16 or 32 rows of K's
    sequence in pairs.

    Fix: use powers of two.
    """
    whole, across = spread(c, c.tile_n1, c.tile_k1, c.v_pack)
    depth = ite(c.tile_k1 % 32 == 0, 32, 16)
    columns = c.wave_size // (depth // 2) * c.waves
    pairs = all_of(c.tile_k1 % 16 == 0, c.tile_n1 % columns == 0)
    return all_of(across >= 1, c.tile_n1 // (across * c.waves) >= 1, whole | pairs)


def spread(
    c: AttentionQuantities, rows: IntExpr, columns: IntExpr, vector: IntExpr
) -> tuple[BoolExpr, IntExpr]:
    """Whether vectors of all lanes cover rows of contiguous columns, and the rows of a wave."""
    beside = columns // vector
    across = c.wave_size // beside
    whole = all_of(columns % vector == 0, rows % (across * c.waves) == 0)
    return whole, across


def _by_elements(c: AttentionQuantities, padded: BoolExpr) -> BoolExpr:
    """Where padding of heads makes loads single elements: not where vectors are padded."""
    return padded & ~c.pipeline.isin(*c.hpad) if c.hpad else padded


@rule(
    "FMHA033", "threads-beyond-k", kind="compile",
    applies=lambda c: c.staged & ~c.asynchronous,
    says=["{threads} threads load K's step of {tile_n0 * tile_k0=} elements",
          "a wave loads less than a row of K's step: tile_k0 = {tile_k0}, {wave_size} lanes of {k_load} elements",
          "a turn of all waves loads more than the tile_n0 = {tile_n0} rows of K's step"],
    source=f"{_POLICY}: MakeKDramTileDistribution, K1, N2 and N0 (lengths of 0)",
    accepts=[{}, {"tile_n0": 32}],
    rejects=[{**LOW, "tile_n0": 16, "tile_k0": 16, "tile_k1": 16, "wave_m0": 8, "wave_m1": 8}],
)  # fmt: skip
def k_feeds_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Every thread loads an element of K's step, in vectors of which a wave has a row (not qr_async).

    Why: the distribution of the load would have a length of 0.

    Fix: use fewer waves or a larger tile_n0.
    """
    _, across = spread(c, c.tile_n0, c.tile_k0, c.k_load)
    return all_of(c.k_elements >= 1, across >= 1, c.tile_n0 // (across * c.waves) >= 1)


@rule(
    "FMHA034", "odd-vectors", kind="compile",
    applies=lambda c: all_of(c.staged, c.k_elements >= 1, c.v_elements >= c.v_least),
    says=["a thread loads {k_load} elements of K at once (pad_d = {pad_d})",
          "a thread loads {v_vector} elements of V at once (pad_dv = {pad_dv}, {pipeline})"],
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_load_impl, static_assert on N",
            "core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_load_impl (CK 2026.09, read in ROCm/rocm-libraries @ 0262923: N == 6 of fp16 and bf16)",
            f"{_POLICY}: GetAlignmentK, GetAlignmentV",
            "ops/fmha/pipeline/block_fmha_pipeline_*.hpp: kAlignmentK, kAlignmentV (1 with padding)"],
    accepts=[{}, {"tile_n1": 96, "pad_dv": True}, {"tile_n0": 96},
             {"@ck": "2026.09", "tile_n1": 96}],
    rejects=[{"@ck": "2026.06", "tile_n1": 96}, {**HEADS, "@ck": "2026.06", "tile_n1": 96}, {**NARROW, "tile_n1": 160}, {"tile_n0": 48, "tile_k1": 16}],
)  # fmt: skip
def vectors_are_powers(c: AttentionQuantities) -> BoolExpr:
    """A thread loads 1, 2, 4, 8 or 16 elements at once, or one by one with padding.

    Why: asserted of loads from memory. Padding of the contiguous dimension makes it single
    elements, but that of qr_async is not counted. Since 2026.09 6 halves of V are three dwords,
    as upstream's lists have them.

    Fix: use powers of two, or pad.
    """
    single = _by_elements(c, c.pad_dv & ~c.asynchronous)
    six = (c.v_vector == 6) & c.dtype.isin(*HALVES) if c.since("2026.09") else FALSE
    return all_of(
        any_of(c.asynchronous, _by_elements(c, c.pad_d), is_pow2(c.k_load)),
        _unless_vectors(
            c, any_of(c.v_layout == "col", c.v_in_pairs, single, is_pow2(c.v_vector), six)
        ),
    )


@rule(
    "FMHA035", "queries-in-lds-not-covered", kind="compile",
    applies=lambda c: c.pipeline == "qs",
    says=["{threads} threads load Q's step of {tile_m0 * tile_k0=} elements",
          "a wave loads less than a row of Q's step: tile_k0 = {tile_k0}, {wave_size} lanes of {q_load} elements",
          "a turn of all waves loads more than the tile_m0 = {tile_m0} rows of Q's step",
          "a thread loads {q_load} elements of Q at once (pad_d = {pad_d})"],
    source=f"{_POLICY}: BlockFmhaPipelineQXCustomPolicy<false> MakeQDramTileDistribution static_assert 0 < ElemPerThread",
    accepts=[{"pipeline": "qs"}],
    rejects=[{"pipeline": "qs", "tile_m0": 4, "tile_k0": 16, "warp_tile_m0": 1, "warp_tile_m1": 1}],
)  # fmt: skip
def q_feeds_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Every thread loads an element of Q's step, in vectors of which a wave has a row (qs).

    Why: asserted; qs stages Q in LDS.

    Fix: use fewer waves or a larger tile_m0.
    """
    _, across = spread(c, c.tile_m0, c.tile_k0, c.q_load)
    return all_of(
        c.q_elements >= 1, across >= 1, c.tile_m0 // (across * c.waves) >= 1,
        c.pad_d | is_pow2(c.q_load),
    )  # fmt: skip


@rule(
    "FMHA036", "steps-not-covered-by-loads", kind="wrong-result",
    applies=lambda c: all_of(c.staged, c.v_elements >= c.v_least),
    says=["lanes and waves do not cover K's step: tile_n0 = {tile_n0}, tile_k0 = {tile_k0}, {threads} threads of {k_load} elements",
          "lanes and waves do not cover Q's step: tile_m0 = {tile_m0}, tile_k0 = {tile_k0}, {threads} threads of {q_load} elements",
          "lanes and waves do not cover V's step: tile_n1 = {tile_n1}, tile_k1 = {tile_k1}, {threads} threads"],
    source=f"{_POLICY}: MakeKDramTileDistribution, MakeQDramTileDistribution, MakeVDramTileDistribution (K2_m)",
    accepts=[{}, {"pipeline": "qs"}, {"tile_n0": 64}], rejects=[{"tile_n0": 96}],
)  # fmt: skip
def loads_cover_steps(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover the steps of K and V, and that of Q where it lies in LDS.

    Why: the lengths of a load come from truncating divisions, and nothing compares them with the
    step; what no lane loads keeps in LDS what was there.

    Fix: use powers of two.
    """
    k_whole, _ = spread(c, c.tile_n0, c.tile_k0, c.k_load)
    q_whole, _ = spread(c, c.tile_m0, c.tile_k0, c.q_load)
    lanes = ite(c.tile_n1 % 32 == 0, 16, 8)
    v_pairs = c.tile_k1 % (c.wave_size // lanes * c.waves) == 0
    return all_of(
        c.asynchronous | k_whole, (c.pipeline != "qs") | q_whole,
        _unless_vectors(c, implies((c.v_layout == "row") & c.v_in_pairs, v_pairs)),
    )  # fmt: skip

"""FMHA: what qr_async_trload asks, which transposes V as LDS is read and hands P over in registers.

Facts: ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload{,_policy}.hpp and ``run_`` of
ops/fmha/kernel/fmha_fwd_kernel.hpp, CK 2025.11. On other GPUs the kernel is empty, so that the
compiler looks at none of this. From 128 rows of Q on (prefill) K is loaded whole; since CK 2026.06
from 65 rows on, and always for heads of 256 (ROCm/composable_kernel#3271, ROCm/rocm-libraries#6846).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.examples import TRLOAD, WIDE
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.constraints.fmha.words import HALVES
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, is_pow2, ite, maximum, minimum
from ckrules.engine.rules import rule

_TRLOAD_PIPELINE = "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload.hpp"
_TRLOAD_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload_policy.hpp"
_GEMM = "ops/gemm/block/block_gemm_areg_breg_creg_v2.hpp: BlockGemmARegBRegCRegV2"
_SIDE = {f"warp_tile_{x}{p}": 16 for x in "mnk" for p in "01"}
#: Few rows of Q: one wave, and K in steps.
_DECODE: Mapping[str, Any] = {
    **TRLOAD, **_SIDE, "tile_m0": 16, "tile_n0": 32, "tile_k0": 64, "tile_k1": 32, "wave_m0": 1,
    "wave_m1": 1,
}  # fmt: skip
_PAIR: Mapping[str, Any] = {"tile_m0": 64, "wave_m0": 2, "wave_m1": 2}
#: 96 rows of Q: few in CK 2025.11, many since.
_HALF: Mapping[str, Any] = {"tile_m0": 96, "wave_m0": 3, "wave_m1": 3}

#: 128 rows of Q: two buffers of K and of V.
_ROWS: Mapping[str, Any] = {"tile_m0": 128, "wave_m0": 4, "wave_m1": 4}

#: 64 rows of Q, whose scores two waves along N exchange.
_PAIRED: Mapping[str, Any] = {
    "tile_m0": 64, "wave_m0": 2, "wave_n0": 2, "wave_m1": 2, "wave_n1": 2, "warp_tile_m1": 32,
    "warp_tile_n1": 32, "warp_tile_k1": 8,
}  # fmt: skip


def _twice(c: AttentionQuantities) -> BoolExpr:
    """Whether K and V have two buffers each."""
    if c.since("2026.06"):
        return (c.tile_m0 > 64) & (c.tile_k0max != 256)
    return c.tile_m0 >= 128


@rule(
    "FMHA024", "no-transposing-loads", kind="hardware",
    applies=lambda c: (c.variant == "fmha_fwd") & c.trload,
    says="{arch} does not transpose as LDS is read, so the kernel is empty",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: kIsAvailable (true on __gfx950__, else !kUseTrLoad)",
    accepts=[TRLOAD], rejects=[{**TRLOAD, "arch": "gfx942"}],
)  # fmt: skip
def gpu_transposes(c: AttentionQuantities) -> BoolExpr:
    """Kernels that transpose V as LDS is read run on gfx950.

    Why: elsewhere their body is empty: they are launched and write nothing.

    Fix: use qr_async.
    """
    return c.transposes


@rule(
    "FMHA057", "trload-that-changes-nothing", kind="no-effect",
    says="only qr_async_trload transposes V as LDS is read: pipeline = {pipeline}, trload = {trload}",
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: kIsAvailable and GetName, nothing else reads kUseTrLoad",
            f"{_TRLOAD_PIPELINE}: the pipeline, whatever the trait says"],
    accepts=[{}, TRLOAD], rejects=[{"trload": True}, {**TRLOAD, "trload": False}],
)  # fmt: skip
def trload_goes_with_its_pipeline(c: AttentionQuantities) -> BoolExpr:
    """trload is set for qr_async_trload and for no other pipeline.

    Why: the pipeline decides how LDS is read; trload is in the name, and empties the kernel where
    the GPU does not transpose.

    Fix: set trload for qr_async_trload only.
    """
    return c.trload == (c.pipeline == "qr_async_trload")


@rule(
    "FMHA044", "functions-that-trload-leaves-out", kind="wrong-result",
    applies=lambda c: c.pipeline == "qr_async_trload",
    says=["qr_async_trload adds no bias: bias = {bias}", "qr_async_trload caps no scores: logits = {logits}",
          "qr_async_trload drops nothing: dropout = {dropout}",
          "qr_async_trload scales nothing: squant = {squant}",
          "qr_async_trload skips no sequences: skip = {skip}, mode = {mode}"],
    source=[f"{_TRLOAD_PIPELINE}: ignore = bias_dram_block_window_tmp, ignore = position_encoding",
            "ops/fmha/kernel/fmha_fwd_kernel.hpp: what run_ hands to FmhaPipeline where its name is qr_async_trload"],
    accepts=[TRLOAD, {**TRLOAD, "lse": True}],
    rejects=[{**TRLOAD, "bias": "bias"}, {**TRLOAD, "logits": True}, {**TRLOAD, "dropout": True},
             {**TRLOAD, "mode": "group", "skip": True}],
)  # fmt: skip
def trload_is_plain(c: AttentionQuantities) -> BoolExpr:
    """qr_async_trload has no bias, cap, dropout and quantisation, and skips no short sequences.

    Why: it takes the bias and looks at nothing of it; cap, random numbers and scales are not even
    handed to it, and the length below which sequences are skipped is not looked at. The generator
    lists such kernels without them only. The headers of September 2026 assert that nothing is
    scaled.

    Fix: use qr_async.
    """
    skips = c.skip & (c.mode == "group")
    return all_of(c.bias == "no", ~c.logits, ~c.dropout, ~c.squant, ~skips)


@rule(
    "FMHA045", "columns-of-v-that-trload-takes-for-rows", kind="wrong-result",
    applies=lambda c: c.pipeline == "qr_async_trload",
    says="qr_async_trload reads V by rows: v_layout = {v_layout}",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: make_v_dram, (length, hdim_v) whatever VLayout says",
    accepts=[TRLOAD], rejects=[{**TRLOAD, "v_layout": "col"}],
)  # fmt: skip
def trload_reads_rows(c: AttentionQuantities) -> BoolExpr:
    """V is row-major for qr_async_trload.

    Why: its view of V has rows of the head dimension for either layout.

    Fix: use qr_async, or transpose V.
    """
    return c.v_layout == "row"


@rule(
    "FMHA046", "trload-lds-overflow", kind="hardware",
    applies=lambda c: c.pipeline == "qr_async_trload",
    says="LDS: {lds_bytes} bytes, more than the {table lds_capacity} of {arch}",
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload_policy.hpp: GetSmemSize, GetSmemSizeK, GetSmemSizeV",
            "ops/fmha/kernel/fmha_fwd_kernel.hpp: PrefillCase, smem_ptrk0 to smem_ptrv1", "arch/data/*.toml [lds] bytes"],
    accepts=[TRLOAD, {**TRLOAD, **WIDE, "tile_n0": 128, "tile_n1": 256, "@ck": "2026.06"}],
    rejects=[{**TRLOAD, **WIDE, "tile_n0": 256, "tile_n1": 256},
             {**TRLOAD, **WIDE, "tile_n0": 128, "tile_n1": 256, "@ck": "2025.11"},
             {**TRLOAD, **_HALF, "tile_n0": 192, "@ck": "2026.06"}],
)  # fmt: skip
def trload_lds_fits(c: AttentionQuantities) -> BoolExpr:
    """K and V of qr_async_trload, two of each from 128 rows of Q on, fit the LDS.

    Why: they are whole there, not in steps. Since CK 2026.06 there are two from 65 rows on, but
    one of each for heads of 256.

    Fix: use a smaller tile_n0.
    """
    return c.lds_bytes <= c.fact("lds_capacity")


@rule(
    "FMHA070", "scores-without-a-place", kind="wrong-result",
    applies=lambda c: (c.pipeline == "qr_async_trload") & _twice(c),
    says="scores of {wave_n0} waves along N are stored where K and V lie, two of each: tile_m0 = {tile_m0}",
    source=[f"{_TRLOAD_PIPELINE}: operator() of smem_ptrk0 to smem_ptrv1, s_lds (smem_ptrk0 + GetSmemSizeK; run; so in ROCm/rocm-libraries @ 2bc5627, read)",
            "ops/fmha/kernel/fmha_fwd_kernel.hpp: PrefillCase, smem_ptrk0 to smem_ptrv1"],
    accepts=[{**TRLOAD, **_ROWS}], rejects=[{**TRLOAD, **_ROWS, "wave_m0": 2, "wave_n0": 2}],
)  # fmt: skip
def scores_have_a_place(c: AttentionQuantities) -> BoolExpr:
    """Of qr_async_trload with two buffers of K and of V product 0 has one wave along N.

    Why: several waves exchange scores by LDS, in a place behind the first K that is not reserved:
    it is K's own or the next one's. Both kernels that were run are wrong nearly everywhere.

    Fix: put the waves of product 0 along M, or use fewer rows of Q.
    """
    return c.wave_n0 == 1


@rule(
    "FMHA071", "scores-in-another-order", kind="wrong-result",
    applies=lambda c: c.pipeline == "qr_async_trload",
    says=["a lane reads 4 neighbours along K from LDS, and product 1 takes others: wave_n0 = {wave_n0}, {warp_tile_m1 * warp_tile_k1=}, expected 256",
          "scores come by rows, and product 1 takes them by columns: tile_m0 = {tile_m0}, {wave_m1 * warp_tile_m1=}, tile_n0 = {tile_n0}, warp_tile_k1 = {warp_tile_k1}"],
    source=[f"{_TRLOAD_POLICY}: GetQKBlockGemm (GemmLoopOrder::MNK), MakeSRegTileDistribution (K3, sequence<1, 2, 2, 2>), GetPVBlockGemm (WGAttrNumAccessEnum::Double), MakePRegTileDistribution (sequence<2, 1>; run; so in ROCm/rocm-libraries @ 925db99, read)",
            f"{_TRLOAD_PIPELINE}: p_tile.get_thread_buffer() = cast_tile<PDataType>(p_compute).get_thread_buffer()"],
    accepts=[TRLOAD, {**TRLOAD, **_PAIRED}],
    rejects=[{**TRLOAD, **_PAIRED, "warp_tile_k1": 16}, {**TRLOAD, **_PAIRED, "warp_tile_m1": 16, "warp_tile_n1": 16, "warp_tile_k1": 16},
             {**TRLOAD, "warp_tile_m0": 16, "warp_tile_n0": 16, "warp_tile_k0": 32, "warp_tile_m1": 16, "warp_tile_n1": 16, "warp_tile_k1": 32}],
)  # fmt: skip
def scores_keep_their_order(c: AttentionQuantities) -> BoolExpr:
    """Scores of qr_async_trload are in the order in which product 1 takes them.

    Why: registers are assigned as they are. Product 0, and LDS by which waves along N exchange
    scores, give all of a row of warp tiles first; product 1 goes along M first. From LDS a lane
    reads neighbours along K, of which the longer warp tiles take two parts. Of 11 kernels with
    several warp tiles along M and along K that were run all are wrong; of eight with waves along N
    four are, as this says.

    Fix: use a warp tile of product 1 of which waves cover tile_m0 at once; behind waves along N
    32x32x8 or 16x16x16.
    """
    order = (c.tile_m0 == c.wave_m1 * c.warp_tile_m1) | (c.tile_n0 == c.warp_tile_k1)
    return all_of((c.wave_n0 == 1) | (c.warp_tile_m1 * c.warp_tile_k1 == 256), order)


@rule(
    "FMHA048", "trload-of-other-types", kind="compile",
    applies=lambda c: c.transposing,
    says="qr_async_trload computes fp16 and bf16: dtype = {dtype}",
    source=["core/tensor/load_tile_transpose.hpp: DefaultTranspose, static_assert ValidationTraits",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload_policy.hpp: GetQKBlockGemm"],
    accepts=[TRLOAD, {**TRLOAD, "dtype": "bf16"}], rejects=[{**TRLOAD, "dtype": "fp32"}],
)  # fmt: skip
def trload_has_types(c: AttentionQuantities) -> BoolExpr:
    """qr_async_trload computes fp16 and bf16.

    Why: fp32 is not transposed as LDS is read, and of 8-bit types the policy wants warp GEMMs of
    which the headers have one or the other.

    Fix: use qr or qr_async.
    """
    return c.dtype.isin(*HALVES)


def _halves(c: AttentionQuantities) -> BoolExpr:
    return all_of(c.transposing, c.dtype.isin(*HALVES))


def _vector(c: AttentionQuantities, rows: IntExpr, columns: IntExpr) -> IntExpr:
    """Elements of a step that a lane loads at once: 16 bytes, or all that it has."""
    return minimum(8, rows * columns // c.threads)


def _key_columns(c: AttentionQuantities) -> IntExpr:
    """Columns of K in a load: all, or a step where Q has few rows."""
    many = c.tile_m0 >= 128
    if c.since("2026.06"):
        many = (c.tile_m0 > 64) | (c.tile_k0max == 256)
    return ite(many, c.q_columns, c.tile_k0)


@rule(
    "FMHA049", "vectors-that-trload-cannot-load", kind="compile",
    applies=_halves,
    says=["a lane loads {tile_m0 * q_columns // threads} elements of Q at once, expected 2, 6, or 8 and more",
          "a lane loads {tile_n0 * tile_k0 // threads} elements of K's step at once, of rows aligned to {tile_n0 * q_columns // threads}",
          "a lane loads {tile_n0 * tile_n1 // threads} elements of V at once, expected 2, 6, or 8 and more",
          "columns of V with padding are loaded one by one: v_layout = {v_layout}, pad_sk = {pad_sk}"],
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load static_assert bytes == 4 || bytes == 12 || bytes == 16",
            f"{_TRLOAD_POLICY}: GetAlignmentQ, GetAlignmentK, GetAlignmentV, MakeQDramTileDistribution, MakeKDramTileDistribution, MakeVDramTileDistribution",
            "core/algorithm/coordinate_transform.hpp: unmerge, the greatest common divisor of alignment and length"],
    accepts=[TRLOAD, _DECODE],
    rejects=[{**_DECODE, "tile_k0max": 48, "tile_k0": 16, "wave_n0": 4, "wave_m1": 4},
             {**TRLOAD, "v_layout": "col", "pad_sk": True}],
)  # fmt: skip
def trload_loads_dwords(c: AttentionQuantities) -> BoolExpr:
    """The lanes of qr_async_trload load 4, 12 or 16 bytes of Q, K and V straight to LDS.

    Why: asserted; there are no other loads of the kind. K is aligned as if all columns were loaded
    at once, of which a step's vector takes the greatest common divisor.

    Fix: use fewer waves or larger tiles.
    """
    q, v = _vector(c, c.tile_m0, c.q_columns), _vector(c, c.tile_n0, c.tile_n1)
    step, aligned = _vector(c, c.tile_n0, _key_columns(c)), _vector(c, c.tile_n0, c.q_columns)
    whole = (step == 8) & (aligned == 8)
    return all_of(
        q.isin(2, 6, 8),
        whole | ((step % 2 + aligned % 2 == 0) & ((step % 4 != 0) | (aligned % 4 != 0))),
        v.isin(2, 6, 8), (c.v_layout == "row") | ~c.pad_sk,
    )  # fmt: skip


def _fed(c: AttentionQuantities, rows: IntExpr, columns: IntExpr) -> tuple[BoolExpr, BoolExpr]:
    """Whether lanes and waves have a row each of a step at least, and whether they cover it."""
    vector = _vector(c, rows, columns)
    lanes = columns // vector
    turn = c.wave_size // lanes * c.waves
    rest = columns % vector + c.wave_size % lanes + rows % turn
    return rows // turn >= 1, rest == 0


@rule(
    "FMHA050", "lanes-beyond-steps-of-trload", kind="compile",
    applies=_halves,
    says=["a turn of lanes and waves loads more than Q: tile_m0 = {tile_m0}, {q_columns} columns, {threads} threads",
          "a turn of lanes and waves loads more than K's step: tile_n0 = {tile_n0}, {q_columns} columns, tile_k0 = {tile_k0}, {threads} threads",
          "a turn of lanes and waves loads more than V's step: tile_n0 = {tile_n0}, tile_n1 = {tile_n1}, {threads} threads"],
    source=[f"{_TRLOAD_POLICY}: MakeQDramTileDistribution, MakeKDramTileDistribution, MakeVDramTileDistribution (lengths of 0)",
            "core/algorithm/space_filling_curve.hpp: static_assert 0 < TensorSize"],
    accepts=[TRLOAD, _DECODE], rejects=[{**TRLOAD, "tile_n0": 2}],
)  # fmt: skip
def trload_feeds_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Each wave of qr_async_trload loads a row of Q, K and V at least, and no row more than it.

    Why: the distribution of the load would have a length of 0.

    Fix: use fewer waves, or powers of two.
    """
    return all_of(
        _fed(c, c.tile_m0, c.q_columns)[0], _fed(c, c.tile_n0, _key_columns(c))[0],
        _fed(c, c.tile_n0, c.tile_n1)[0],
    )  # fmt: skip


@rule(
    "FMHA051", "steps-that-trload-does-not-cover", kind="wrong-result",
    applies=_halves,
    says=["lanes and waves do not cover Q in whole vectors: tile_m0 = {tile_m0}, {q_columns} columns, {threads} threads",
          "lanes and waves do not cover K's step in whole vectors: tile_n0 = {tile_n0}, {q_columns} columns, tile_k0 = {tile_k0}, {threads} threads",
          "a lane loads more of K's step than rows are aligned to: tile_n0 = {tile_n0}, {q_columns} columns, tile_k0 = {tile_k0}, {threads} threads",
          "lanes and waves do not cover V's step in whole vectors: tile_n0 = {tile_n0}, tile_n1 = {tile_n1}, {threads} threads",
          "a lane loads V in parts of a vector: tile_n0 = {tile_n0}, tile_n1 = {tile_n1}, {threads} threads"],
    source=[f"{_TRLOAD_POLICY}: MakeQDramTileDistribution, MakeKDramTileDistribution, MakeVDramTileDistribution",
            "core/tensor/tile_window.hpp: async_load (lane by lane one behind the other)"],
    accepts=[TRLOAD, _DECODE],
    rejects=[{**TRLOAD, "tile_n1": 96}],
)  # fmt: skip
def trload_covers_steps(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves of qr_async_trload cover Q, K and V, each lane with one vector of a row.

    Why: lengths come from truncating divisions, and loads to LDS put what lanes load one behind
    the other, which is a row only where vectors are whole.

    Fix: use powers of two.
    """
    step, aligned = _vector(c, c.tile_n0, _key_columns(c)), _vector(c, c.tile_n0, c.q_columns)
    v = _vector(c, c.tile_n0, c.tile_n1)
    return all_of(
        _fed(c, c.tile_m0, c.q_columns)[1],
        _fed(c, c.tile_n0, _key_columns(c))[1], aligned % step == 0,
        _fed(c, c.tile_n0, c.tile_n1)[1], is_pow2(v),
    )  # fmt: skip


@rule(
    "FMHA052", "columns-changed-about-otherwise", kind="wrong-result",
    applies=_halves,
    says=["columns are changed about by powers of two: tile_k0max = {tile_k0max}",
          "columns of V are changed about as those of Q: tile_n1 = {tile_n1}, tile_k0max = {tile_k0max}",
          "memory changes the columns of K about by other widths than they are loaded in: tile_m0 = {tile_m0}, tile_k0 = {tile_k0}, tile_k0max = {tile_k0max}"],
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: run_, make_k_dram and make_v_dram, make_xor_transform over kQKHeaddim (\"TODO: Add kVHeadDim\")",
            f"{_TRLOAD_POLICY}: MakeQLdsBlockDescriptor, MakeKLdsBlockDescriptor, MakeVLdsBlockDescriptor",
            f"{_TRLOAD_PIPELINE}: kKLoadOnce = kM0 >= 64",
            f"{_TRLOAD_PIPELINE}: kKLoadOnce = kM0 > 64, operator_impl_hdim256 (CK 2026.06, read)"],
    accepts=[TRLOAD, _DECODE, {**TRLOAD, **_PAIR, "tile_k0": 128},
             {**TRLOAD, **_PAIR, "@ck": "2026.06"}],
    rejects=[{**TRLOAD, "hdim": 96, "tile_k0max": 96}, {**TRLOAD, "tile_n1": 64},
             {**TRLOAD, **_PAIR, "@ck": "2025.11"},
             {**TRLOAD, **_PAIR, **WIDE, "tile_n1": 256, "@ck": "2026.06"}],
    issue="https://github.com/ROCm/composable_kernel/pull/3271",
)  # fmt: skip
def columns_are_changed_back(c: AttentionQuantities) -> BoolExpr:
    """Memory and LDS change the columns of a row about alike.

    Why: groups of columns are numbered by exclusive or with the row, in memory over the head
    dimension of Q, in LDS over the step; where the two differ, or are not powers of two, a group is
    not found where it was put.

    Fix: use a head of 32, 64, 128 or 256 for Q and V. Use the whole of it for tile_k0 from 64 to
    127 rows of Q in CK 2025.11, and since 2026.06 where heads of 256 have up to 64 rows.
    """
    whole = (c.tile_m0 < 64) | (c.tile_m0 >= 128) | (c.tile_k0 == c.tile_k0max)
    if c.since("2026.06"):
        whole = (c.tile_k0max != 256) | (c.tile_m0 > 64) | (c.tile_k0 == c.tile_k0max)
    return all_of(is_pow2(c.tile_k0max), c.tile_n1 == c.tile_k0max, whole)


@rule(
    "FMHA072", "tiles-that-begin-at-other-rows", kind="wrong-result",
    applies=_halves,
    says=["tiles of K begin at rows whose columns LDS changes about otherwise: tile_n0 = {tile_n0}, tile_m0 = {tile_m0}, tile_k0 = {tile_k0}, {q_columns // 8=}",
          "tiles of V begin at rows whose columns LDS changes about otherwise: tile_n0 = {tile_n0} is not a multiple of {tile_n1 // warp_tile_m1=}"],
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: run_, make_k_dram and make_v_dram, make_xor_transform over height (run; so in ROCm/rocm-libraries @ 07c8e14, read) and length",
            f"{_TRLOAD_POLICY}: MakeKLdsBlockDescriptor, MakeVLdsBlockDescriptor",
            "core/algorithm/coordinate_transform.hpp: xor_t, the row modulo the number of groups"],
    accepts=[TRLOAD, _DECODE, {**TRLOAD, **WIDE, "tile_n0": 32, "tile_n1": 256},
             {**_DECODE, **WIDE, "tile_n1": 256}],
    rejects=[{**TRLOAD, **WIDE, "tile_n0": 16, "tile_n1": 256, "@ck": "2025.11"}],
)  # fmt: skip
def tiles_begin_at_whole_turns(c: AttentionQuantities) -> BoolExpr:
    """Tiles of K and V begin at multiples of the groups of columns that a row has.

    Why: groups are numbered by exclusive or with the row modulo their number, in memory with the
    row of the sequence, in LDS with the row of the tile. A group is 8 elements of K, and a warp
    tile of V. Where the two rows differ, a group is not found where it was put. Of six kernels
    with heads of 256 and tile_n0 = 16 that were run five are wrong; the other loads K in steps.

    Fix: use a larger tile_n0, or with few rows of Q a smaller tile_k0.
    """
    keys, values = maximum(_key_columns(c) // 8, 1), maximum(c.tile_n1 // c.warp_tile_m1, 1)
    return all_of(c.tile_n0 % keys == 0, c.tile_n0 % values == 0)


@rule(
    "FMHA053", "transposing-loads-of-other-width", kind="compile",
    applies=_halves,
    says="LDS is read transposed by 4 elements: a thread has {v_elements} elements of V's step, expected 4, or 8 and more",
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_transpose_load_to_vgpr, bit_cast of 8 bytes",
            f"{_TRLOAD_POLICY}: MakeVLdsBlockDescriptor (GetSmemKPackV)"],
    accepts=[TRLOAD], rejects=[{**TRLOAD, "tile_n0": 32, "tile_n1": 32}],
)  # fmt: skip
def transposing_loads_are_whole(c: AttentionQuantities) -> BoolExpr:
    """A thread has 4 elements of V's step of product 1, or 8 and more.

    Why: LDS is aligned to what a thread has of a step, and a load that transposes takes 8 bytes.

    Fix: use fewer waves, or a larger tile_k1 or tile_n1.
    """
    return c.v_pack % 4 == 0


@rule(
    "FMHA054", "uneven-registers-of-trload", kind="compile",
    applies=_halves,
    says=["the registers hold {q_columns} columns of Q, not a multiple of tile_k0 = {tile_k0}",
          "a turn of warp tiles has more columns than the scores: tile_n0 = {tile_n0}, {wave_n0 * warp_tile_n0=}",
          "a turn of warp tiles has more columns than the results: tile_n1 = {tile_n1}, {wave_n1 * warp_tile_n1=}",
          "the registers of scores are not those of P: tile_n0 = {tile_n0}, warp_tile_n0 = {warp_tile_n0}, warp_tile_k1 = {warp_tile_k1}"],
    source=["core/container/sequence.hpp: reverse_slice_sequence, static_assert on the slice size",
            "core/tensor/static_distributed_tensor.hpp: static_assert 0 < kThreadElementSpaceSize",
            f"{_GEMM} static_assert \"A distribution is wrong!\"",
            f"{_TRLOAD_PIPELINE}: p_tile.get_thread_buffer() = cast_tile<PDataType>(p_compute).get_thread_buffer() (no viable assignment)"],
    accepts=[TRLOAD, _DECODE], rejects=[{**TRLOAD, "hdim": 96, "tile_k0max": 96, "tile_k0": 48}],
)  # fmt: skip
def trload_slices_are_even(c: AttentionQuantities) -> BoolExpr:
    """Steps cut what a lane holds of Q into equal slices, and the scores are as many as P.

    Why: asserted; a head of 96 lies in registers for 128, one of 160 in those for 256. With waves
    along N scores go through LDS.

    Fix: use a power of two for tile_k0, and whole warp tiles.
    """
    scores, p = (c.tile_n0 // w * w for w in (c.warp_tile_n0, c.warp_tile_k1))
    return all_of(
        c.q_columns % c.tile_k0 == 0, c.tile_n0 >= c.wave_n0 * c.warp_tile_n0,
        c.tile_n1 >= c.wave_n1 * c.warp_tile_n1, (c.wave_n0 > 1) | (scores == p),
    )  # fmt: skip


@rule(
    "FMHA055", "waves-that-share-no-rows", kind="wrong-result",
    applies=_halves,
    says=["waves without scores read those of others: {waves0=}, {waves1=}",
          "product 1 reads P as the waves of product 0 left it: warp_tile_m0 = {warp_tile_m0}, warp_tile_m1 = {warp_tile_m1}"],
    source=f"{_TRLOAD_PIPELINE}: s_new, m (of the distribution of o_acc) and m_local (of that of s_new)",
    accepts=[TRLOAD, _DECODE],
    rejects=[{**TRLOAD, "wave_n1": 2}, {**_DECODE, "warp_tile_m1": 32, "warp_tile_n1": 32, "tile_m0": 32}],
)  # fmt: skip
def trload_waves_share_rows(c: AttentionQuantities) -> BoolExpr:
    """Both products of qr_async_trload have as many waves, and the same rows but through LDS.

    Why: a wave beyond those of product 0 has no scores of its own; maxima and sums of rows are
    kept as product 1 has them.

    Fix: use the same waves and warp tiles of the same rows for both.
    """
    same = any_of(c.wave_n0 > 1, c.warp_tile_m0 == c.warp_tile_m1)
    return all_of(c.waves0 == c.waves1, same)


def _loads(c: AttentionQuantities, columns: IntExpr, parts: BoolExpr) -> IntExpr:
    """Loads of a thread of a step with tile_n0 rows; a vector of 6 may come in 3 parts."""
    lanes = columns // _vector(c, c.tile_n0, columns)
    return c.tile_n0 // (c.wave_size // lanes * c.waves) * ite(parts, 3, 1)


@rule(
    "FMHA056", "more-loads-than-are-counted", kind="compile",
    applies=_halves,
    says=["a wave waits for more than 63 loads of K and V: tile_n0 = {tile_n0}, {q_columns} columns, tile_n1 = {tile_n1}, {threads} threads",
          "a wave waits for more than 15 reads of K from LDS: tile_n0 = {tile_n0}, tile_k0 = {tile_k0}, {waves} waves",
          "a wave waits for more than 15 reads of V from LDS: tile_n1 = {tile_n1}, tile_k1 = {tile_k1}, {waves} waves"],
    source=["core/arch/arch.hpp: waitcnt_arg, static_assert \"vmcnt out of range\", \"lgkmcnt out of range\"",
            f"{_TRLOAD_PIPELINE}: block_sync_lds_direct_load<k_vmem_insts + v_vmem_insts>, block_sync_lds<k_lds_insts>, block_sync_lds<v_lds_insts>"],
    accepts=[TRLOAD, _DECODE],
    rejects=[{**_DECODE, "tile_k0max": 192, "tile_k0": 192, "tile_n0": 256, "wave_n1": 2},
             {**TRLOAD, "tile_k0": 128, "tile_n0": 128},
             {**TRLOAD, **_HALF, "tile_k0": 128, "tile_n0": 192, "@ck": "2026.06"}],
)  # fmt: skip
def loads_are_counted(c: AttentionQuantities) -> BoolExpr:
    """The loads that a wave of qr_async_trload waits for can be counted.

    Why: asserted; the counters have 6 bits for loads from memory and 4 for reads of LDS. With few
    rows of Q it waits for K and for V, else for both, and for what it reads of LDS; since CK
    2026.06 it counts nothing where heads have 256.

    Fix: use smaller steps or more waves.
    """
    step, aligned = _vector(c, c.tile_n0, _key_columns(c)), _vector(c, c.tile_n0, c.q_columns)
    k = _loads(c, _key_columns(c), (step == 6) & (aligned == 8))
    v = _loads(c, c.tile_n1, _vector(c, c.tile_n0, c.tile_n1) == 6)
    few, most = c.tile_m0 < 128, maximum(k, v)
    if c.since("2026.06"):
        few = (c.tile_m0 <= 64) | (c.tile_k0max == 256)
        most = ite(c.tile_k0max == 256, 0, most)
    reads = c.tile_n0 // (c.wave_n0 * c.warp_tile_n0) * (c.tile_k0 // c.warp_tile_k0)
    tiles = c.tile_n1 // (c.wave_n1 * c.warp_tile_n1) * (c.tile_k1 // c.warp_tile_k1)
    return all_of(
        ite(few, most, k + v) <= 63, few | (reads <= 15),
        few | (tiles * c.warp_tile_n1 * c.warp_tile_k1 // (4 * c.wave_size) <= 15),
    )  # fmt: skip

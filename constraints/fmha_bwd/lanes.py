"""FBWD: how threads load, transpose and hold the operands of attention backward.

Facts: ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp, CK 2025.11, whose products of
lengths are asserted. All divisions there truncate. Kernels that transpose as LDS is read have a
policy of their own, which is not asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha_bwd.kernel import UNCOVERED, sides_are_covered
from ckrules.constraints.fmha_bwd.vocabulary import TRLOAD, BackwardQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, is_pow2, ite, maximum, minimum
from ckrules.engine.rules import rule

_POLICY = "ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp"
_PIPELINES = "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_kr_ktr_vr{,_iglp}.hpp"
_TRLOAD_POLICY = "ops/fmha/pipeline/block_fmha_bwd_pipeline_trload_default_policy.hpp"
_WIDE: Mapping[str, Any] = {
    "tile_m0": 32, "tile_k1": 32, "tile_k3": 32, "warp_tile_k0": 16,
    **{f"warp_tile_{x}{p}": 32 for x in "mn" for p in "01"},
}  # fmt: skip
#: Elements of a row of a head that is not a power of two, in a turn of the lanes.
_TURN = 32


def _by_registers(c: BackwardQuantities) -> BoolExpr:
    return ~c.trload


def _by_lds(c: BackwardQuantities) -> BoolExpr:
    return c.trload & c.transposes


@rule(
    "FBWD012", "registers-of-products-not-covered", kind="compile",
    applies=_by_registers,
    says=[*UNCOVERED,
          "tile_k0 = {tile_k0} is not a multiple of warp_tile_k0 = {warp_tile_k0}",
          "tile_k2 = {tile_k2} is not a multiple of warp_tile_k0 = {warp_tile_k0}",
          "tile_k1 = {tile_k1} is not a multiple of warp_tile_k1 = {warp_tile_k1}",
          "tile_k3 = {tile_k3} is not a multiple of warp_tile_k1 = {warp_tile_k1}",
          "tile_k4 = {tile_k4} is not a multiple of {min(warp_tile_k0, tile_k4)=}",
          "tile_n0 = {tile_n0} is not a multiple of tile_k4 = {tile_k4}"],
    source=[f"{_POLICY}: MakeKRegBlockDescriptor, MakeVRegBlockDescriptor, MakeQRegSliceBlockDescriptor, MakeOGradRegSliceBlockDescriptor, MakePTRegSliceBlockDescriptor, MakeSGradRegSliceBlockDescriptor, MakeLSEDLdsReadBlockDescriptor static_assert on the product of lengths",
            "core/container/sequence.hpp: reverse_slice_sequence (slices of K^T for product 4)"],
    accepts=[{}, {"tile_k4": 256}], rejects=[{"tile_m0": 24}, {"tile_n0": 96, "warp_tile_n0": 32}, {"tile_k4": 48}],
)  # fmt: skip
def registers_are_covered(c: BackwardQuantities) -> BoolExpr:
    """Warp tiles cover rows, columns and steps of all five products.

    Why: asserted of the registers of each operand, whose lengths come from truncating divisions. K^T
    is cut into steps of product 4 only if it has any (FBWD026).

    Fix: use fewer waves, smaller warp tiles or a larger tile.
    """
    deep = minimum(c.warp_tile_k0, c.tile_k4)
    return all_of(
        *sides_are_covered(c),
        c.tile_k0 % c.warp_tile_k0 == 0, c.tile_k2 % c.warp_tile_k0 == 0,
        c.tile_k1 % c.warp_tile_k1 == 0, c.tile_k3 % c.warp_tile_k1 == 0,
        c.tile_k4 % deep == 0, (c.tile_n0 % c.tile_k4 == 0) | (c.tile_k4 > c.tile_n0),
    )  # fmt: skip


def _all(c: BackwardQuantities, rows: IntExpr, columns: IntExpr) -> IntExpr:
    """Elements of a tensor that a thread loads."""
    return rows * columns // c.threads


def _vector(c: BackwardQuantities, rows: IntExpr, columns: IntExpr) -> IntExpr:
    """Elements that a thread loads at once: 16 bytes where it has 4 bytes' worth of such vectors."""
    total, most, least = _all(c, rows, columns), 16 // c.element_bytes, 4 // c.element_bytes
    return ite(total // most >= least, most, total // least)


def _loaded(
    c: BackwardQuantities, rows: IntExpr, columns: IntExpr, vector: IntExpr
) -> tuple[BoolExpr, BoolExpr]:
    """Whether a load has no empty length, and whether rows in LDS are whole vectors."""
    across = c.wave_size // (columns // vector)
    odd = rows % (c.wave_size // (_TURN // 2) * c.waves)
    some = rows // (across * c.waves) >= 1
    wide = columns % _TURN + odd == 0
    pack, inner = ite(is_pow2(columns), vector, 2), ite(is_pow2(columns), columns, _TURN)
    layer = maximum(1, 64 // inner)
    return ite(is_pow2(columns), some, (across >= 1) & wide), inner % pack + rows % layer == 0


@rule(
    "FBWD013", "operands-not-covered-by-loads", kind="compile",
    applies=_by_registers,
    says=["lanes and waves do not cover K: tile_n0 = {tile_n0}, tile_hdq = {tile_hdq}, {threads} threads",
          "rows of K in LDS are not whole vectors: tile_n0 = {tile_n0}, tile_hdq = {tile_hdq}, {threads} threads",
          "lanes and waves do not cover V: tile_n0 = {tile_n0}, tile_hdv = {tile_hdv}, {threads} threads",
          "rows of V in LDS are not whole vectors: tile_n0 = {tile_n0}, tile_hdv = {tile_hdv}, {threads} threads",
          "lanes and waves do not cover Q: tile_m0 = {tile_m0}, tile_hdq = {tile_hdq}, {threads} threads",
          "rows of Q in LDS are not whole vectors: tile_m0 = {tile_m0}, tile_hdq = {tile_hdq}, {threads} threads",
          "lanes and waves do not cover dO: tile_m0 = {tile_m0}, tile_hdv = {tile_hdv}, {threads} threads",
          "rows of dO in LDS are not whole vectors: tile_m0 = {tile_m0}, tile_hdv = {tile_hdv}, {threads} threads"],
    source=[f"{_POLICY}: MakeKDramTileDistribution, MakeVDramTileDistribution, MakeQDramTileDistribution, MakeOGradDramTileDistribution static_assert kKPerBlock % kKPerIter == 0 and on the product of lengths (dstr_m)",
            f"{_POLICY}: MakeXLdsBlockDescriptor static_assert on the product of lengths"],
    accepts=[{}, {"hdim": 96, "tile_hdq": 96, "tile_hdv": 96, "tile_m0": 32, "tile_k0": 96, "tile_k2": 96,
                  "tile_k1": 32, "tile_k3": 32, "wave_m2": 2, "wave_n2": 2}],
    rejects=[{"tile_hdq": 48, "hdim": 48}, {"tile_m0": 2}],
)  # fmt: skip
def loads_cover_operands(c: BackwardQuantities) -> BoolExpr:
    """Lanes and waves load K, V, Q and dO, and put whole vectors of a row into LDS.

    Why: asserted. Heads of a power of two are loaded in vectors of 16 bytes at most, others in
    pairs, 32 elements of a row in a turn.

    Fix: use heads of a power of two or a multiple of 32, and fewer waves.
    """
    value = minimum(16 // c.element_bytes, _all(c, c.tile_n0, c.tile_hdv))
    loads = (
        (c.tile_n0, c.tile_hdq, _vector(c, c.tile_n0, c.tile_hdq)),
        (c.tile_n0, c.tile_hdv, value),
        (c.tile_m0, c.tile_hdq, _vector(c, c.tile_m0, c.tile_hdq)),
        (c.tile_m0, c.tile_hdv, _vector(c, c.tile_m0, c.tile_hdv)),
    )
    return all_of(*(x for rows, columns, v in loads for x in _loaded(c, rows, columns, v)))


def _turned(c: BackwardQuantities, rows: IntExpr, columns: IntExpr) -> BoolExpr:
    """Whether a head's descriptor of a tensor with rows changed for columns has all elements."""
    vector = _vector(c, rows, columns)
    whole = _folded(c, rows, columns, vector, _all(c, rows, columns) // vector)
    deep = rows // (c.wave_size // (_TURN // 2) * c.waves)
    inner: IntExpr = c.tile_hdq * 0 + _TURN
    return ite(is_pow2(columns), whole, _folded(c, rows, inner, c.tile_hdq * 0 + 2, deep))


def _folded(
    c: BackwardQuantities, rows: IntExpr, columns: IntExpr, pack: IntExpr, deep: IntExpr
) -> BoolExpr:
    """MakeXTLdsBlockDescriptor: packs of columns, and of rows (deep), folded over all banks."""
    packs, numbers = columns // pack, rows // deep
    writing, reading = c.threads // packs, c.wave_size // c.warp_tile_m0
    per_write, per_read = numbers // writing, numbers // reading
    fold = ite(deep * packs > 64, 1, 64 // (deep * packs))
    more = fold * per_write // per_read
    lanes = ite(more > 1, reading // more, reading)
    pair = ite(deep * c.warp_tile_m0 > 64, 1, minimum(packs, 64 // (deep * c.warp_tile_m0)))
    first = lanes * (writing // fold // lanes) * fold * per_write * deep
    # truncated, neither is more than what it has to be
    return (first == rows) & (packs // pair * pair * pack == columns)


@rule(
    "FBWD014", "operands-not-turned-in-lds", kind="compile",
    applies=_by_registers,
    says=["K with rows and columns changed does not fill its LDS: tile_n0 = {tile_n0}, tile_hdq = {tile_hdq}, {threads} threads",
          "Q with rows and columns changed does not fill its LDS: tile_m0 = {tile_m0}, tile_hdq = {tile_hdq}, {threads} threads",
          "dO with rows and columns changed does not fill its LDS: tile_m0 = {tile_m0}, tile_hdv = {tile_hdv}, {threads} threads"],
    source=f"{_POLICY}: MakeXTLdsBlockDescriptor static_assert on the product of lengths, MakeShuffledKLdsWriteBlockDescriptor, MakeShuffledQLdsWriteBlockDescriptor, MakeShuffledOGradLdsWriteBlockDescriptor",
    accepts=[{}], rejects=[{"tile_m0": 24}],
)  # fmt: skip
def operands_are_turned(c: BackwardQuantities) -> BoolExpr:
    """The packs in which K, Q and dO are turned in LDS hold all of them.

    Why: asserted; packs, threads that write and threads that read come from truncating divisions.

    Fix: use powers of two, and fewer waves or more rows.
    """
    return all_of(
        _turned(c, c.tile_n0, c.tile_hdq), _turned(c, c.tile_m0, c.tile_hdq),
        _turned(c, c.tile_m0, c.tile_hdv),
    )  # fmt: skip


@rule(
    "FBWD015", "bias-not-covered-by-loads", kind="compile",
    applies=lambda c: _by_registers(c) | c.transposes,
    says=["lanes and waves do not cover the bias, which kernels without one have a window of, too: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, {threads} threads",
          "rows of the bias do not fill its LDS: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, {threads} threads",
          "columns of the bias do not fill its LDS: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, {threads} threads",
          "rows of dS in LDS are not whole vectors: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}"],
    source=[f"{_POLICY}: MakeBiasTileDistribution, MakeBiasLdsBlockDescriptor, MakeSGradLdsBlockDescriptor static_assert on the product of lengths",
            f"{_PIPELINES}: bias_dram_window"],
    accepts=[{}], rejects=[{"tile_n0": 24}],
)  # fmt: skip
def loads_cover_bias(c: BackwardQuantities) -> BoolExpr:
    """Lanes and waves cover a block of the bias, whether the kernel has one or not.

    Why: asserted; its window is made in either case.

    Fix: use powers of two.
    """
    vector = _vector(c, c.tile_m0, c.tile_n0)
    across = c.wave_size // (c.tile_n0 // vector)
    turn = across * c.waves
    covered = (c.tile_m0 // turn * turn) * (c.tile_n0 // vector * vector)
    pack: IntExpr = 16 // c.element_bytes
    layer = maximum(1, 64 // c.tile_n0)
    return all_of(
        covered == c.tile_m0 * c.tile_n0,
        _folded(c, c.tile_m0, c.tile_n0, vector, _all(c, c.tile_m0, c.tile_n0) // vector),
        c.trload | (c.tile_n0 % pack + c.tile_m0 % layer == 0),
    )  # fmt: skip


@rule(
    "FBWD016", "heads-in-steps", kind="wrong-result",
    says=["product 0 is computed once, of tile_k0 = {tile_k0} of tile_hdq = {tile_hdq} elements of a head",
          "product 2 is computed once, of tile_k2 = {tile_k2} of tile_hdv = {tile_hdv} elements of a head"],
    source=f"{_PIPELINES}: s_acc = gemm_0(q_reg_tensor, k_reg_tensor), dp_acc = gemm_2(do_reg_tensor, v_reg_tensor), no loop over kQKHeaddim / kK0",
    accepts=[{}], rejects=[{"tile_k0": 64}, {"tile_k2": 64}],
)  # fmt: skip
def heads_are_whole(c: BackwardQuantities) -> BoolExpr:
    """Products 0 and 2 take a whole head in a step.

    Why: they are computed once; what lies behind the step is left out of the scores.

    Fix: use tile_hdq for tile_k0 and tile_hdv for tile_k2.
    """
    return all_of(c.tile_k0 == c.tile_hdq, c.tile_k2 == c.tile_hdv)


@rule(
    "FBWD026", "step-beyond-rows-of-keys", kind="wrong-result",
    applies=_by_registers,
    says="product 4 has no step: tile_k4 = {tile_k4} is larger than tile_n0 = {tile_n0}",
    source=f"{_PIPELINES}: k4_loops = kN0 / kK4",
    accepts=[{}, {"tile_k4": 128}], rejects=[{"tile_k4": 256}],
)  # fmt: skip
def product_4_has_steps(c: BackwardQuantities) -> BoolExpr:
    """A step of product 4 has no more rows of K than a block.

    Why: the number of steps is a truncating division. With none the gradient of Q stays zero.

    Fix: use a tile_k4 that divides tile_n0.
    """
    return c.tile_k4 <= c.tile_n0


@rule(
    "FBWD034", "lanes-beyond-rows-of-lse", kind="compile",
    applies=_by_registers,
    says="LSE of tile_m0 = {tile_m0} rows leaves a lane none: there are {wave_size} lanes in a wave",
    source=[f"{_POLICY}: MakeLSEDDramTileDistribution, M2 (a length of 0)",
            "core/algorithm/space_filling_curve.hpp: static_assert 0 < TensorSize"],
    accepts=[{}, {"tile_m0": 64}], rejects=[{"tile_m0": 48}],
)  # fmt: skip
def lanes_have_a_row(c: BackwardQuantities) -> BoolExpr:
    """The rows of Q in a step are at most half the lanes of a wave, or as many at least.

    Why: rows are repeated where lanes are twice as many or more, and else told out to all lanes by
    a truncating division, with which a lane would have no row of LSE.

    Fix: use 16 or 32 rows, or as many as a wave has lanes.
    """
    return (2 * c.tile_m0 <= c.wave_size) | (c.tile_m0 >= c.wave_size)


@rule(
    "FBWD035", "rows-of-lse-that-no-lane-loads", kind="wrong-result",
    applies=lambda c: _by_registers(c) & (c.tile_m0 > c.wave_size),
    says="LSE and D are loaded in turns of {wave_size} rows: tile_m0 = {tile_m0}",
    source=f"{_POLICY}: MakeLSEDDramTileDistribution, M2 (a truncating division; CK 2025.11, run)",
    accepts=[{"tile_m0": 128}, {"arch": "gfx1201", "tile_m0": 64}],
    rejects=[{"tile_m0": 96}, {"tile_m0": 80}, {"arch": "gfx1201", "tile_m0": 48}],
)  # fmt: skip
def lanes_load_all_rows(c: BackwardQuantities) -> BoolExpr:
    """Rows of Q beyond the lanes of a wave are a multiple of them.

    Why: each lane loads as many rows of LSE and D as a truncating division gives it. What LDS holds
    of the rest is not written: of two kernels that were run dQ, dK and dV were not numbers there.

    Fix: use powers of two.
    """
    return c.tile_m0 % c.wave_size == 0


def _spread(c: BackwardQuantities, rows: IntExpr, columns: IntExpr) -> BoolExpr:
    """Whether waves beside and below each other, 8 lanes of 16 bytes in a row, cover a tensor."""
    parts = columns // (128 // c.element_bytes)
    beside = minimum(c.waves, parts)
    below = maximum(1, c.waves // beside)
    rest = columns % (128 // c.element_bytes) + parts % beside + rows % (below * 8)
    return rest + (c.waves - beside * below) == 0


@rule(
    "FBWD017", "operands-that-trload-does-not-cover", kind="compile",
    applies=_by_lds,
    says=["fp32 is not transposed as LDS is read: dtype = {dtype}", "dS lies in LDS as warp tiles of 16 rows have it: warp_tile_m0 = {warp_tile_m0}",
          "the rows of Q are a divisor of the {wave_size} lanes of a wave: tile_m0 = {tile_m0}",
          "waves do not cover K in rows of 128 bytes: tile_n0 = {tile_n0}, tile_hdq = {tile_hdq}, {waves} waves",
          "waves do not cover V in rows of 128 bytes: tile_n0 = {tile_n0}, tile_hdv = {tile_hdv}, {waves} waves",
          "waves do not cover Q in rows of 128 bytes: tile_m0 = {tile_m0}, tile_hdq = {tile_hdq}, {waves} waves",
          "waves do not cover dO in rows of 128 bytes: tile_m0 = {tile_m0}, tile_hdv = {tile_hdv}, {waves} waves",
          "tile_n0 = {tile_n0} is not a multiple of {wave_n0 * warp_tile_n0=}",
          "tile_k0 = {tile_k0} is not a multiple of warp_tile_k0 = {warp_tile_k0}",
          "tile_k2 = {tile_k2} is not a multiple of warp_tile_k0 = {warp_tile_k0}"],
    source=[f"{_TRLOAD_POLICY}: MakeXDramTileDistribution, MakeLSEDDramTileDistribution, MakeSGradLdsBlockDescriptor static_assert",
            f"{_POLICY}: MakeKRegBlockDescriptor, MakeVRegBlockDescriptor static_assert on the product of lengths",
            "core/tensor/load_tile_transpose.hpp: DefaultTranspose, static_assert ValidationTraits"],
    accepts=[TRLOAD], rejects=[{**TRLOAD, "tile_m0": 24}, {**TRLOAD, "tile_hdq": 96, "hdim": 96}],
)  # fmt: skip
def trload_covers_operands(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, waves cover K, V, Q and dO in rows of 128 bytes.

    Why: asserted; 8 lanes load 16 bytes each of a row, and waves lie beside each other first.

    Fix: use heads of a multiple of 64, and fewer waves.
    """
    return all_of(
        c.dtype != "fp32", c.warp_tile_m0 == 16, c.wave_size % c.tile_m0 == 0,
        _spread(c, c.tile_n0, c.tile_hdq), _spread(c, c.tile_n0, c.tile_hdv),
        _spread(c, c.tile_m0, c.tile_hdq), _spread(c, c.tile_m0, c.tile_hdv),
        c.tile_n0 % (c.wave_n0 * c.warp_tile_n0) == 0,
        c.tile_k0 % c.warp_tile_k0 == 0, c.tile_k2 % c.warp_tile_k0 == 0,
    )  # fmt: skip


@rule(
    "FBWD019", "registers-that-trload-does-not-hand-over", kind="compile",
    applies=_by_lds,
    says=["a lane has {scores} scores of product 0, and {turned} elements of P in product 1: {wave_m0 * wave_n0=}, {wave_m1=}",
          "tile_n0 = {tile_n0} is not a multiple of the step of product 4: tile_k4 = {tile_k4}",
          "tile_hdq = {tile_hdq} is less than {wave_n2 * warp_tile_n0=} of product 4",
          "tile_m0 = {tile_m0} is less than {wave_m2 * warp_tile_m0=} of product 4",
          "tile_hdq = {tile_hdq} is less than {wave_n1 * warp_tile_n1=} of product 3",
          "tile_hdv = {tile_hdv} is less than {wave_n1 * warp_tile_n1=} of product 1",
          "LDS is read transposed by 4 elements, and a lane takes 8 at once: {warp_tile_m1}x{warp_tile_n1}x{warp_tile_k1}"],
    source=["ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_trload_{kr_ktr_vr,qr_qtr_dor}.hpp: pt_reg_tensor.get_thread_buffer() = p_gemm.get_thread_buffer(), dst_reg_tensor the same (no viable assignment)",
            f"{_TRLOAD_POLICY}: HotLoopScheduler SchedulerGemm4, SGradT_LDS_READ_P2 (a negative number of reads), MakeKTRegBlockDescriptor, MakeSGradRegSliceBlockDescriptor, MakeQTRegSliceBlockDescriptor, MakeOGradTRegSliceBlockDescriptor (lengths of 0)",
            "core/algorithm/space_filling_curve.hpp: static_assert 0 < TensorSize",
            "core/tensor/load_tile_transpose.hpp: DefaultTranspose Quad16, static_assert ValidationTraits"],
    accepts=[TRLOAD], rejects=[{**TRLOAD, "wave_m1": 2, "wave_n1": 2}, {**TRLOAD, "tile_m0": 16, "tile_k1": 16, "tile_k3": 16},
             {**TRLOAD, "warp_tile_m1": 32, "warp_tile_n1": 32, "warp_tile_k1": 16}],
)  # fmt: skip
def trload_hands_over(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, lanes have as much of P as scores, and some of each operand.

    Why: the registers of product 0 are assigned to those of product 1, those of 2 to those of 3,
    so that all waves lie along M in 1 and 3; an operand of length 0 has no loads.

    Fix: put all waves of products 1 and 3 along M, with warp tiles of 16x16x16 or 16x16x32.
    """
    return all_of(
        c.scores == c.turned, c.tile_n0 % c.tile_k4 == 0,
        c.tile_hdq >= c.wave_n2 * c.warp_tile_n0, c.tile_m0 >= c.wave_m2 * c.warp_tile_m0,
        c.tile_hdq >= c.wave_n1 * c.warp_tile_n1, c.tile_hdv >= c.wave_n1 * c.warp_tile_n1,
        (c.warp_tile_m1 != 32) | (c.warp_tile_k1 != 16),
    )  # fmt: skip


@rule(
    "FBWD020", "single-elements-straight-to-lds", kind="compile",
    applies=_by_lds,
    says=["with padding for single elements Q and K are loaded by 2 bytes: pad_d = {pad_d}, expected 0 or 8",
          "with padding for single elements V and dO are loaded by 2 bytes: pad_dv = {pad_dv}, expected 0 or 8"],
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load static_assert bytes == 4 || bytes == 12 || bytes == 16",
            "ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_trload_*.hpp: kAlignmentQ = kPadHeadDimQ"],
    accepts=[TRLOAD, {**TRLOAD, "pad_d": 8, "pad_dv": 8}], rejects=[{**TRLOAD, "pad_d": 1}, {**TRLOAD, "pad_dv": 1}],
)  # fmt: skip
def trload_pads_vectors(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, heads are padded in eights.

    Why: operands are loaded straight to LDS, 4, 12 or 16 bytes of a lane at once.

    Fix: use 0 or 8 for pad_d and pad_dv, or clear trload.
    """
    return all_of(c.pad_d != 1, c.pad_dv != 1)


@rule(
    "FBWD018", "lanes-that-hold-other-scores", kind="wrong-result",
    applies=lambda c: _by_registers(c) & (c.warp_tile_m1 == 16),
    says=["product 1 takes rows that other waves of product 0 have: wave_m0 = {wave_m0}, expected 1",
          "product 1 takes rows in parts of warp_tile_k1 = {warp_tile_k1}, which product 0 has in parts of warp_tile_m0 = {warp_tile_m0}",
          "product 1 takes columns that other waves of product 0 have: {wave_m1 * warp_tile_m1=}, {wave_n0 * warp_tile_n0=}"],
    source=f"{_POLICY}: PTFromGemm0CToGemm1A, SGradTFromGemm2CToGemm3A (get_y_sliced_thread_data of kIter and mIter)",
    accepts=[{}],
    rejects=[{"wave_m0": 2, "wave_n0": 2, "tile_m0": 32}, {"wave_m1": 2, "wave_n1": 2}, {"warp_tile_k1": 32},
             {"wave_m0": 4, "wave_n0": 1, "tile_m0": 64, "tile_k1": 64, "tile_k3": 64, "wave_m1": 1, "wave_n1": 4, "warp_tile_k1": 32}],
)  # fmt: skip
def lanes_keep_scores(c: BackwardQuantities) -> BoolExpr:
    """Products 1 and 3 take scores and their gradients as the waves of 0 and 2 left them.

    Why: they are copied from register to register, warp tile by warp tile, with rows and columns
    changed; nothing compares how many of them a wave has. What another wave holds never comes: of
    product 1 by two waves along N, columns of a wave lacked the rows of the other.

    Fix: put all waves of product 0 along N and of product 1 along M, and use warp tiles of 16.
    """
    return all_of(
        c.wave_m0 == 1, c.warp_tile_m0 == c.warp_tile_k1,
        c.wave_m1 * c.warp_tile_m1 == c.wave_n0 * c.warp_tile_n0,
    )  # fmt: skip


@rule(
    "FBWD023", "lanes-of-other-rows-that-hold-other-scores", kind="wrong-result",
    applies=lambda c: _by_registers(c) & (c.warp_tile_m1 == 32),
    says=["product 1 takes rows that other waves of product 0 have: wave_m0 = {wave_m0}, expected 1",
          "product 1 takes columns that other waves of product 0 have: {wave_m1 * warp_tile_m1=}, {wave_n0 * warp_tile_n0=}",
          "product 1 takes scores as lanes of 32 rows have them: warp_tile_m0 = {warp_tile_m0}",
          "a lane holds 8 rows in a line, of which product 1 multiplies others: warp_tile_k1 = {warp_tile_k1}, expected 16",
          "scores of several warp tiles along both sides come in another order: tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, {wave_n0 * warp_tile_n0=}"],
    source=[f"{_POLICY}: PTFromGemm0CToGemm1A, SGradTFromGemm2CToGemm3A (pt_out.get_thread_buffer() = p_in.get_thread_buffer())",
            f"{_POLICY}: GetQKBlockGemm, GetOGradVBlockGemm (lanes of 32 rows changed about)"],
    accepts=[_WIDE, {**_WIDE, "warp_tile_k0": 8}, {**_WIDE, "tile_m0": 64, "tile_k1": 64, "tile_k3": 64}],
    rejects=[{**_WIDE, "warp_tile_k1": 8}, {**_WIDE, "warp_tile_m0": 16, "warp_tile_n0": 16},
             {**_WIDE, "tile_m0": 64, "tile_k1": 64, "tile_k3": 64, "tile_n0": 256, "tile_k4": 256},
             {**_WIDE, "wave_m0": 4, "wave_n0": 1, "tile_m0": 128, "tile_k1": 128, "tile_k3": 128}],
)  # fmt: skip
def wide_lanes_keep_scores(c: BackwardQuantities) -> BoolExpr:
    """With 32 rows products 1 and 3 take scores and their gradients as 0 and 2 left them.

    Why: registers are assigned as they are, so that both have the same waves and rows, a lane 8
    rows in a line (16 of a warp tile), and one warp tile along one side. Nearly every element is
    wrong otherwise, as runs show.

    Fix: use warp tiles of 16 rows, which upstream lists, or 32x32x16 with tile_m0 = 32.
    """
    return all_of(
        c.wave_m0 == 1, c.wave_m1 * c.warp_tile_m1 == c.wave_n0 * c.warp_tile_n0,
        c.warp_tile_m0 == 32, c.warp_tile_k1 == 16,
        (c.tile_m0 <= 32) | (c.tile_n0 <= c.wave_n0 * c.warp_tile_n0),
    )  # fmt: skip


@rule(
    "FBWD021", "lanes-that-trload-finds-other-scores-in", kind="wrong-result",
    applies=_by_lds,
    says=["product 1 takes rows of scores that other waves have: wave_m0 = {wave_m0}",
          "product 1 takes scores as lanes of {warp_tile_m1} rows have them: warp_tile_m0 = {warp_tile_m0}"],
    source="ops/fmha/pipeline/block_fmha_bwd_dq_dk_dv_pipeline_trload_{kr_ktr_vr,qr_qtr_dor}.hpp: pt_reg_tensor.get_thread_buffer() = p_gemm.get_thread_buffer(), dst_reg_tensor the same",
    accepts=[TRLOAD],
    rejects=[{**TRLOAD, "wave_m0": 4, "wave_n0": 1, "tile_m0": 64, "tile_k1": 64, "tile_k3": 64},
             {**TRLOAD, "warp_tile_m1": 32, "warp_tile_n1": 32, "warp_tile_k1": 8}],
)  # fmt: skip
def trload_lanes_keep_scores(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, products 1 and 3 take scores as lanes of 0 and 2 have them.

    Why: registers are assigned as they are, with rows and columns changed; nothing compares whose
    scores they hold.

    Fix: put all waves of product 0 along N, and use warp tiles of 16 rows.
    """
    return all_of(c.wave_m0 == 1, c.warp_tile_m1 == c.warp_tile_m0)


@rule(
    "FBWD022", "gradients-beyond-their-lds", kind="wrong-result",
    applies=_by_lds,
    says="LDS has room for {tile_hdq} columns of dO, which has more: tile_hdv = {tile_hdv}",
    source=f"{_TRLOAD_POLICY}: MakeOGradLdsWriteBlockDescriptor, MakeOGradLdsReadBlockDescriptor (kQKHeaddim, not kVHeaddim)",
    accepts=[TRLOAD, {**TRLOAD, "tile_hdv": 64, "tile_k2": 64}],
    rejects=[{**TRLOAD, "tile_hdv": 256, "tile_k2": 256}],
)  # fmt: skip
def gradients_have_room(c: BackwardQuantities) -> BoolExpr:
    """Where LDS is read transposed, a head of V is not larger than one of Q.

    Why: dO is put into LDS with as many columns as Q; those beyond overwrite what lies behind.

    Fix: use tile_hdq of at least tile_hdv.
    """
    return c.tile_hdv <= c.tile_hdq

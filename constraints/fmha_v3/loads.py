"""FTG: how two groups of waves load K and V straight to LDS, and what else they ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha_v3.shapes import KERNEL, LONG, PIPELINE, POLICY
from ckrules.constraints.fmha_v3.vocabulary import PACK, TwoGroupQuantities
from ckrules.engine.expr import BoolExpr, all_of, maximum
from ckrules.engine.rules import rule

_SMALL: Mapping[str, Any] = {"hdim": 64, "tile_k0": 64, "tile_k0max": 64, "tile_n1": 64}
_WIDE: Mapping[str, Any] = {"hdim": 256, "tile_k0": 256, "tile_k0max": 256}


@rule(
    "FTG020", "no-loads-that-transpose", kind="hardware",
    says="{arch} does not transpose as LDS is read, so that zeros are taken for V",
    source=["core/tensor/buffer_view.hpp: transpose_get (zero but on __gfx950__)",
            f"{PIPELINE}: V_lds_load, v_cvt_pk_f16_f32 and v_cvt_pk_bf16_f32 in assembly"],
    accepts=[{}], rejects=[{"arch": "gfx942"}],
)  # fmt: skip
def gpu_transposes(c: TwoGroupQuantities) -> BoolExpr:
    """Two groups of waves run on gfx950.

    Why: elsewhere LDS is not read transposed, and the instructions that round P, which are written
    in assembly, are missing. Nothing in the headers says so, but that loads of gfx942 rarely fit
    their buffers.

    Fix: use qr_async of fmha_fwd.
    """
    return c.transposes


@rule(
    "FTG021", "heads-padded-by-the-element", kind="compile",
    says=["K is loaded in whole dwords, which padded heads are not: pad_d = {pad_d}",
          "V is loaded in whole dwords, which padded heads are not: pad_dv = {pad_dv}"],
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load, static_assert num_bytes % 4 == 0",
            f"{PIPELINE}: kAlignmentK, kAlignmentV (1 with padding)"],
    accepts=[{}, {"pad_s": False, "pad_sk": False}], rejects=[{"pad_d": True}, {"pad_dv": True}],
)  # fmt: skip
def heads_are_not_padded(c: TwoGroupQuantities) -> BoolExpr:
    """Head dimensions are not padded.

    Why: with padding K and V are aligned to single elements, and a load to LDS of two bytes is
    asserted against.

    Fix: set pad_d and pad_dv to false, or use qr_async of fmha_fwd.
    """
    return all_of(~c.pad_d, ~c.pad_dv)


@rule(
    "FTG022", "rows-not-in-turns", kind="compile",
    says=["a wave loads {turn} elements at once, which are not whole rows of K: tile_k0 = {tile_k0}",
          "a wave loads {turn} elements at once, which are not whole rows of V: tile_n1 = {tile_n1}",
          "a wave loads {turn} elements at once, which are not whole rows of tile_k1 = {tile_k1}"],
    source=f"{POLICY}: MakeKDramTileDistribution, MakeVDramTileDistribution, GetSingleSmemElementSpaceSize static_assert WarpSize * KVector % kKPerBlock == 0",
    accepts=[{}, {**_SMALL, **LONG}],
    rejects=[{"hdim": 96, "tile_k0": 96, "tile_k0max": 96}, {"tile_n1": 192},
             {"tile_n0": 48, "tile_k1": 48}],
)  # fmt: skip
def turns_are_whole_rows(c: TwoGroupQuantities) -> BoolExpr:
    """What a wave loads at once is whole rows of K and of V.

    Why: asserted, and of a buffer for K as if it had tile_k1 columns.

    Fix: use powers of two up to 512.
    """
    return all_of(c.turn % c.tile_k0 == 0, c.turn % c.tile_n1 == 0, c.turn % c.tile_k1 == 0)


def _in_turns(c: TwoGroupQuantities) -> BoolExpr:
    """Where a wave loads whole rows, each by a lane at least."""
    fit = (
        all_of(c.turn % side == 0, side >= c.vector) for side in (c.tile_k0, c.tile_n1, c.tile_k1)
    )
    return all_of(c.waves >= 1, *fit)


@rule(
    "FTG023", "waves-beyond-a-tile", kind="compile",
    applies=_in_turns,
    says=["a turn of all waves loads more than the tile_n0 = {tile_n0} rows of K: {waves} waves, tile_k0 = {tile_k0}",
          "a turn of all waves loads more than the tile_k1 = {tile_k1} rows of V: {waves} waves, tile_n1 = {tile_n1}"],
    source=f"{POLICY}: MakeKDramTileDistribution, MakeVDramTileDistribution, NumIssues (a length of 0)",
    accepts=[{}, {**_SMALL, **LONG}], rejects=[_SMALL, {"tile_n1": 64}],
)  # fmt: skip
def waves_have_a_turn(c: TwoGroupQuantities) -> BoolExpr:
    """Every wave loads rows of each tile of K and V.

    Why: the distribution of the load would have a length of 0.

    Fix: use a larger tile_n0 and tile_k1: 64 for heads of 64, 128 for heads of 32.
    """
    return all_of(c.k_turns >= 1, c.v_turns >= 1)


@rule(
    "FTG024", "buffers-below-their-tiles", kind="compile",
    applies=_in_turns,
    says=("a tile of K takes {k_stage} elements of LDS and one of V {v_stage}, of the {buffer} that "
          "are set aside: {tile_n0=}, {tile_k0=}, {tile_k1=}"),
    source=f"{POLICY}: GetSmemSizeKV static_assert max(k_element_space_size, v_element_space_size) <= GetSingleSmemElementSpaceSize",
    accepts=[{}, {"hdim": 64, "tile_k0": 64, "tile_k0max": 64, **LONG}],
    rejects=[_WIDE, {"arch": "gfx942"}],
)  # fmt: skip
def buffers_hold_tiles(c: TwoGroupQuantities) -> BoolExpr:
    """The buffers hold a tile of K and one of V.

    Why: asserted; the size is that of V with a pack behind each row of all banks, or of K with
    tile_k1 columns, which is more than none only where tile_n0 and tile_k1 are large.

    Fix: do not use heads of K that are longer than those of V.
    """
    return maximum(c.k_stage, c.v_stage) <= c.buffer


@rule(
    "FTG025", "values-not-in-banks", kind="compile",
    says=["tile_n1 = {tile_n1} does not fill rows of all LDS banks", "tile_k1 = {tile_k1} is not a multiple of the 8 elements that are read at once"],
    source=f"{POLICY}: GetSingleSmemElementSpaceSize static_assert kNPerBlock % NPerRow == 0, kKPerBlock % kKPack == 0",
    accepts=[{}], rejects=[{"tile_n1": 8}, {"tile_n0": 4, "tile_k1": 4}],
)  # fmt: skip
def values_fill_banks(c: TwoGroupQuantities) -> BoolExpr:
    """A tile of V fills rows of all LDS banks, in packs of 16 bytes.

    Why: asserted, though V does not lie so.

    Fix: use multiples of 16.
    """
    return all_of(c.tile_n1 % c.packs_in_banks == 0, c.tile_k1 % PACK == 0)


@rule(
    "FTG026", "two-groups-lds-overflow", kind="hardware",
    applies=_in_turns,
    says="LDS: {lds_bytes} bytes, more than the {table lds_capacity} of {arch}: buffers of {buffer} elements",
    source=[f"{PIPELINE}: GetSmemSize", f"{POLICY}: GetSmemSize, GetSmemSizeKV",
            "arch/data/*.toml [lds] bytes"],
    accepts=[{}, LONG], rejects=[{"tile_n0": 128, "tile_k1": 128}],
)  # fmt: skip
def lds_fits(c: TwoGroupQuantities) -> BoolExpr:
    """Two buffers of K and V each and the room for P fit the LDS.

    Why: the hardware has no more.

    Fix: use a smaller tile_n0.
    """
    return c.lds_bytes <= c.fact("lds_capacity")


@rule(
    "FTG027", "values-of-two-groups-by-columns", kind="wrong-result", until="2026.06",
    says="V is read by rows: v_layout = {v_layout}",
    source=f"{KERNEL}: v_dram_naive (rows of hdim_v, whatever the shape says)",
    accepts=[{}], rejects=[{"v_layout": "col"}],
)  # fmt: skip
def values_are_rows(c: TwoGroupQuantities) -> BoolExpr:
    """V is row-major.

    Why: the view of V has rows of the head dimension for either layout.

    Fix: transpose V, or use qr_async of fmha_fwd.
    """
    return c.v_layout == "row"


@rule(
    "FTG028", "lse-of-unscaled-maxima", kind="wrong-result", until="2026.06",
    says="LSE is of maxima that are not scaled: lse = {lse}",
    source=f"{PIPELINE}: lse(i_idx) = m[i_idx] / C_LOG2E + log(l[i_idx]), without scale_s",
    accepts=[{}], rejects=[{"lse": True}],
)  # fmt: skip
def maxima_are_scaled(c: TwoGroupQuantities) -> BoolExpr:
    """LSE is not stored.

    Why: the largest score of a row is kept as it was multiplied, and added to the logarithm of the
    sums as if it were scaled and of base 2. O is right. Upstream's example stores no LSE.

    Fix: set lse = false, or use qr_async of fmha_fwd.
    """
    return ~c.lse


@rule(
    "FTG029", "functions-of-2026-that-two-groups-lack", kind="compile", since="2026.06",
    says=["no LSE is stored: lse = {lse}", "V is row-major: v_layout = {v_layout}",
          "masks are of class GenericAttentionMask: mask = {mask}"],
    source=f"{PIPELINE}: static_assert !kStoreLSE, VLayout RowMajor, is_generic_attention_mask_v<FmhaMask> (CK 2026.06, read)",
    accepts=[{}, {"mask": "causal"}], rejects=[{"lse": True}, {"v_layout": "col"}, {"mask": "mask"}],
)  # fmt: skip
def functions_are_there(c: TwoGroupQuantities) -> BoolExpr:
    """LSE is not stored, V is row-major, and masks are causal or generic.

    Why: asserted.

    Fix: use qr_async of fmha_fwd.
    """
    return all_of(~c.lse, c.v_layout == "row", c.mask != "mask")


@rule(
    "FTG030", "rows-beyond-whole-turns", kind="wrong-result",
    applies=lambda c: all_of(_in_turns(c), c.k_turns >= 1, c.v_turns >= 1),
    says=["turns of {waves} waves do not cover the tile_n0 = {tile_n0} rows of K: tile_k0 = {tile_k0}",
          "turns of {waves} waves do not cover the tile_k1 = {tile_k1} rows of V: tile_n1 = {tile_n1}"],
    source=f"{POLICY}: MakeKDramTileDistribution, MakeVDramTileDistribution, NumIssues (a truncating division)",
    accepts=[{}], rejects=[{"tile_m0": 288, "wave_m0": 9, "wave_m1": 9, "tile_n0": 64, "tile_k1": 64}],
)  # fmt: skip
def turns_cover_tiles(c: TwoGroupQuantities) -> BoolExpr:
    """Whole turns of the waves cover the rows of K and V.

    Why: the number of turns is a truncating division; rows beyond are not loaded.

    Fix: use 8 waves, and powers of two.
    """
    return all_of(
        c.tile_n0 % (c.rows_of(c.tile_k0) * c.waves) == 0,
        c.tile_k1 % (c.rows_of(c.tile_n1) * c.waves) == 0,
    )

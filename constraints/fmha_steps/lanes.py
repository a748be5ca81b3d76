"""FSTP: how lanes and waves share the rows that the kernels before and after attention move.

Facts: the tile distributions of
ops/fmha/pipeline/block_fmha_fwd_{splitkv_combine,appendkv}_pipeline_default_policy.hpp and
block_fmha_bwd_pipeline_default_policy.hpp, CK 2025.11. All divisions there truncate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT, AN_APPEND
from ckrules.constraints.fmha_steps.vocabulary import StepQuantities
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, implies, ite, minimum
from ckrules.engine.rules import rule

_COMBINE = "ops/fmha/pipeline/block_fmha_fwd_splitkv_combine_pipeline"
_APPEND = "ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline_default_policy.hpp"
_BWD = "ops/fmha/pipeline/block_fmha_bwd_pipeline_default_policy.hpp"
#: Splits that the generated kernel combines, and its waves.
_SPLITS, _WAVES = 8, 4
#: Threads of a block that appends or converts, whatever the GPU.
_THREADS = 256


@rule(
    "FSTP006", "no-blocks-of-a-step", kind="compile",
    applies=lambda c: c.variant.isin(COMBINE, APPEND),
    says=["the launch bound is {block_per_cu} blocks on a compute unit: block_per_cu = {block_per_cu}, expected -1 or more than 0",
          "the pipeline knows a launch bound for heads of 256 at most: hdim = {hdim}, tile_d = {tile_d}, block_per_cu = {block_per_cu}"],
    source=["ops/fmha/kernel/fmha_fwd_{splitkv_combine,appendkv}_kernel.hpp: static_assert kBlockPerCu > 0",
            f"{_COMBINE}.hpp: kBlockPerCu, a lambda that returns nothing for larger heads"],
    accepts=[{}, AN_APPEND, {"hdim": 512, "block_per_cu": 1}],
    rejects=[{"block_per_cu": 0}, {"hdim": 512}, {**AN_APPEND, "tile_d": 512}],
)  # fmt: skip
def launch_bound_is_known(c: StepQuantities) -> BoolExpr:
    """The launch bound names one block at least, or the pipeline knows one for the head.

    Why: asserted; of heads beyond 256 the pipeline returns no number.

    Fix: set block_per_cu to 1.
    """
    head = ite(c.variant == COMBINE, c.hdim, c.tile_d)
    return all_of(c.block_per_cu != 0, (c.block_per_cu > 0) | (head <= 256))


@rule(
    "FSTP007", "combined-rows-beside-waves", kind="compile",
    applies=lambda c: (c.variant == COMBINE) & (c.tile_dv >= 1),
    says=["a lane combines 4 columns: tile_dv = {tile_dv}",
          "8 splits of {combined_rows} rows are more than 4 waves of {wave_size} lanes have: tile_dv = {tile_dv}",
          "8 splits of {combined_rows} rows are fewer than the {wave_size} lanes of a wave: tile_dv = {tile_dv}",
          "8 splits of {combined_rows} rows are not whole waves of {wave_size} lanes: tile_dv = {tile_dv}",
          "{combined_rows} rows of {tile_dv} columns are fewer than the lanes of 4 waves: tile_dv = {tile_dv}"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaSplitKVCombinePipelineTileSizes, static_assert on kM0 * kMaxSplits",
            f"{_COMBINE}_default_policy.hpp: MakeLSEaccRegTileDistribution (Replicate is 0), MakeOaccResultDramTileDistribution static_assert"],
    accepts=[{}, {"tile_dv": 8}, {"tile_dv": 16}],
    rejects=[{"tile_dv": 2}, {"tile_dv": 4}, {"tile_dv": 64}, {"tile_dv": 12, "hdim": 48},
             {"tile_dv": 28, "hdim": 56, "arch": "gfx1201"}],
)  # fmt: skip
def combined_rows_are_waves(c: StepQuantities) -> BoolExpr:
    """The rows of a combined block, times 8 splits, are one, two or four waves.

    Why: asserted. A wave combines as many rows as it has lanes for, four columns each.

    Fix: use 8, 16 or 32 for tile_dv.
    """
    sums = c.combined_rows * _SPLITS
    has_rows = c.tile_dv >= 4
    return all_of(
        has_rows,
        implies(has_rows, sums // c.wave_size <= _WAVES),
        implies(has_rows, sums >= c.wave_size),
        implies(has_rows, sums % c.wave_size == 0),
        implies(has_rows, _WAVES * c.wave_size <= c.combined_rows * c.tile_dv),
    )


@rule(
    "FSTP008", "columns-never-combined", kind="wrong-result",
    applies=lambda c: c.variant == COMBINE,
    says="a lane combines 4 columns and the last ones are left out: tile_dv = {tile_dv}",
    source=f"{_COMBINE}_default_policy.hpp: MakeOaccResultDramTileDistribution (N1)",
    accepts=[{}], rejects=[{"tile_dv": 9, "hdim": 72}],
)  # fmt: skip
def all_columns_are_combined(c: StepQuantities) -> BoolExpr:
    """The columns that a block combines are a multiple of 4.

    Why: lanes and columns come from truncating divisions, and nothing compares them with the tile.

    Fix: use 8, 16 or 32 for tile_dv.
    """
    return c.tile_dv % 4 == 0


def _spread(c: StepQuantities, rows: IntExpr, columns: IntExpr) -> tuple[BoolExpr, BoolExpr]:
    """Whether each lane has something of rows with contiguous columns, and whether lanes cover them."""
    vector: IntExpr = 16 // c.element_bytes
    lanes: IntExpr = columns // vector
    turn = _THREADS // c.wave_size * (c.wave_size // lanes)
    return rows // turn >= 1, columns % vector + rows % turn == 0


def _whole_lanes(c: StepQuantities) -> BoolExpr:
    """Whether the lanes of a wave are whole rows of K, so that none has a row of the next wave."""
    lanes: IntExpr = c.tile_d // (16 // c.element_bytes)
    return c.wave_size % lanes == 0


def _values(c: StepQuantities) -> tuple[BoolExpr, BoolExpr]:
    """The same of new rows of V."""
    by_rows, by_columns = _spread(c, c.tile_sk, c.tile_dv), _spread(c, c.tile_dv, c.tile_sk)
    row = c.v_layout == "row"
    return (row & by_rows[0]) | (~row & by_columns[0]), (row & by_rows[1]) | (~row & by_columns[1])


@rule(
    "FSTP009", "threads-beyond-new-rows", kind="compile",
    applies=lambda c: c.variant == APPEND,
    says=["256 threads load more than the new rows of K: tile_sk = {tile_sk}, tile_d = {tile_d}, 16 bytes each",
          "256 threads load more than the new rows of V: tile_sk = {tile_sk}, tile_dv = {tile_dv}, 16 bytes each",
          "256 threads load more than the rows of Q that are embedded: tile_s = {tile_s}, tile_d = {tile_d}, 16 bytes each"],
    source=[f"{_APPEND}: MakeKnewDramTileDistribution, MakeVnewDramTileDistribution, MakeQDramTileDistribution",
            "core/algorithm/space_filling_curve.hpp: static_assert 0 < TensorSize"],
    accepts=[AN_APPEND, {**AN_APPEND, "tile_s": 0}],
    rejects=[{**AN_APPEND, "tile_sk": 8}, {**AN_APPEND, "tile_d": 4},
             {**AN_APPEND, "v_layout": "col", "tile_dv": 4}, {**AN_APPEND, "rope": "inter", "tile_s": 8}],
)  # fmt: skip
def rows_feed_all_threads(c: StepQuantities) -> BoolExpr:
    """Every one of 256 threads has 16 bytes of new rows of K and V, and of Q that is embedded.

    Why: the distribution of the load would have a length of 0.

    Fix: use more rows in a block.
    """
    return all_of(
        _spread(c, c.tile_sk, c.tile_d)[0], _values(c)[0],
        (c.rope == "no") | _spread(c, c.tile_s, c.tile_d)[0],
    )  # fmt: skip


_LEFT_OVER: Mapping[str, Any] = {
    **AN_APPEND, "hdim": 96, "tile_d": 96, "tile_dv": 96, "tile_sk": 60,
}  # fmt: skip


@rule(
    "FSTP010", "rows-never-appended", kind="wrong-result",
    applies=lambda c: c.variant == APPEND,
    says=["lanes and waves do not cover the new rows of K: tile_sk = {tile_sk}, tile_d = {tile_d}",
          "lanes and waves do not cover the new rows of V: tile_sk = {tile_sk}, tile_dv = {tile_dv}",
          "lanes and waves do not cover the rows of Q that are embedded: tile_s = {tile_s}, tile_d = {tile_d}",
          "lanes left over rotate a row of the next wave by places of another lane: tile_d = {tile_d}"],
    source=f"{_APPEND}: MakeKnewDramTileDistribution, MakeVnewDramTileDistribution, MakeQDramTileDistribution (truncating divisions)",
    accepts=[AN_APPEND, _LEFT_OVER],
    rejects=[{**AN_APPEND, "hdim": 96, "tile_d": 96}, {**AN_APPEND, "hdim": 96, "tile_dv": 96},
             {**_LEFT_OVER, "rope": "inter", "tile_s": 60, "pad_d": True}],
)  # fmt: skip
def rows_are_appended(c: StepQuantities) -> BoolExpr:
    """Lanes and waves cover the new rows of K and V, and those of Q that are embedded.

    Why: the lengths of a load come from truncating divisions, and nothing compares them with the
    tile; rows beyond are not copied. Where the lanes of a wave are not whole rows, those left over
    have the first row of the next wave, too: they copy it alike, but rotate it otherwise.

    Fix: use powers of two.
    """
    return all_of(
        _spread(c, c.tile_sk, c.tile_d)[1], _values(c)[1],
        (c.rope == "no") | _spread(c, c.tile_s, c.tile_d)[1],
        (c.rope == "no") | _whole_lanes(c),
    )  # fmt: skip


@rule(
    "FSTP011", "product-rows-not-whole", kind="compile",
    applies=lambda c: c.variant == DOT,
    says=["a block has as many threads as rows: tile_s = {tile_s}",
          "a block has as many threads as rows: tile_s = {tile_s}, expected whole waves of {wave_size} lanes",
          "a thread loads 16 bytes of O at once: the head dimension {hdim} is not a multiple of {16 // element_bytes}"],
    source=["ops/fmha/pipeline/block_fmha_bwd_pipeline_problem.hpp: BlockFmhaBwdOGradDotOPipelineProblem static_assert kBlockSize_ % get_warp_size() == 0",
            f"{_BWD}: MakePreXDramTileDistribution static_assert on the product of lengths"],
    accepts=[A_DOT, {**A_DOT, "tile_s": 32, "arch": "gfx1201"}],
    rejects=[{**A_DOT, "tile_s": 96}, {**A_DOT, "tile_s": 0}, {**A_DOT, "hdim": 44}],
)  # fmt: skip
def product_rows_are_waves(c: StepQuantities) -> BoolExpr:
    """The rows of dO times O are whole waves, and a head is whole vectors of 16 bytes.

    Why: asserted; a thread has a row.

    Fix: use a multiple of the wave size for tile_s, and a padded head.
    """
    vector: IntExpr = 16 // c.element_bytes
    return all_of(c.tile_s >= 1, c.tile_s % c.wave_size == 0, c.hdim % vector == 0)


@rule(
    "FSTP012", "converted-rows-not-covered", kind="compile",
    applies=lambda c: c.variant == CONVERT,
    says=["a lane converts 4 elements at once: hdim = {hdim}", "a block converts no rows: tile_s = {tile_s}",
          "lanes and waves do not cover the converted rows: tile_s = {tile_s}, hdim = {hdim}, 256 threads"],
    source=f"{_BWD}: MakePostQGradAccDramTileDistribution, MakePostQGradDramTileDistribution static_assert on the product of lengths",
    accepts=[A_CONVERT, {**A_CONVERT, "hdim": 48, "tile_s": 60}],
    rejects=[{**A_CONVERT, "hdim": 2}, {**A_CONVERT, "hdim": 48}, {**A_CONVERT, "hdim": 32, "tile_s": 16}],
)  # fmt: skip
def converted_rows_are_covered(c: StepQuantities) -> BoolExpr:
    """256 threads cover the rows of dQ that a block converts, four elements a lane.

    Why: asserted.

    Fix: use a multiple of the rows that all waves have, which for 48 and 96 are 20 and 8.
    """
    lanes = minimum(c.hdim // 4, c.wave_size)
    head = c.hdim // (lanes * 4) * lanes * 4
    turn = _THREADS // c.wave_size * (c.wave_size // lanes)
    rows = c.tile_s // turn * turn
    return all_of(c.hdim >= 4, c.tile_s >= 1, rows * head == c.tile_s * c.hdim)


@rule(
    "FSTP014", "product-block-too-large", kind="launch",
    applies=lambda c: c.variant == DOT,
    says="a block has as many threads as rows, more than the {table max_threads} that {arch} launches: tile_s = {tile_s}",
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdOGradDotOKernel, kM0 = kBlockSize",
            "arch/data/*.toml max_threads"],
    accepts=[A_DOT, {**A_DOT, "tile_s": 1024}], rejects=[{**A_DOT, "tile_s": 2048}],
)  # fmt: skip
def product_rows_can_be_launched(c: StepQuantities) -> BoolExpr:
    """The rows of dO times O are no more than the threads that the GPU launches in a block.

    Why: a thread has a row; compilers take launch bounds beyond the limit.

    Fix: use fewer rows.
    """
    return c.tile_s <= c.fact("max_threads")


@rule(
    "FSTP013", "parts-of-no-rows", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant == CONVERT) & c.deterministic,
    says="the number of dQ's parts is a division by the rows of K in a block: tile_sk = {tile_sk}",
    source=["ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdConvertQGradKernel, nsplits = integer_divide_ceil(seqlen_k, kN0)",
            "ops/fmha/kernel/fmha_bwd_kernel.hpp: nsplits_ptr, written by FmhaBwdWorkspaceManager (CK 2026.09, read in ROCm/rocm-libraries @ 40bda5c)"],
    issue="ROCm/rocm-libraries#6152",
    accepts=[{**A_CONVERT, "tile_sk": 128, "deterministic": True}],
    rejects=[{**A_CONVERT, "deterministic": True}],
)  # fmt: skip
def parts_have_rows(c: StepQuantities) -> BoolExpr:
    """Where dQ comes in parts, each has rows of K.

    Why: their number is the length of K's sequence, divided by the rows of a block. Since 2026.06
    the kernel of dQ, dK and dV leaves the number in its workspace.

    Fix: give tile_sk, as the kernel of dQ, dK and dV has it.
    """
    return implies(c.deterministic, c.tile_sk >= 1)

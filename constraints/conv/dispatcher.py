"""DISP: what upstream's dispatcher filters away before it writes code (profile `dispatcher`).

The filter runs with strict mode off and with one wave along K, whatever the configuration says.
Depthwise kernels pass it unseen, so this profile has no rules for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.constraints.tile_gemm.upstream import trait_is_listed
from ckrules.engine.expr import BoolExpr, IntExpr, Value, all_of, implies, lookup, rel
from ckrules.engine.rules import rule

_FILTER = "dispatcher/codegen/arch_filter.py (CK 2026.06)"
_TESTS = "dispatcher/tests/test_lds_capacity_arch_aware.py (CK 2026.09, read)"
_PROFILE = ("dispatcher",)
_GFX1201: Mapping[str, Value] = {
    "arch": "gfx1201", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16,
    "wave_m": 2, "wave_n": 4,
}  # fmt: skip


def known_gpu(c: ConvQuantities) -> BoolExpr:
    """The dispatcher has tables for the GPU; it checks nothing against tables it lacks."""
    return rel(c.facts["dispatcher_gpus"], c.arch)


@rule(
    "DISP001", "tile-not-aligned-for-operator", kind="profile", profiles=_PROFILE,
    says=["the dispatcher wants a multiple of 16: tile_n = {tile_n}",
          "the dispatcher wants a multiple of 16 in {variant}: tile_k = {tile_k}",
          "the dispatcher wants a multiple of 16 in {variant}: tile_m = {tile_m}"],
    source=f"{_FILTER}: OPERATOR_TILE_CONSTRAINTS",
    accepts=[{}, {"variant": "bwd_weight", "tile_k": 8}],
    rejects=[{"tile_k": 8}, {"variant": "bwd_weight", "tile_m": 8}],
)  # fmt: skip
def tile_is_aligned(c: ConvQuantities) -> BoolExpr:
    """The block tile has a multiple of 16 elements along the channels of the operator.

    Why: the filter asks for at least 16, and a multiple of 16, of N and K in forward and
    backward data and of M and N in backward weight. The C++ has no such rule.

    Fix: use a tile of at least 16.
    """
    return all_of(
        c.tile_n % 16 == 0,
        implies(c.variant != "bwd_weight", c.tile_k % 16 == 0),
        implies(c.bwd_weight, c.tile_m % 16 == 0),
    )


@rule(
    "DISP002", "wave-map-not-listed", kind="profile", profiles=_PROFILE,
    applies=known_gpu,
    says=("{arch} has no wave map {wave_m}x{wave_n} in the dispatcher's table, {table "
          "dispatcher_waves}"),
    source=f"{_FILTER}: _validate_warp_config; arch_specs.json warp_configs",
    accepts=[{}, {"wave_m": 1, "wave_n": 1, "wave_k": 2}, _GFX1201],
    rejects=[{"wave_m": 4, "wave_n": 2}, {"arch": "gfx1201"}],
)  # fmt: skip
def wave_map_is_listed(c: ConvQuantities) -> BoolExpr:
    """The waves along M and N are a wave map of the GPU in the dispatcher's table.

    Why: the generator passes 1 for the waves along K, so the maps with one wave along K decide,
    even for a kernel with two. The C++ takes any map that covers the tile.

    Fix: take a wave map of the table.
    """
    return rel(c.facts["dispatcher_waves"], c.arch, c.wave_m, c.wave_n, 1)


@rule(
    "DISP003", "warp-tile-not-listed", kind="profile", profiles=_PROFILE,
    applies=lambda c: rel(c.facts["dispatcher_dtypes"], c.arch, c.dtype),
    says=("{arch} has no {dtype} warp tile {warp_tile} in the dispatcher's table, {table "
          "dispatcher_warp_tiles}"),
    source=f"{_FILTER}: _validate_warp_tile_combo; arch_specs.json warp_tile_combos",
    accepts=[{}, _GFX1201],
    rejects=[{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 64},
             {**_GFX1201, "warp_tile_k": 32}],
)  # fmt: skip
def warp_tile_is_listed(c: ConvQuantities) -> BoolExpr:
    """The warp tile is in the dispatcher's row of the GPU and dtype.

    Why: a GPU and dtype without a row are accepted with a warning, so fp32 passes on RDNA; the
    rows that exist are checked exactly. On gfx11 and gfx12 they hold 16x16x16 only, whereas
    BLDR003 asks for a K of 32 or more: no tagged configuration meets both.

    Fix: take a warp tile of the table.
    """
    return rel(
        c.facts["dispatcher_warp_tiles"],
        c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k,
    )  # fmt: skip


@rule(
    "DISP004", "pipeline-not-for-backward", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.backward,
    says="in {variant} the dispatcher takes compv3 and mem, not {pipeline}",
    source=f"{_FILTER}: _validate_trait_combo, conv_bwd_supported_pipelines",
    accepts=[{"variant": "bwd_data"}, {"variant": "bwd_weight", "pipeline": "mem"}],
    rejects=[{"variant": "bwd_data", "pipeline": "basic_v1"},
             {"variant": "bwd_weight", "pipeline": "compv6"}],
)  # fmt: skip
def backward_pipeline(c: ConvQuantities) -> BoolExpr:
    """Backward kernels use compv3 or mem.

    Why: the filter keeps only these two, although since 2026.06 the C++ compiles the backward
    directions with basic_v1, compv4, compv6 and wavelet too. Upstream's own list for backward
    data holds basic_v1 (compv1) and wavelet only.

    Fix: use compv3 or mem.
    """
    return c.pipeline.isin("compv3", "mem")


trait_is_supported = rule(
    "DISP005", "trait-combination-refused", kind="profile", profiles=_PROFILE,
    says="the dispatcher refuses {pipeline} with {scheduler} and epilogue {epilogue}",
    source="dispatcher/codegen/arch_specs.json: unsupported_traits (CK 2026.06)",
    accepts=[{}, {"pipeline": "mem", "scheduler": "interwave"}],
    rejects=[{"scheduler": "interwave"}],
)(trait_is_listed)  # fmt: skip


@rule(
    "DISP006", "staging-over-limit", kind="profile", profiles=_PROFILE,
    says=("the dispatcher lets {pipeline} stage {table dispatcher_lds} bytes on {arch}, "
          "less than {(tile_m + tile_n) * tile_k * element_bytes=}"),
    source=f"{_FILTER}: _validate_lds_capacity, LDS_CAPACITY_LIMITS",
    issue="ROCm/rocm-libraries#12173",
    accepts=[{}, {"tile_m": 256, "tile_n": 256},
             {"arch": "gfx950", "tile_m": 256, "tile_n": 256, "tile_k": 128, "@ck": "2026.09"}],
    rejects=[{"tile_m": 256, "tile_n": 256, "tile_k": 128},
             {"pipeline": "compv6", "tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def staging_fits(c: ConvQuantities) -> BoolExpr:
    """The A and B tiles together fit the bytes that the dispatcher allows the pipeline.

    Why: in June 2026 the limits are fixed: 32768 bytes for compv4 and compv6, 65536 for the
    others, on every GPU. compv6 has one buffer, so the C++ allows it twice as much; gfx950 has
    160 KB. Since 2026.09 they are the GPU's capacity, or half of it.

    Fix: lower the tile, above all tile_k.
    """
    staged = (c.tile_m + c.tile_n) * c.tile_k * c.element_bytes
    limit: IntExpr = lookup(c.facts["dispatcher_lds"], c.arch, c.pipeline)
    return staged <= limit


@rule(
    "DISP008", "staging-twice-over-limit", kind="profile", profiles=_PROFILE, since="2026.09",
    applies=lambda c: c.double_smem_buffer,
    says=("the dispatcher lets {pipeline} stage {table dispatcher_lds_twice} bytes twice on "
          "{arch}, less than {(tile_m + tile_n) * tile_k * element_bytes=}"),
    source=f"{_TESTS}: TestDoubleBufferedStaging (get_lds_limit)",
    issue="ROCm/rocm-libraries#12173",
    accepts=[{"double_smem_buffer": True}],
    rejects=[{"double_smem_buffer": True, "tile_m": 256, "tile_n": 256}],
)  # fmt: skip
def two_stagings_fit(c: ConvQuantities) -> BoolExpr:
    """With two LDS buffers the A and B tiles together take half of the GPU's LDS at most.

    Why: the buffers of mem, compv3, compv5 and compv6 are a choice, which the limit by pipeline
    does not know.

    Fix: lower the tile, above all tile_k, or use one buffer.
    """
    staged = (c.tile_m + c.tile_n) * c.tile_k * c.element_bytes
    limit: IntExpr = lookup(c.facts["dispatcher_lds_twice"], c.arch, c.pipeline)
    return staged <= limit


@rule(
    "DISP007", "tile-not-covered", kind="profile", profiles=_PROFILE,
    says=[("the waves do not cover tile_m = {tile_m}, which is not a multiple of {wave_m * "
          "warp_tile_m=}"),
          ("the waves do not cover tile_n = {tile_n}, which is not a multiple of {wave_n * "
          "warp_tile_n=}"),
          ("the waves do not cover tile_k = {tile_k}, which is not a multiple of "
          "warp_tile_k = {warp_tile_k}")],
    source=f"{_FILTER}: _validate_dimensions, _validate_dimension_alignment",
    accepts=[{}, {"tile_k": 16, "wave_k": 2}],
    rejects=[{"tile_m": 96}, {"tile_k": 8}],
)  # fmt: skip
def tile_is_covered(c: ConvQuantities) -> BoolExpr:
    """Waves and warp tiles cover the block tile exactly along M, N and K.

    Why: as in the C++, and along K as well, there with one wave.

    Fix: use fewer waves, a smaller warp tile or another tile.
    """
    return all_of(
        c.tile_m % (c.wave_m * c.warp_tile_m) == 0,
        c.tile_n % (c.wave_n * c.warp_tile_n) == 0,
        c.tile_k % c.warp_tile_k == 0,
    )

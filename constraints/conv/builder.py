"""BLDR: what upstream's instance builder refuses (profile `builder`).

BLDR001 to BLDR009 are the check that every configuration of a rule set passes before it is
listed (`PER_CONFIGURATION`); BLDR010 and on are the filters of the reader of ``.conf`` files.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.constraints.tile_gemm.pipelines import PART_LOADS, loads_are_whole
from ckrules.constraints.tile_gemm.upstream import REFUSED_TRAITS
from ckrules.engine.expr import BoolExpr, IntExpr, Value, all_of, implies, ite, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import RuleDef, rule

_CHECK = (
    "dispatcher/codegen/unified_grouped_conv_codegen.py: GroupedConvKernelConfig.is_valid_for_arch"
)
_RULES = "dispatcher/codegen/grouped_conv/grouped_config_rules_default.py"
_CONF = "experimental/grouped_convolution_tile_instances/generate_instances.py"
_PROFILE = ("builder",)
_GFX1201: Mapping[str, Value] = {
    "arch": "gfx1201", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32,
    "wave_m": 2, "wave_n": 4,
}  # fmt: skip


def _wave32(c: ConvQuantities) -> BoolExpr:
    return c.wave_size == 32


#: Combinations that the check of a configuration refuses: the dispatcher's, and one more pipeline.
_REFUSED = Table.relation(
    "refused_by_builder",
    REFUSED_TRAITS.keys,
    [*REFUSED_TRAITS.rows, *(("basic_async_v1", e, "interwave") for e in ("cshuffle", "default"))],
    source="dispatcher/codegen/codegen_common.py: TraitConfigBase._UNSUPPORTED",
)


@rule(
    "BLDR001", "trait-refused-by-builder", kind="profile", profiles=_PROFILE,
    says="the builder refuses {pipeline} with {scheduler} and epilogue {epilogue}",
    source="dispatcher/codegen/codegen_common.py: TraitConfigBase.is_valid (CK 2026.06)",
    accepts=[{}, {"pipeline": "mem", "scheduler": "interwave"}],
    rejects=[{"scheduler": "interwave"},
             {"pipeline": "basic_async_v1", "scheduler": "interwave"}],
)  # fmt: skip
def trait_is_valid(c: ConvQuantities) -> BoolExpr:
    """The pipeline, epilogue and scheduler are not a combination of the refused list.

    Why: the list has interwave with basic_async_v1, comp_async and compv3 to compv6; other
    pipelines that do not know interwave are not in it.

    Fix: use intrawave.
    """
    return ~rel(_REFUSED, c.pipeline, c.epilogue, c.scheduler)


@rule(
    "BLDR002", "streamk-refused-by-builder", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.streamk != "off",
    says=["stream-K is built for bwd_weight only, not for {variant}: streamk = {streamk}",
          "stream-K is built for wave64 GPUs only: {arch} has waves of {wave_size} lanes"],
    source=f"{_RULES}: is_streamk_valid_for_variant, check_wmma_native_warp_tile",
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"streamk": "tree"}, {**_GFX1201, "variant": "bwd_weight", "streamk": "tree"}],
)  # fmt: skip
def streamk_is_wave64_bwd_weight(c: ConvQuantities) -> BoolExpr:
    """Stream-K is built for backward weight on wave64 GPUs only.

    Why: the C++ is narrower still: gfx908 has no stream-K.

    Fix: turn streamk off.
    """
    return c.bwd_weight & ~_wave32(c)


@rule(
    "BLDR003", "wmma-warp-tile-k-below-32", kind="profile", profiles=_PROFILE,
    applies=_wave32,
    says=("on {arch} the builder wants a warp_tile_k of at least 32: warp_tile_k = "
          "{warp_tile_k}"),
    source=f"{_RULES}: check_wmma_instance (k_per_xdl < 32 unless the dtype is \"float\")",
    accepts=[_GFX1201], rejects=[{**_GFX1201, "warp_tile_k": 16}],
)  # fmt: skip
def wmma_k_is_32(c: ConvQuantities) -> BoolExpr:
    """On wave32 GPUs the warp tile's K is at least 32.

    Why: the check exempts the dtype "float", but configurations are tagged "fp32", so only
    untagged ones (rule set `default`) escape it. The WMMA instructions of gfx11 and gfx12 have
    K = 16: the builder asks for a warp tile that computes nothing there (WARP002), and DISP003
    allows nothing but 16x16x16.

    Fix: none that also computes; see docs/upstream-differences.md.
    """
    return c.warp_tile_k >= 32


@rule(
    "BLDR004", "wmma-waves-exceed-tile-k", kind="profile", profiles=_PROFILE,
    applies=_wave32,
    says=("on {arch} the waves along K do not fit tile_k = {tile_k}: {wave_k * "
          "warp_tile_k=}"),
    source=f"{_RULES}: check_wmma_instance (k_warp * k_per_xdl > k_per_block)",
    accepts=[_GFX1201], rejects=[{**_GFX1201, "tile_k": 16}],
)  # fmt: skip
def wmma_waves_fit_k(c: ConvQuantities) -> BoolExpr:
    """On wave32 GPUs the waves along K and the warp tile fit the block tile's K.

    Why: every wave along K needs a whole warp tile.

    Fix: raise tile_k.
    """
    return c.wave_k * c.warp_tile_k <= c.tile_k


@rule(
    "BLDR005", "wmma-warp-tile-m-32", kind="profile", profiles=_PROFILE,
    applies=_wave32,
    says="on {arch} the builder has no warp_tile_m = {warp_tile_m}",
    source=f"{_RULES}: check_wmma_instance (m_per_xdl == 32)",
    accepts=[_GFX1201], rejects=[{**_GFX1201, "warp_tile_m": 32}],
)  # fmt: skip
def wmma_m_is_not_32(c: ConvQuantities) -> BoolExpr:
    """On wave32 GPUs the warp tile's M is not 32.

    Why: gfx11 and gfx12 have no such WMMA; on gfx1250 the rule is stricter than the hardware.

    Fix: use 16x16.
    """
    return c.warp_tile_m != 32


@rule(
    "BLDR006", "compv5-refused-in-backward", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.backward,
    says="the builder refuses {pipeline} in {variant}",
    source=f"{_RULES}: UNSUPPORTED_VARIANT_PIPELINES",
    accepts=[{"variant": "bwd_data"}], rejects=[{"variant": "bwd_weight", "pipeline": "compv5"}],
)  # fmt: skip
def no_compv5_in_backward(c: ConvQuantities) -> BoolExpr:
    """Backward kernels do not use compv5.

    Why: its transposed tiles did not compile when the rule was written.

    Fix: use compv3 or mem.
    """
    return c.pipeline != "compv5"


@rule(
    "BLDR007", "irregular-vector", kind="profile", profiles=_PROFILE,
    says=["vector_a = {vector_a} is neither 1 nor even",
          "vector_b = {vector_b} is neither 1 nor even",
          "vector_c = {vector_c} is neither 1 nor even"],
    source=f"{_RULES}: check_vectors",
    accepts=[{}, {"vector_a": 6}], rejects=[{"vector_a": 3}],
)  # fmt: skip
def vectors_are_even(c: ConvQuantities) -> BoolExpr:
    """Every vector width is 1 or even.

    Why: meant are 1, 2, 4, 8 and 16; the test lets 6, 10 and 12 through.

    Fix: use a power of two.
    """
    return all_of(*((v == 1) | (v % 2 == 0) for v in (c.vector_a, c.vector_b, c.vector_c)))


@rule(
    "BLDR008", "wave-map-not-of-gpu", kind="profile", profiles=_PROFILE,
    says="{arch} has no wave map {wave} in upstream's table, {table dispatcher_waves}",
    source=f"{_CHECK}; arch_specs.json warp_configs",
    accepts=[{}, {"wave_m": 2, "wave_n": 1, "wave_k": 2}],
    rejects=[{"wave_m": 4, "wave_n": 4}, {"arch": "gfx90a", "wave_m": 1, "wave_n": 1}],
)  # fmt: skip
def wave_map_is_of_gpu(c: ConvQuantities) -> BoolExpr:
    """The waves along M, N and K are a wave map of the GPU in upstream's table.

    Why: unlike the dispatcher's filter (DISP002) this test sees the waves along K, and refuses
    a GPU without a table.

    Fix: take a wave map of the table.
    """
    return rel(c.facts["dispatcher_waves"], c.arch, c.wave_m, c.wave_n, c.wave_k)


@rule(
    "BLDR009", "compv6-without-whole-load", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.pipeline == "compv6",
    says=PART_LOADS,
    source=f"{_RULES}: check_tile_coverage",
    accepts=[{"pipeline": "compv6"}],
    rejects=[{"pipeline": "compv6", "tile_m": 16, "tile_k": 32, "vector_a": 8}],
)  # fmt: skip
def compv6_has_loads(c: ConvQuantities) -> BoolExpr:
    """In compv6 each thread issues at least one whole vector load of A and of B.

    Why: the scheduler divides by the number of loads. compv3 does so too (PIPE006) and is not
    tested.

    Fix: narrow the vector or raise the tile.
    """
    return loads_are_whole(c)


@rule(
    "BLDR010", "tile-beyond-one-wave-of-vectors", kind="profile", profiles=_PROFILE,
    says=[("in {variant} one wave's vectors of A cover {wave_size * vector_a=} elements, "
          "fewer than {ite(variant == 'bwd_data', tile_k, tile_m)=}"),
          ("one wave's vectors of B cover {wave_size * vector_b=} elements, fewer than "
          "tile_n = {tile_n}")],
    source=f"{_CONF}: check_warp_coverage",
    accepts=[{}, {"variant": "bwd_data", "tile_m": 256, "vector_a": 1}],
    rejects=[{"tile_m": 256, "vector_a": 1}],
)  # fmt: skip
def one_wave_covers_tile(c: ConvQuantities) -> BoolExpr:
    """One wave's vectors reach across the block tile: M of A (K in backward data) and N of B.

    Why: the reader of .conf files drops the others. For forward it looks at the wrong axis
    (both operands are contiguous in K), and since 2026.06 a wave may go over a row several
    times, so the C++ has no such limit.

    Fix: use wider vectors.
    """
    extent: IntExpr = ite(c.variant == "bwd_data", c.tile_k, c.tile_m)
    return all_of(extent <= c.wave_size * c.vector_a, c.tile_n <= c.wave_size * c.vector_b)


@rule(
    "BLDR011", "vector-beyond-share-of-thread", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.variant == "bwd_data",
    says=[("in {variant} vector_a = {vector_a} is more than a thread's share of A, {tile_m * "
          "tile_k // threads=}"),
          ("in {variant} vector_b = {vector_b} is more than a thread's share of B, {tile_n * "
          "tile_k // threads=}")],
    source=f"{_CONF}: check_bwd_data_vec_coverage",
    accepts=[{"variant": "bwd_data"}],
    rejects=[{"variant": "bwd_data", "tile_m": 16, "tile_k": 32, "pipeline": "mem"}],
)  # fmt: skip
def vectors_within_share(c: ConvQuantities) -> BoolExpr:
    """In backward data a vector is no longer than the elements that a thread loads.

    Why: needed by compv3 and compv6 in every direction (PIPE006); other pipelines narrow the
    vector, so for them the rule is too strict.

    Fix: narrow the vector.
    """
    return all_of(
        c.vector_a <= c.tile_m * c.tile_k // c.threads,
        c.vector_b <= c.tile_n * c.tile_k // c.threads,
    )


@rule(
    "BLDR012", "interwave-refused-by-reader", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.scheduler == "interwave",
    says="{pipeline} is not read with {scheduler}, only basic_v1 and mem are",
    source=f"{_CONF}; {_RULES}: INTERWAVE_PIPELINES",
    accepts=[{"scheduler": "interwave", "pipeline": "mem"}],
    rejects=[{"scheduler": "interwave", "pipeline": "wavelet"}],
)  # fmt: skip
def interwave_pipelines(c: ConvQuantities) -> BoolExpr:
    """Only basic_v1 and mem are read with interwave.

    Why: the C++ agrees (PIPE002).

    Fix: use intrawave.
    """
    return c.pipeline.isin("basic_v1", "mem")


@rule(
    "BLDR013", "async-streamk-in-fp32", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.streamk != "off",
    says="stream-K with {pipeline} is not read for {dtype}: streamk = {streamk}",
    source=f"{_CONF}: stream-K instances",
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"variant": "bwd_weight", "streamk": "tree", "dtype": "fp32",
              "pipeline": "basic_async_v1"}],
)  # fmt: skip
def no_async_streamk_in_fp32(c: ConvQuantities) -> BoolExpr:
    """Stream-K with basic_async_v1 is not read for fp32.

    Why: the reader drops it without a reason; the rule set `full` lists it.

    Fix: use another pipeline or dtype.
    """
    return implies(c.pipeline == "basic_async_v1", c.dtype != "fp32")


#: The check of a single configuration, which every listed one has passed.
PER_CONFIGURATION: tuple[RuleDef, ...] = (
    trait_is_valid, streamk_is_wave64_bwd_weight, wmma_k_is_32, wmma_waves_fit_k,
    wmma_m_is_not_32, no_compv5_in_backward, vectors_are_even, wave_map_is_of_gpu,
    compv6_has_loads,
)  # fmt: skip
#: Of these, the test that reads the dtype tag; it spares configurations without one.
READS_TAG = wmma_k_is_32.code

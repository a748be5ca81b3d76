"""Fields and derived quantities of attention forward, and the facts that its rules look up.

Facts: ops/fmha/pipeline/tile_fmha_shape.hpp TileFmhaShape and tile_fmha_traits.hpp
TileFmhaTraits, CK 2025.11. Product 0 is Q K, of tile_m0 x tile_n0 with steps of tile_k0 along the
head dimension; product 1 is P V, of tile_m0 x tile_n1 with steps of tile_k1 along K's sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.fmha import fields as f
from ckrules.constraints.fmha import targets
from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.fields import AttentionShape
from ckrules.constraints.fmha.gpu_facts import GpuFacts, WavesOfProducts
from ckrules.constraints.fmha.warp_gemms import DEPTHS, DROPOUT, hardware, is_wmma, products
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    Value,
    any_of,
    ite,
    lookup,
    maximum,
    minimum,
)
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Int
from ckrules.engine.rules import version_key
from ckrules.engine.rules.book import quantity, quantity_in

#: Fields that a configuration may leave out.
DEFAULTS: Mapping[str, Value] = {
    "wave_k0": 1, "wave_k1": 1, "block_per_cu": -1, "v_layout": "row", "logits": False,
    "bias": "no", "mask": "no", "lse": False, "dropout": False, "skip": False, "squant": False,
    "trload": False, "paged_kv": False, "sink": False, **w.LISTED,
}  # fmt: skip

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "fmha_fwd", "arch": "gfx942", "dtype": "fp16", "mode": "batch", "hdim": 128,
    "tile_m0": 128, "tile_n0": 128, "tile_k0": 32, "tile_n1": 128, "tile_k1": 32,
    "tile_k0max": 128, "wave_m0": 4, "wave_n0": 1, "wave_m1": 4, "wave_n1": 1,
    "warp_tile_m0": 32, "warp_tile_n0": 32, "warp_tile_k0": 16, "warp_tile_m1": 32,
    "warp_tile_n1": 32, "warp_tile_k1": 16, "pipeline": "qr", "pad_s": False, "pad_sk": False,
    "pad_d": False, "pad_dv": False, **DEFAULTS,
}  # fmt: skip

TILE = ("tile_m0", "tile_n0", "tile_k0", "tile_n1", "tile_k1", "tile_k0max")
WAVES = tuple(tuple(f"wave_{x}{p}" for x in "mnk") for p in (0, 1))
WARP_TILES = tuple(tuple(f"warp_tile_{x}{p}" for x in "mnk") for p in (0, 1))
PADS = ("pad_s", "pad_sk", "pad_d", "pad_dv")

COSTS: Mapping[str, int] = {
    "hdim": 60, "mode": 60, "v_layout": 40, "bias": 60, "mask": 60, "logits": 60, "lse": 40,
    "dropout": 60, "squant": 60, "paged_kv": 60, "sink": 60,
    **dict.fromkeys(w.LISTED, 60), "tile": 8, "waves0": 6, "waves1": 6,
}  # fmt: skip

#: The order of the fields that every forward kernel has, before what it adds to the products.
SHAPE_ORDER = (
    "variant", "arch", "dtype", "pipeline", "hdim", "mode", *WARP_TILES[0], *WARP_TILES[1],
    *WAVES[0], *WAVES[1], "tile_k0max", "tile_k0", "tile_n1", "tile_k1", "tile_m0", "tile_n0",
    "block_per_cu", "v_layout", *PADS,
)  # fmt: skip
ORDER = (
    *SHAPE_ORDER, "trload", "squant", "logits", "bias", "mask", "lse", "dropout", "skip",
    "paged_kv", "sink", *w.LISTED,
)  # fmt: skip


class _Types(GpuFacts, AttentionShape):
    """Operands and target of an attention kernel."""

    @quantity_in("bytes")
    def element_bytes(self) -> IntExpr:
        """Size of an element of Q, K and V."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity
    def target(self) -> EnumExpr:
        """The factory of upstream's generator that takes the GPU; none: it refuses the GPU."""
        node: EnumExpr = ite(
            self.variant == "fmha_fwd",
            lookup(self.facts["target_apart"], self.arch),
            lookup(self.facts["target"], self.arch),
        )
        return node


class AttentionQuantities(WavesOfProducts, _Types):
    """The fields of an attention kernel, its facts and derived quantities."""

    @property
    def staged(self) -> BoolExpr:
        """Pipelines of BlockFmhaPipelineQXKSVSCustomPolicy: all but qr_async_trload."""
        return self.pipeline != "qr_async_trload"

    @property
    def shuffles(self) -> BoolExpr:
        """Where waves write scores into LDS and each reads whole rows of them for product 1."""
        return self.pipeline == w.SHUFFLED

    @property
    def keeps_p(self) -> BoolExpr:
        """Where a wave's registers of product 0 become its operands of product 1."""
        return ~self.shuffles & (self.staged | (self.wave_n0 == 1))

    @property
    def transposing(self) -> BoolExpr:
        """Where qr_async_trload has a body."""
        return (self.pipeline == "qr_async_trload") & self.transposes

    @property
    def has_body(self) -> BoolExpr:
        """Whether the compiler looks at the kernel's body (FmhaFwdKernel::kIsAvailable)."""
        return ~((self.variant == "fmha_fwd") & self.trload) | self.transposes

    @property
    def asynchronous(self) -> BoolExpr:
        """Pipelines that load K into LDS past the registers."""
        return self.pipeline == "qr_async"

    @property
    def hpad(self) -> tuple[str, ...]:
        """The pipelines that pad heads and load vectors of them all the same."""
        return (w.HPAD,) if self.since("2026.06") else ()

    @property
    def tiles_target(self) -> EnumExpr:
        """The target whose tiles a GPU has: those of gfx950 are gfx9's."""
        node: EnumExpr = lookup(self.facts["target"], self.arch)
        return node

    @quantity_in("lanes")
    def scores_lanes(self) -> IntExpr:
        """Lanes over which product 0 spreads the scores of a warp tile."""
        return ite(self._wmma(0), self.wave_size, 64)

    @quantity_in("lanes")
    def values_lanes(self) -> IntExpr:
        """Lanes over which product 1 spreads a warp tile of P, those that hold copies left out."""
        both = self.has("operands_in_both_halves") & self.dtype.isin(*w.HALVES)
        return ite(self._wmma(1), ite(both, self.wave_size // 2, self.wave_size), 64)

    def _wmma(self, product: int) -> BoolExpr:
        tile = [getattr(self, name) for name in WARP_TILES[product]]
        return is_wmma(self, self.dtype, tile)

    @property
    def lanes_differ(self) -> BoolExpr:
        """Where product 1 takes P from other lanes than product 0 leaves it in.

        Since 2026.06 GPUs whose waves hold operands in both halves bring P there (read:
        PermuteWarpGemmCToA in block_fmha_pipeline_qr_ks_vs.hpp and those of splits and pages).
        """
        differ = self.scores_lanes != self.values_lanes
        later = self.since("2026.06")
        return differ | self.has("operands_in_both_halves") if later else differ

    @quantity
    def k_vector(self) -> IntExpr:
        """Elements of K that a lane loads at once, straight to LDS."""
        node: IntExpr = ite(self.transposes, 16, 4)
        return node // self.element_bytes

    @property
    def in_vectors(self) -> BoolExpr:
        """Whether rows of V lie together in vectors of 16 bytes, as pages have them since 2026.06."""
        return self.kv_vectors if self.since("2026.06") else FALSE

    @quantity_in("lanes")
    def v_across(self) -> IntExpr:
        """Lanes along the head dimension in a warp tile of V."""
        return maximum(self.warp_tile_m1, self.warp_tile_n1)

    @quantity
    def v_pack(self) -> IntExpr:
        """Elements of V that lie together in LDS: of vectors those that a lane multiplies at once."""
        node = minimum(self.v_elements, 16 // self.element_bytes)
        if self.since("2026.06"):
            rows = self.warp_tile_k1 * self.v_across // self.wave_size
            node = ite(self.in_vectors, rows, node)
        return node

    @quantity
    def v_elements(self) -> IntExpr:
        """Elements of V that a thread loads in a step."""
        return self.tile_n1 * self.tile_k1 // self.threads

    @quantity_in("elements")
    def v_least(self) -> IntExpr:
        """Elements of V that a thread has to load in a step at least."""
        return ite((self.v_layout == "row") & (self.element_bytes < 4), 4 // self.element_bytes, 1)

    @quantity
    def v_vector(self) -> IntExpr:
        """Elements of V that a thread loads at once."""
        least = self.v_least
        rows = ite(self.v_elements // self.v_pack >= least, self.v_pack, self.v_elements // least)
        return ite(self.v_layout == "row", rows, self.v_pack)

    @quantity
    def q_columns(self) -> IntExpr:
        """Elements of a head of Q in registers: tile_k0max, rounded up where that is 80, 96 or 160."""
        node: IntExpr = ite(
            self.tile_k0max == 96, 128, ite(self.tile_k0max == 160, 256, self.tile_k0max)
        )
        if self.since("2026.09"):
            node = ite(self.tile_k0max == 80, 96, node)
        return node

    @quantity
    def p_columns(self) -> IntExpr:
        """Elements of a row of P in registers: whole warp tiles."""
        row = self.wave_n0 * self.warp_tile_n0
        return self.tile_n0 // row * row

    @property
    def v_in_pairs(self) -> BoolExpr:
        """Where a thread's elements of row-major V are not whole vectors in a pack of LDS."""
        deep = self.v_elements // self.v_vector
        return (self.v_elements % self.v_vector != 0) | (self.v_pack % deep != 0)

    @quantity
    def k_elements(self) -> IntExpr:
        """Elements of K that a thread loads in a step, by registers."""
        return self.tile_n0 * self.tile_k0 // self.threads

    @quantity
    def k_load(self) -> IntExpr:
        """Elements of K that a thread loads at once, by registers."""
        return minimum(self.k_elements, 16 // self.element_bytes)

    @quantity
    def q_elements(self) -> IntExpr:
        """Elements of Q that a thread loads in a step of qs."""
        return self.tile_m0 * self.tile_k0 // self.threads

    @quantity
    def q_load(self) -> IntExpr:
        """Elements of Q that a thread of qs loads at once."""
        return minimum(self.q_elements, 16 // self.element_bytes)

    @quantity
    def q_share(self) -> IntExpr:
        """Elements of Q that a thread of qr_nwarp_sshuffle loads."""
        return self.tile_m0 * self.q_columns // self.threads

    @quantity
    def q_pack(self) -> IntExpr:
        """Elements of Q that a thread of qr_nwarp_sshuffle loads at once."""
        return minimum(self.q_share, 16 // self.element_bytes)

    @quantity_in("instructions")
    def scores_instructions(self) -> IntExpr:
        """Matrix instructions of a wave in a step of product 0."""
        tiles = (self.tile_m0 // self.warp_tile_m0) * (self.tile_n0 // self.warp_tile_n0)
        tile = (self.dtype, self.warp_tile_m0, self.warp_tile_k0)
        depth: IntExpr = ite(
            self.transposes,
            lookup(self.facts["instruction_depths_gfx950"], *tile),
            lookup(self.facts["instruction_depths"], *tile),
        )
        return tiles * (self.tile_k0 // depth) // (self.wave_m0 * self.wave_n0)

    @quantity_in("elements")
    def k_stage(self) -> IntExpr:
        """LDS of a step of K: rows with an element pack behind all, or a pack behind each wave's."""
        pack = 16 // self.element_bytes
        plain = pack * (self.tile_k0 // pack * (self.tile_n0 + 1) - 1)
        rows = self.wave_size // (self.tile_k1 // self.k_vector)
        issues = self.tile_n0 // (rows * self.waves)
        straight = issues * self.waves * (self.wave_size * self.k_vector + pack)
        return ite(self.asynchronous, straight, plain)

    @quantity_in("elements")
    def v_stage(self) -> IntExpr:
        """LDS of a step of V: a pack behind every row of all banks."""
        pack: IntExpr = 16 // self.element_bytes
        if self.since("2026.06"):
            pack = ite(self.in_vectors, self.v_pack, pack)
        row = self.fact("lds_banks") * 4 // self.element_bytes
        return self.tile_k1 // pack * (self.tile_n1 // (row // pack)) * (row + pack)

    @quantity_in("bytes")
    def dropout_lds(self) -> IntExpr:
        """LDS of the random numbers of dropout."""
        return ite(self.dropout, (self.wave_m0 * self.warp_tile_m0 + 1) * self.warp_tile_n0, 0)

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup: K and V share buffers, one, or three of qr_async; qs has Q, too.

        Compilers may add to it what they keep there of a thread's arrays (AMDGPUPromoteAlloca).
        """
        size, pack = self.element_bytes, 16 // self.element_bytes
        stage = maximum(self.k_stage, self.v_stage) * size
        q_stage = pack * (self.tile_k0 // pack * (self.tile_m0 + 1) - 1) * size
        total = ite(
            self.asynchronous,
            3 * stage + self.dropout_lds,
            ite(
                self.pipeline == "qs",
                maximum(q_stage + self.k_stage * size, self.v_stage * size) + self.dropout_lds,
                maximum(stage, self.dropout_lds),
            ),
        )
        total = ite(self.shuffles, self._shuffled_bytes, total)
        return ite(self.staged, total, self._transposed_bytes)

    @property
    def _shuffled_bytes(self) -> IntExpr:
        """LDS of qr_nwarp_sshuffle: Q or K, and beside them V or scores of fp32.

        Facts: block_fmha_fwd_splitkv_pipeline_nwarp_sshuffle_qr_ks_vs_default_policy.hpp
        GetSmemSize, CK 2025.11. Of V the pack behind the last row is not counted.
        """
        size, pack, row = self.element_bytes, maximum(self.q_pack, 1), self.fact("lds_banks") * 4
        queries = pack * (self.q_columns // pack * (self.tile_m0 + 1) - 1)
        rows = self.tile_n1 // (row // size // self.v_pack)
        values = self.tile_k1 // self.v_pack * rows * (row // size + self.v_pack) - self.v_pack
        scores = 4 * (self.tile_n0 // 4 * (self.tile_m0 + 1) - 1) * 4
        return maximum(queries, self.k_stage) * size + maximum(values * size, scores)

    @property
    def _transposed_bytes(self) -> IntExpr:
        """LDS of qr_async_trload: K, V and scores that waves share, or Q before them.

        Where K is loaded whole, K and V have two buffers each; in CK 2025.11 that is whole from 64
        rows of Q on, and twice from 128. Since 2026.06 heads of 256 have one of each, K whole
        (block_fmha_pipeline_qr_ks_vs_async_trload_policy.hpp: GetSmemSize, GetSmemSizeS;
        fmha_fwd_kernel.hpp: PrefillCase). Scores of several waves along N lie between K and V, with
        four elements of fp32 behind each row; where there are two of each they have no place.
        """
        size = self.element_bytes
        k, v = self.tile_n0 * self.tile_k0, self.tile_n1 * self.tile_n0
        whole = self.tile_n0 * self.tile_k0max
        scores = ite(self.wave_n0 > 1, 4 * (self.tile_n0 * (self.tile_m0 + 1) - 4), 0)
        small = maximum(self.tile_m0 * self.tile_k0max * size, (k + v) * size + scores)
        large = 2 * (whole + v) * size
        if self.since("2026.06"):
            once = (maximum(self.tile_m0 * self.tile_k0max, whole) + v) * size
            total = ite(self.tile_k0max == 256, once, ite(self.tile_m0 > 64, large, small))
        else:
            total = ite(self.tile_m0 >= 128, large, small)
        return total

    @quantity
    def launch_blocks(self) -> IntExpr:
        """Blocks on a compute unit that the compiler is told of: block_per_cu, or the pipeline's."""
        wide = any_of(
            self.bias == "bias", (self.pipeline == "qr_async_trload") & (self.tile_m0 >= 256)
        )
        usual = ite(
            self.tile_k0max <= 32, 2,
            ite(self.tile_k0max <= 64, 3, ite((self.tile_k0max <= 128) & ~wide, 2, 1)),
        )  # fmt: skip
        heavy = self.pad_sk & (self.bias == "bias")
        fewer = any_of((self.bias != "no") & self.dropout, self.tile_k0max > 192)
        straight = ite(
            fewer, 1,
            ite(self.tile_k0max <= 32, ite(heavy & (self.mask != "no"), 1, 2),
                ite(self.tile_k0max <= 64, ite(heavy, 2, 3), ite(heavy, 1, 2))),
        )  # fmt: skip
        return ite(
            self.block_per_cu != -1, self.block_per_cu, ite(self.asynchronous, straight, usual)
        )

    @quantity
    def held_vgprs(self) -> IntExpr:
        """Registers of a lane that scores, results and Q take at least."""
        sums = self.tile_m0 * (self.tile_n0 + self.tile_n1)
        return (sums + self.tile_m0 * self.tile_k0max * self.element_bytes // 4) // self.threads


def fields(archs: Sequence[str], ck: str) -> list[Expr]:
    """The variables in the order in which points show them; no sinks or pages before CK 2026.06."""
    later = version_key(ck) >= version_key("2026.06")
    choice, pages = ((False, True), w.PAGES) if later else ((False,), (1,))
    tile = {
        "tile_m0": (16, 32, 64, 128, 256), "tile_n0": (16, 32, 64, 96, 128, 192, 256),
        "tile_k0": (16, 32, 48, 64, 96, 128, 192, 256), "tile_k1": (8, 16, 32, 64, 128),
    }  # fmt: skip
    return [
        *f.purpose(w.VARIANTS, archs, w.DTYPES, w.MODES),
        *f.two_products(tile, (1, 2, 4, 8), (4, 8, 16, 32, 64), (-1, 1, 2, 3), w.PIPELINES),
        Bool("logits", doc="scores are capped by a tanh (logits soft cap)"),
        f.bias(), f.mask(), f.lse(),
        Bool("dropout", doc="probabilities are dropped at random"),
        Bool("skip", doc="blocks of sequences below a length are skipped"),
        Bool("squant", doc="P and O are scaled, for 8-bit types (static quantisation)"),
        Bool("trload", doc="V is transposed as LDS is read"),
        Bool("paged_kv", doc="K and V lie in pages"),
        Bool("sink", choice, doc="each softmax has a further score, windows keep the first columns"),
        Int("page_size", pages, lo=1, hi=65536, doc="rows of K and V in a page of batch prefill"),
        Bool("kv_vectors", choice,
             doc="K and V lie in a page in vectors of 16 bytes (vectorized), not row by row (linear)"),
        Bool("kv_table", choice,
             doc="a table has a row of pages for each sequence (vllm); else there is one list (sglang)"),
        Bool("kv_global", choice,
             doc="loads of K and V take addresses of 64 bits, not offsets of 32 in a buffer"),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    names = [g.name for g in gpus]
    return {
        **hardware(gpus, ck),
        **products(ck),
        "dropout_warp_tiles": DROPOUT,
        **{table.name: table for table in DEPTHS},
        "target": targets.table("target", names, apart=False),
        "target_apart": targets.table("target_apart", names, apart=True),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> AttentionQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = AttentionQuantities(fields([g.name for g in gpus], ck), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words

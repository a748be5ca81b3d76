"""Fields and derived quantities of attention forward, and the facts that its rules look up.

Facts: ops/fmha/pipeline/tile_fmha_shape.hpp TileFmhaShape and tile_fmha_traits.hpp
TileFmhaTraits, CK 2025.11. Product 0 is Q K, of tile_m0 x tile_n0 with steps of tile_k0 along the
head dimension; product 1 is P V, of tile_m0 x tile_n1 with steps of tile_k1 along K's sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.fmha import fields as f
from ckrules.constraints.fmha import targets
from ckrules.constraints.fmha import words as w
from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr, Value, ite, lookup, maximum
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Role
from ckrules.engine.rules.book import Vocabulary, quantity

#: Fields that a configuration may leave out.
DEFAULTS: Mapping[str, Value] = {
    "wave_k0": 1, "wave_k1": 1, "block_per_cu": -1, "v_layout": "row", "logits": False,
    "bias": "no", "mask": "no", "lse": False, "dropout": False, "skip": False, "squant": False,
    "trload": False, "paged_kv": False,
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
    "dropout": 60, "squant": 60, "paged_kv": 60, "tile": 8, "waves0": 6, "waves1": 6,
}  # fmt: skip

ORDER = (
    "variant", "arch", "dtype", "pipeline", "hdim", "mode", *WARP_TILES[0], *WARP_TILES[1],
    *WAVES[0], *WAVES[1], "tile_k0max", "tile_k0", "tile_n1", "tile_k1", "tile_m0", "tile_n0",
    "block_per_cu", "v_layout", *PADS, "trload", "squant", "logits", "bias", "mask", "lse",
    "dropout", "skip", "paged_kv",
)  # fmt: skip


class AttentionShape(Vocabulary):
    """Fields of kernels with the two products of attention."""

    variant: EnumExpr
    arch: EnumExpr
    dtype: EnumExpr
    mode: EnumExpr
    hdim: IntExpr
    tile_m0: IntExpr
    tile_n0: IntExpr
    tile_k0: IntExpr
    tile_n1: IntExpr
    tile_k1: IntExpr
    tile_k0max: IntExpr
    wave_m0: IntExpr
    wave_n0: IntExpr
    wave_k0: IntExpr
    wave_m1: IntExpr
    wave_n1: IntExpr
    wave_k1: IntExpr
    warp_tile_m0: IntExpr
    warp_tile_n0: IntExpr
    warp_tile_k0: IntExpr
    warp_tile_m1: IntExpr
    warp_tile_n1: IntExpr
    warp_tile_k1: IntExpr
    block_per_cu: IntExpr
    pipeline: EnumExpr
    v_layout: EnumExpr
    pad_s: BoolExpr
    pad_sk: BoolExpr
    pad_d: BoolExpr
    pad_dv: BoolExpr
    logits: BoolExpr
    bias: EnumExpr
    mask: EnumExpr
    lse: BoolExpr
    dropout: BoolExpr
    skip: BoolExpr
    squant: BoolExpr
    trload: BoolExpr
    paged_kv: BoolExpr


class AttentionQuantities(AttentionShape):
    """The fields of an attention kernel, its facts and derived quantities."""

    def __init__(self, variables: Iterable[Expr], facts: Mapping[str, Table], ck: str) -> None:
        super().__init__(variables)
        self.facts, self.ck = facts, ck

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        node: IntExpr = lookup(self.facts["wave_size"], self.arch)
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

    @quantity
    def waves0(self) -> IntExpr:
        """Waves of product 0."""
        return self.wave_m0 * self.wave_n0 * self.wave_k0

    @quantity
    def waves1(self) -> IntExpr:
        """Waves of product 1."""
        return self.wave_m1 * self.wave_n1 * self.wave_k1

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block."""
        return maximum(self.waves0, self.waves1) * self.wave_size


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    tile = {
        "tile_m0": ((16, 32, 64, 128, 256), "rows of Q that a block computes"),
        "tile_n0": ((16, 32, 64, 96, 128, 192, 256), "rows of K and V in a step"),
        "tile_k0": ((16, 32, 48, 64, 96, 128, 192, 256), "step of product 0 along the head dimension"),
        "tile_n1": (f.HDIMS, "head dimension of V"),
        "tile_k1": ((8, 16, 32, 64, 128), "step of product 1 along rows of V"),
        "tile_k0max": (f.HDIMS, "head dimension of Q and K that a block holds"),
    }  # fmt: skip
    return [
        *f.purpose(w.VARIANTS, archs, w.DTYPES, w.MODES),
        *(f.size(name, values, doc, "tile") for name, (values, doc) in tile.items()),
        *f.waves(0, (1, 2, 4, 8)), *f.waves(1, (1, 2, 4, 8)),
        *f.warp_tiles(0, (4, 8, 16, 32, 64)), *f.warp_tiles(1, (4, 8, 16, 32, 64)),
        f.block_per_cu((-1, 1, 2, 3)),
        Enum("pipeline", w.PIPELINES, doc="how operands come to the matrix units", role=Role.METHOD),
        Enum("v_layout", w.V_LAYOUTS, doc="row: the head dimension is contiguous in V"),
        f.pad("pad_s", "Q's sequence"), f.pad("pad_sk", "K's sequence"),
        f.pad("pad_d", "the head dimension of Q and K"), f.pad("pad_dv", "that of V"),
        Bool("logits", doc="scores are capped by a tanh (logits soft cap)"),
        f.bias(), f.mask(),
        Bool("lse", doc="the logarithm of the sums of exponentials is stored"),
        Bool("dropout", doc="probabilities are dropped at random"),
        Bool("skip", doc="blocks of sequences below a length are skipped"),
        Bool("squant", doc="P and O are scaled, for 8-bit types (static quantisation)"),
        Bool("trload", doc="V is transposed as LDS is read"),
        Bool("paged_kv", doc="K and V lie in pages"),
    ]  # fmt: skip


def facts(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """The tables that rules look up, by name."""
    names = [g.name for g in gpus]
    return {
        "wave_size": Table("wave_size", ("arch",), {g.name: g.wave_size for g in gpus}),
        "target": targets.table("target", names, apart=False),
        "target_apart": targets.table("target_apart", names, apart=True),
    }


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> AttentionQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = AttentionQuantities(fields([g.name for g in gpus]), facts(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words

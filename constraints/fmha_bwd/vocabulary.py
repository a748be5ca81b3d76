"""Fields and derived quantities of attention backward, and the facts that its rules look up.

Facts: ops/fmha/pipeline/tile_fmha_shape.hpp TileFmhaBwdShape and tile_fmha_traits.hpp
TileFmhaBwdTraits, CK 2025.11. The products are 0: Q K, 1: P dO (dV), 2: dO V, 3: dS Q (dK) and
4: dS K (dQ); 0 and 2 share waves and warp tiles, so do 1 and 3, and 4 has waves of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.fmha import fields as f
from ckrules.constraints.fmha import targets
from ckrules.constraints.fmha import words as forward
from ckrules.constraints.fmha.gpu_facts import GpuFacts
from ckrules.constraints.fmha.warp_gemms import DROPOUT, hardware, products
from ckrules.constraints.fmha_bwd import words as w
from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr, Value, ite, lookup, maximum
from ckrules.engine.expr.variables import Bool, Enum, Int
from ckrules.engine.rules.book import quantity, quantity_in

#: Fields that a configuration may leave out.
DEFAULTS: Mapping[str, Value] = {
    "wave_k0": 1, "wave_k1": 1, "wave_k2": 1, "block_per_cu": 1, "max_seqlen_q": 0, "bias": "no",
    "dbias": False, "mask": "no", "dropout": "no", "deterministic": False, "trload": False,
}  # fmt: skip

#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": "fmha_bwd", "arch": "gfx942", "dtype": "fp16", "mode": "batch", "hdim": 128,
    "tile_m0": 16, "tile_n0": 128, "tile_k0": 128, "tile_k1": 16, "tile_k2": 128, "tile_k3": 16,
    "tile_k4": 32, "tile_hdq": 128, "tile_hdv": 128, "wave_m0": 1, "wave_n0": 4, "wave_m1": 4,
    "wave_n1": 1, "wave_m2": 1, "wave_n2": 4, "warp_tile_m0": 16, "warp_tile_n0": 16,
    "warp_tile_k0": 32, "warp_tile_m1": 16, "warp_tile_n1": 16, "warp_tile_k1": 16, "pad_d": 0,
    "pad_dv": 0, **DEFAULTS,
}  # fmt: skip

#: What a kernel that transposes as LDS is read has in place of the baseline's.
TRLOAD: Mapping[str, Value] = {
    "arch": "gfx950", "trload": True, "tile_m0": 32, "tile_k1": 32, "tile_k3": 32,
    "warp_tile_k1": 32,
}  # fmt: skip

TILE = (
    "tile_m0", "tile_n0", "tile_k0", "tile_k1", "tile_k2", "tile_k3", "tile_k4", "tile_hdq",
    "tile_hdv",
)  # fmt: skip
WAVES = tuple(tuple(f"wave_{x}{p}" for x in "mnk") for p in (0, 1, 2))
WARP_TILES = tuple(tuple(f"warp_tile_{x}{p}" for x in "mnk") for p in (0, 1))

COSTS: Mapping[str, int] = {
    "hdim": 60, "mode": 60, "bias": 60, "dbias": 60, "mask": 60, "dropout": 60,
    "deterministic": 60, "tile": 8, "waves0": 6, "waves1": 6, "waves2": 6,
}  # fmt: skip

ORDER = (
    "variant", "arch", "dtype", "trload", "hdim", "mode", "max_seqlen_q", *WARP_TILES[0],
    *WARP_TILES[1], *WAVES[0], *WAVES[1], *WAVES[2], *reversed(TILE), "block_per_cu", "pad_d",
    "pad_dv", "bias", "dbias", "mask", "dropout", "deterministic",
)  # fmt: skip


class BackwardQuantities(GpuFacts, f.Products):
    """The fields of a kernel of attention backward, its facts and derived quantities."""

    tile_k2: IntExpr
    tile_k3: IntExpr
    tile_k4: IntExpr
    tile_hdq: IntExpr
    tile_hdv: IntExpr
    wave_m2: IntExpr
    wave_n2: IntExpr
    wave_k2: IntExpr
    max_seqlen_q: IntExpr
    pad_d: IntExpr
    pad_dv: IntExpr
    bias: EnumExpr
    dbias: BoolExpr
    dropout: EnumExpr
    deterministic: BoolExpr
    trload: BoolExpr

    @property
    def element_bytes(self) -> IntExpr:
        """Bytes of an element of the operands."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity
    def target(self) -> EnumExpr:
        """The factory of upstream's generator that takes the GPU; none: it refuses the GPU."""
        node: EnumExpr = lookup(self.facts["target"], self.arch)
        return node

    @property
    def has_body(self) -> BoolExpr:
        """Whether the compiler looks at the kernel's body (FmhaBwdDQDKDVKernel::kIsAvailable)."""
        return ~self.trload | self.transposes

    @quantity
    def waves(self) -> IntExpr:
        """Waves of a block."""
        return self.wave_m0 * self.wave_n0 * self.wave_k0

    @quantity
    def scores(self) -> IntExpr:
        """Elements of the scores that a lane has: results of product 0, and of 2."""
        rows = self.tile_m0 // (self.wave_m0 * self.warp_tile_m0)
        columns = self.tile_n0 // (self.wave_n0 * self.warp_tile_n0)
        return rows * columns * (self.warp_tile_m0 * self.warp_tile_n0 // self.wave_size)

    @quantity
    def turned(self) -> IntExpr:
        """Elements of P that a lane takes in product 1, and of dS in 3, rows and columns changed."""
        rows = self.tile_n0 // (self.wave_m1 * self.warp_tile_m1)
        steps = self.tile_m0 // self.warp_tile_k1
        return rows * steps * (self.warp_tile_m1 * self.warp_tile_k1 // self.wave_size)

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block."""
        return self.waves * self.wave_size

    @quantity_in("bytes")
    def staged_heads(self) -> IntExpr:
        """K and V in LDS, which kernels that transpose as LDS is read stage both."""
        return self.tile_n0 * (self.tile_hdq + self.tile_hdv) * self.element_bytes

    @quantity_in("bytes")
    def staged_scores(self) -> IntExpr:
        """dS in LDS, or the bias, which has its place before it."""
        return self.tile_m0 * self.tile_n0 * self.element_bytes

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup: K and V, or behind them what a step stages of Q, dO, LSE, D and dS.

        Q and dO are there twice: as they are and with rows and columns changed, or, where LDS is
        read transposed, this step's and the next one's; LSE and D then take a wave's lanes at
        least, and dO has room for as many columns as Q (FBWD022).
        """
        size, rows = self.element_bytes, self.tile_m0
        numbers = maximum(4 * rows, ite(self.trload, 4 * self.wave_size, 0))
        columns = self.tile_hdq + ite(self.trload, self.tile_hdq, self.tile_hdv)
        step = 2 * rows * columns * size + ite(self.trload, 4, 2) * numbers + self.staged_scores
        apart = self.tile_n0 * maximum(2 * self.tile_hdq, self.tile_hdv) * size
        return maximum(ite(self.trload, self.staged_heads, apart), step)


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    sizes = (16, 32, 64, 128, 192, 256)
    heads = f.HDIMS
    tile = {
        "tile_m0": (sizes, "rows of Q in a step"),
        "tile_n0": (sizes, "rows of K and V that a block computes"),
        "tile_k0": (heads, "elements of a step along the head of Q (product 0)"),
        "tile_k1": (sizes, "rows of Q in a step of product 1"),
        "tile_k2": (heads, "elements of a step along the head of V (product 2)"),
        "tile_k3": (sizes, "rows of Q in a step of product 3"),
        "tile_k4": (sizes, "rows of K in a step of product 4"),
        "tile_hdq": (heads, "elements of a head of Q and K that a block holds"),
        "tile_hdv": (heads, "elements of a head of V that a block holds"),
    }  # fmt: skip
    return [
        *f.purpose(("fmha_bwd",), archs, w.DTYPES, forward.MODES),
        *(f.size(name, values, doc, "tile") for name, (values, doc) in tile.items()),
        *(node for p in (0, 1, 2) for node in f.waves(p, (1, 2, 4, 8))),
        *(node for p in (0, 1) for node in f.warp_tiles(p, (4, 8, 16, 32, 64))),
        f.block_per_cu((-1, 1, 2)),
        Int("max_seqlen_q", (0, 16, 32), lo=0, hi=4096,
            doc="rows of the longest Q that the kernel is made for; 0: any"),
        Int("pad_d", w.PADS, lo=0, hi=8,
            doc="elements that a head of Q and K is a multiple of; 0: whole tiles"),
        Int("pad_dv", w.PADS, lo=0, hi=8,
            doc="elements that a head of V is a multiple of; 0: whole tiles"),
        f.bias(),
        Bool("dbias", doc="the gradient of the bias is computed"),
        f.mask(),
        Enum("dropout", w.DROPOUTS, doc="dropout, by the warp tile its random numbers are made for"),
        Bool("deterministic", doc="dQ is summed in a fixed order"),
        Bool("trload", doc="operands are transposed as LDS is read"),
    ]  # fmt: skip


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> BackwardQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    names = [g.name for g in gpus]
    facts = {
        **hardware(gpus, ck),
        "upright_warp_tiles": DROPOUT,
        # Those of the types here, which have been the same since.
        "transposed_warp_tiles": products("2025.11")["values_warp_tiles"],
        "target": targets.table("target", names, apart=True),
    }
    words = BackwardQuantities(fields(names), facts, ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words

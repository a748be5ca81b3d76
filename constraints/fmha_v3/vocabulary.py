"""Fields and derived quantities of attention with two groups of waves.

Facts: ops/fmha/pipeline/block_fmha_fwd_v3_pipeline.hpp BlockFmhaFwdV3Pipeline,
block_fmha_fwd_v3_pipeline_default_policy.hpp BlockFmhaV3PipelineDefaultPolicy, and
tile_fmha_traits.hpp TileFmhaFwdV3Traits, CK 2025.11. The products are those of
`ckrules.constraints.fmha.vocabulary`; there is no bias, cap, dropout or scale. All divisions of the
policy truncate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.fmha import fields as f
from ckrules.constraints.fmha import words as forward
from ckrules.constraints.fmha.gpu_facts import WavesOfProducts
from ckrules.constraints.fmha.vocabulary import PADS, SHAPE_ORDER, TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha.warp_gemms import hardware
from ckrules.constraints.fmha_v3 import words as w
from ckrules.engine.expr import Expr, IntExpr, Value, ite, maximum
from ckrules.engine.rules.book import quantity, quantity_in

#: Fields that a configuration may leave out.
DEFAULTS: Mapping[str, Value] = {
    "wave_k0": 1, "wave_k1": 1, "block_per_cu": -1, "pipeline": w.PIPELINE, "v_layout": "row",
    "mask": "no", "lse": False,
}  # fmt: skip

#: A legal point that the examples of rules change a few fields of: a kernel of upstream's example.
BASELINE: Mapping[str, Value] = {
    "variant": w.VARIANT, "arch": "gfx950", "dtype": "fp16", "mode": "batch", "hdim": 128,
    "tile_m0": 256, "tile_n0": 32, "tile_k0": 128, "tile_n1": 128, "tile_k1": 32,
    "tile_k0max": 128, "wave_m0": 8, "wave_n0": 1, "wave_m1": 8, "wave_n1": 1,
    "warp_tile_m0": 32, "warp_tile_n0": 32, "warp_tile_k0": 16, "warp_tile_m1": 32,
    "warp_tile_n1": 32, "warp_tile_k1": 16, "pad_s": True, "pad_sk": True, "pad_d": False,
    "pad_dv": False, **DEFAULTS,
}  # fmt: skip

COSTS: Mapping[str, int] = {
    "hdim": 60, "mode": 60, "v_layout": 40, "mask": 60, "lse": 40, "tile": 8, "waves0": 6,
    "waves1": 6,
}  # fmt: skip

ORDER = (*SHAPE_ORDER, "mask", "lse")

#: Rows and columns of the warp tile of product 0, and its depth, whatever the shape says.
SIDE, DEPTH = 32, 16
#: Bytes of an element, and elements of 16 bytes.
BYTES, PACK = 2, 8


class TwoGroupQuantities(WavesOfProducts):
    """The fields of a kernel with two groups of waves, its facts and derived quantities."""

    @quantity_in("elements")
    def vector(self) -> IntExpr:
        """Elements of K and V that a lane loads at once, straight to LDS."""
        return ite(self.transposes, PACK, 2)

    @quantity_in("elements")
    def turn(self) -> IntExpr:
        """Elements of K and V that a wave loads at once."""
        return self.wave_size * self.vector

    def rows_of(self, columns: IntExpr) -> IntExpr:
        """Rows of some columns that a wave loads at once."""
        return self.wave_size // (columns // self.vector)

    @quantity_in("instructions")
    def k_turns(self) -> IntExpr:
        """Instructions with which a wave loads its share of a tile of K."""
        return self.tile_n0 // (self.rows_of(self.tile_k0) * self.waves)

    @quantity_in("instructions")
    def v_turns(self) -> IntExpr:
        """Instructions with which a wave loads its share of a tile of V."""
        return self.tile_k1 // (self.rows_of(self.tile_n1) * self.waves)

    @quantity_in("elements")
    def k_stage(self) -> IntExpr:
        """LDS of a tile of K: 16 bytes behind what a wave loads at once, but for the last."""
        return self.k_turns * self.waves * (self.turn + PACK) - PACK

    @quantity_in("elements")
    def v_stage(self) -> IntExpr:
        """LDS of a tile of V: 64 bytes behind what a wave loads at once, but for the last."""
        return self.v_turns * self.waves * (self.turn + 4 * PACK) - 4 * PACK

    @property
    def packs_in_banks(self) -> IntExpr:
        """Packs of 16 bytes in a row of all LDS banks."""
        return self.fact("lds_banks") * 4 // BYTES // PACK

    @quantity_in("elements")
    def buffer(self) -> IntExpr:
        """LDS that is set aside for a tile of K or V: for K as if it had ``tile_k1`` columns."""
        turns = self.tile_n0 // (self.rows_of(self.tile_k1) * self.waves)
        keys = turns * self.waves * (self.turn + PACK)
        row = self.packs_in_banks
        values = self.tile_k1 // PACK * (self.tile_n1 // row) * (row * PACK + PACK)
        return maximum(keys, values)

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup: two buffers each of K and V beside room for P, or room for O.

        Nothing is stored in the room for P and O. Compilers may add what they keep there of a
        thread's arrays (AMDGPUPromoteAlloca).
        """
        scores = self.tile_m0 * self.tile_n0 * BYTES
        return maximum(self.tile_m0 * self.tile_n1 * BYTES, 4 * self.buffer * BYTES + scores)

    @quantity
    def launch_blocks(self) -> IntExpr:
        """Blocks on a compute unit that the compiler is told of: block_per_cu, or 2."""
        return ite(self.block_per_cu != -1, self.block_per_cu, 2)

    @quantity
    def held_vgprs(self) -> IntExpr:
        """Registers of a lane that two tiles of scores, results and Q take at least."""
        sums = self.tile_m0 * (2 * self.tile_n0 + self.tile_n1)
        return (sums + self.tile_m0 * self.tile_k0 // 2) // self.threads


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    tile = {
        "tile_m0": (64, 128, 256, 512), "tile_n0": (16, 32, 48, 64, 128),
        "tile_k1": (16, 32, 48, 64, 128),
    }  # fmt: skip
    return [
        *f.purpose((w.VARIANT,), archs, w.DTYPES, forward.MODES),
        *f.two_products(tile, (1, 2, 4, 8, 16), (8, 16, 32), (-1, 1, 2), (w.PIPELINE,)),
        f.mask(), f.lse(),
    ]  # fmt: skip


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> TwoGroupQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    words = TwoGroupQuantities(fields([g.name for g in gpus]), hardware(gpus, ck), ck)
    words.baseline, words.order, words.costs = BASELINE, ORDER, COSTS
    return words


__all__ = ["BASELINE", "DEFAULTS", "PADS", "TILE", "WARP_TILES", "WAVES", "vocabulary"]

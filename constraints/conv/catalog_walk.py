"""What upstream's rule sets for convolution look up and check beside the tables of a catalog."""

from __future__ import annotations

from typing import Any

from ckrules.arch import Gpu
from ckrules.constraints.conv import builder
from ckrules.constraints.conv.vocabulary import TYPES
from ckrules.engine.expr import BoolExpr, named, rel
from ckrules.engine.rules import RuleDef
from ckrules.kernels.parts import Tiling

#: Where upstream's sets say nothing, every one of these is meant.
FREE = ("ndim",)


class ConvolutionWalk:
    """The dispatcher's tables, the builder's check, and the tilings that fill gaps."""

    free = FREE

    def facts(self, words: Any) -> dict[str, BoolExpr]:
        """Conditions on the dispatcher's tables, which expressions may use by name."""
        c = words
        waves = rel(c.facts["dispatcher_waves"], c.arch, c.wave_m, c.wave_n, c.wave_k)
        tiles = c.facts["dispatcher_warp_tiles"]
        warp = rel(tiles, c.arch, c.dtype, c.warp_tile_m, c.warp_tile_n, c.warp_tile_k)
        return {
            "gpu_wave_map": named("gpu_wave_map", waves),
            "gpu_warp_tile": named("gpu_warp_tile", warp),
        }

    def checks(self, *, tagged: bool) -> list[RuleDef]:
        """The builder's check of a configuration, for sets with or without a dtype tag."""
        found = builder.PER_CONFIGURATION
        return [r for r in found if tagged or r.code != builder.READS_TAG]

    def tilings(self, gpu: Gpu, dtype: str) -> list[Tiling]:
        """Waves and warp tiles (m, n) of upstream's tables for a GPU and dtype.

        The order is upstream's: warp tiles as its table has them, then falling waves along M and N.

        >>> from ckrules.arch import load
        >>> WALK.tilings(load("gfx1201"), "fp16")[:2]
        [((8, 1, 1), (16, 16)), ((4, 2, 1), (16, 16))]
        """
        if gpu.dispatcher is None:
            return []
        shapes = [t[:2] for t in gpu.dispatcher.tiles(*TYPES[dtype])]
        maps = sorted(
            (w for w in gpu.dispatcher.wave_maps if w[2] in (1, 2)),
            key=lambda w: (-w[0], -w[1], w[2]),
        )
        return list(dict.fromkeys((w, mn) for mn in shapes for w in maps))


WALK = ConvolutionWalk()

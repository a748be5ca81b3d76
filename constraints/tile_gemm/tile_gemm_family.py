"""A family of block-tile GEMMs, as far as what is drawn of its kernels goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.block_map import BlockMap
    from ckrules.kernels.lds_map import LdsMap


class TileGemmFamily(Family):
    """Kernels whose block tiles are divided among waves, and lie in LDS."""

    def picture(self, point: Mapping[str, Value], known: Mapping[str, Any], gpu: Gpu) -> list[str]:
        from ckrules.constraints.tile_gemm import picture

        return picture.picture(point, known, gpu)

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        from ckrules.constraints.tile_gemm import picture

        return (picture.block_map(point),)

    def lds_map(self, point: Mapping[str, Value], words: Vocabulary, gpu: Gpu) -> LdsMap | str:
        from ckrules.constraints.tile_gemm.lds import lds_map
        from ckrules.constraints.tile_gemm.vocabulary import TileGemm

        assert isinstance(words, TileGemm)
        return lds_map(words, point, gpu)

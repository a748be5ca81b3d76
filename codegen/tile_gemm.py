"""What templates see of every kernel that is a GEMM of block tiles, waves and warp tiles."""

from __future__ import annotations

from ckrules.codegen.model import KernelModel
from ckrules.engine.expr import Value


class TileGemmModel(KernelModel):
    """The geometry of a kernel, and what its pipeline has under way."""

    __slots__ = ()

    @property
    def tile(self) -> tuple[Value, ...]:
        """The block tile along M, N and K."""
        return self._triple("tile")

    @property
    def waves(self) -> tuple[Value, ...]:
        """The waves of a block along M, N and K."""
        return self._triple("wave")

    @property
    def warp_tile(self) -> tuple[Value, ...]:
        """The MFMA or WMMA tile."""
        return self._triple("warp_tile")

    def _triple(self, stem: str) -> tuple[Value, ...]:
        return tuple(self.point[f"{stem}_{d}"] for d in "mnk")

    @property
    def stages(self) -> int:
        """Prefetch stages of the pipeline ``mem``."""
        return int(self.resources["mem_stages"])

"""How a kernel's block tiles are divided among its waves, as data that can be drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockMap:
    """The block tile of a matrix product, the grid of its waves and the warp tiles they compute.

    Sizes are along M, N and K, in elements; waves are numbered with N fastest.

    Args:
        in_order: Whether a wave's warp tiles lie in C as they lie in the tile.
        names: What A, B and C are called.
        axes: What M, N and K are called.

    >>> BlockMap((64, 64, 32), (2, 2, 1), (16, 16, 16)).grid
    (4, 4, 2)
    >>> BlockMap((64, 64, 32), (2, 2, 1), (16, 16, 16)).wave(3, 0)
    2
    """

    block: tuple[int, int, int]
    waves: tuple[int, int, int]
    warp: tuple[int, int, int]
    in_order: bool = True
    names: tuple[str, str, str] = ("A", "B", "C")
    axes: tuple[str, str, str] = ("M", "N", "K")

    @property
    def grid(self) -> tuple[int, int, int]:
        """The warp tiles along M, N and K; the last of one may reach beyond the block tile."""
        m, n, k = (-(-b // w) for b, w in zip(self.block, self.warp, strict=True))
        return m, n, k

    @property
    def product(self) -> str:
        """The product, as ``C = A B``."""
        a, b, c = self.names
        return f"{c} = {a} {b}"

    def wave(self, i: int, j: int) -> int:
        """The wave that computes the warp tile ``i`` along M and ``j`` along N of C."""
        return i % self.waves[0] * self.waves[1] + j % self.waves[1]

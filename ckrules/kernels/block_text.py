"""Block tiles as lines of text: which wave computes which warp tile, and what a block takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckrules.arch import Gpu
from ckrules.kernels.block_map import BlockMap

_CELLS = 16  # warp tiles along N and M that are drawn
_BAR = 40


def tile_lines(tile: BlockMap, lanes: int) -> Iterator[str]:
    """How a block tile is divided among waves, and which of them computes which warp tile.

    Args:
        lanes: The lanes of a wave.

    >>> for line in tile_lines(BlockMap((64, 32, 32), (2, 1, 1), (32, 32, 8)), 64):
    ...     print(line)
    block tile 64 x 32 (M x N), 32 of K at a time
    waves 2 x 1 x 1 (M x N x K) of 64 lanes, warp tile 32 x 32 x 8
    each wave: 1 x 1 warp tiles of C, 4 along K: 4 warp GEMMs a block tile
    <BLANKLINE>
    M   N  0
      0   w0
     32   w1
    """
    (m, n, k), (along_m, along_n, along_k) = tile.block, tile.axes
    yield f"block tile {m} x {n} ({along_m} x {along_n}), {k} of {along_k} at a time"
    yield from _waves(tile, lanes)
    yield ""
    result = tile.names[2]
    permuted = [f"the columns of {result} are permuted within the tile"]
    yield from _cells(tile) if tile.in_order else permuted


def product_lines(tiles: Sequence[BlockMap], known: Mapping[str, Any], gpu: Gpu) -> Iterator[str]:
    """The block tiles of a kernel's matrix products, one after the other, and what a block takes.

    >>> from ckrules.arch import load
    >>> tile = BlockMap((16, 32, 32), (1, 2, 1), (16, 16, 16))
    >>> list(product_lines([tile], {}, load("gfx942")))[:2]
    ['C = A B', 'block tile 16 x 32 (M x N), 32 of K at a time']
    """
    for tile in tiles:
        yield tile.product
        yield from tile_lines(tile, gpu.wave_size)
        yield ""
    yield from use_lines(known, gpu)


def _waves(tile: BlockMap, lanes: int) -> Iterator[str]:
    grid, warp, axes = (" x ".join(map(str, x)) for x in (tile.waves, tile.warp, tile.axes))
    yield f"waves {grid} ({axes}) of {lanes} lanes, warp tile {warp}"
    steps = [b / (w * t) for b, w, t in zip(tile.block, tile.waves, tile.warp, strict=True)]
    if all(n == int(n) for n in steps):
        m, n, k = (int(x) for x in steps)
        yield (
            f"each wave: {m} x {n} warp tiles of {tile.names[2]}, {k} along {tile.axes[2]}:"
            f" {m * n * k} warp GEMMs a block tile"
        )
    else:
        yield "the waves do not cover the tile as a whole"


def _cells(tile: BlockMap) -> Iterator[str]:
    """Which wave computes which warp tile of the result."""
    high, wide, _ = tile.warp
    rows, columns, _ = tile.grid
    shown = range(min(columns, _CELLS))
    cell = max(len(str(wide * (columns - 1))), len(str(tile.waves[0] * tile.waves[1])) + 1)
    cell = min(cell, 5)
    down, across = tile.axes[:2]
    side = max(len(str(high * (rows - 1))) + 1, len(down), 2)
    more = " …" if columns > _CELLS else ""
    yield f"{down:<{side}} {across} " + " ".join(f"{wide * j:>{cell}}" for j in shown) + more
    gap = " " * (len(across) + 2)
    for i in range(min(rows, _CELLS)):
        waves = " ".join(f"{f'w{tile.wave(i, j)}':>{cell}}" for j in shown)
        yield f"{high * i:>{side}}{gap}{waves}{more}"
    if rows > _CELLS:
        yield f"{'…':>{side}}"


def use_lines(known: Mapping[str, Any], gpu: Gpu) -> Iterator[str]:
    """LDS and registers of a block beside what the GPU has, as far as they are known.

    >>> from ckrules.arch import load
    >>> list(use_lines({"lds_bytes": 32768}, load("gfx942")))
    ['LDS   [####################....................] 32,768 of 65,536 bytes']
    """
    for name, value, most, unit in (
        ("LDS", known.get("lds_bytes"), gpu.lds_bytes, "bytes"),
        ("VGPRs", known.get("vgprs"), gpu.vgprs_per_wave, "a lane (estimate)"),
    ):
        if value is None:
            continue
        filled = min(_BAR, -(-value * _BAR // most))
        bar = "#" * filled + "." * (_BAR - filled)
        yield f"{name:<6}[{bar}] {value:,} of {most:,} {unit}"

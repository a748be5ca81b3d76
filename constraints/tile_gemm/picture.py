"""The pictures that ``ckrules draw`` prints of kernels of CK Tile's GEMM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.arch import Gpu
from ckrules.kernels.block_map import BlockMap

_CELLS = 16  # warp tiles along N and M that are drawn
_BAR = 40


def picture(point: Mapping[str, Any], known: Mapping[str, Any], gpu: Gpu) -> list[str]:
    """How a block tile is divided among waves, what lanes load, and what of the GPU it takes.

    Waves take warp tiles in turn: the grid of waves covers the tile once, then again, N fastest.

    Args:
        point: The configuration.
        known: Its derived quantities; None for one that is undefined.
        gpu: Its GPU.

    Source: ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: MakeCBlockTile (CK 2025.11), whose
    encoding is (MIterPerWarp, MWarp) by (NIterPerWarp, NWarp).

    >>> from ckrules.arch import load
    >>> from ckrules.constraints import book
    >>> forward = book("forward")
    >>> point = {**forward.vocabulary.baseline, "arch": "gfx942", "tile_m": 32, "wave_m": 1}
    >>> print(picture(point, forward.resources(point), load("gfx942"))[0])
    block tile 32 x 128 (M x N), 64 of K at a time
    """
    if point["pipeline"] == "preshufflev2":  # whose B goes to registers as it was shuffled
        known = {k: v for k, v in known.items() if not k.startswith("b_")}
    return [
        f"block tile {point['tile_m']} x {point['tile_n']} (M x N), {point['tile_k']} of K at a time",
        *_waves(point, known),
        "",
        *(_map(point) if _in_order(point) else ["the columns of C are permuted within the tile"]),
        "",
        *_loads(point, known),
        *_use(known, gpu),
    ]


def _in_order(point: Mapping[str, Any]) -> bool:
    """Whether a wave's warp tiles lie in C as they lie in the tile."""
    return not point.get("permute_n", False)


def block_map(point: Mapping[str, Any]) -> BlockMap:
    """The same division as data; waves take warp tiles in turn, as in `picture`."""
    block, waves, warp = (
        (point[f"{what}_m"], point[f"{what}_n"], point[f"{what}_k"])
        for what in ("tile", "wave", "warp_tile")
    )
    return BlockMap(block, waves, warp, _in_order(point))


def _waves(point: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    grid = " x ".join(str(point[f"wave_{d}"]) for d in "mnk")
    tile = " x ".join(str(point[f"warp_tile_{d}"]) for d in "mnk")
    yield f"waves {grid} (M x N x K) of {known['wave_size']} lanes, warp tile {tile}"
    along = [point[f"tile_{d}"] / (point[f"wave_{d}"] * point[f"warp_tile_{d}"]) for d in "mnk"]
    if all(n == int(n) for n in along):
        m, n, k = (int(x) for x in along)
        yield (
            f"each wave: {m} x {n} warp tiles of C, {k} along K: {m * n * k} warp GEMMs a block tile"
        )
    else:
        yield "the waves do not cover the tile as a whole"


def _map(point: Mapping[str, Any]) -> Iterator[str]:
    """Which wave computes which warp tile of C."""
    high, wide = point["warp_tile_m"], point["warp_tile_n"]
    rows, columns = -(-point["tile_m"] // high), -(-point["tile_n"] // wide)
    shown = range(min(columns, _CELLS))
    cell = max(len(str(wide * (columns - 1))), len(str(point["wave_m"] * point["wave_n"])) + 1)
    cell = min(cell, 5)
    side = max(len(str(high * (rows - 1))), 1)
    more = " …" if columns > _CELLS else ""
    yield f"M {'':>{side - 1}} N " + " ".join(f"{wide * j:>{cell}}" for j in shown) + more
    for i in range(min(rows, _CELLS)):
        waves = (i % point["wave_m"] * point["wave_n"] + j % point["wave_n"] for j in shown)
        cells = " ".join(f"{f'w{w}':>{cell}}" for w in waves)
        yield f"{high * i:>{side + 1}}   {cells}{more}"
    if rows > _CELLS:
        yield f"{'…':>{side + 1}}"


def _loads(point: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    """How lanes move the tiles of A, B and C."""
    for tile in "abc":
        got: dict[str, Any] = {k: known.get(f"{tile}_{k}") for k in _PARTS}
        if None in got.values():
            continue
        what = "stores" if tile == "c" else "loads"
        size = known["output_bytes" if tile == "c" else "element_bytes"]
        passes = got["passes_y"] * got["passes_x"]
        yield (
            f"{tile.upper()}: a lane {what} {got['width']} elements"
            f" ({got['width'] * size:g} bytes) at once; a wave {got['lanes_x']} lanes a row,"
            f" {got['lanes_y']} rows; {passes} {'pass' if passes == 1 else 'passes'}"
        )


_PARTS = ("width", "lanes_x", "lanes_y", "passes_x", "passes_y")


def _use(known: Mapping[str, Any], gpu: Gpu) -> Iterator[str]:
    """LDS and registers beside what the GPU has."""
    for name, value, most, unit in (
        ("LDS", known.get("lds_bytes"), gpu.lds_bytes, "bytes"),
        ("VGPRs", known.get("vgprs"), gpu.vgprs_per_wave, "a lane (estimate)"),
    ):
        if value is None:
            continue
        filled = min(_BAR, -(-value * _BAR // most))
        bar = "#" * filled + "." * (_BAR - filled)
        yield f"{name:<6}[{bar}] {value:,} of {most:,} {unit}"

"""The pictures that ``ckrules draw`` prints of kernels of CK Tile's GEMM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.arch import Gpu
from ckrules.kernels.block_map import BlockMap
from ckrules.kernels.block_text import tile_lines, use_lines


def picture(point: Mapping[str, Any], known: Mapping[str, Any], gpu: Gpu) -> list[str]:
    """How a block tile is divided among waves, what lanes load, and what of the GPU it takes.

    Waves take warp tiles in turn: the grid of waves covers the tile once, then again, N fastest.

    Args:
        known: Its derived quantities; None for one that is undefined.

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
        *tile_lines(block_map(point), known["wave_size"]),
        "",
        *_loads(point, known),
        *use_lines(known, gpu),
    ]


def block_map(point: Mapping[str, Any]) -> BlockMap:
    """The same division as data; waves take warp tiles in turn, as in `picture`."""
    block, waves, warp = (
        (point[f"{what}_m"], point[f"{what}_n"], point[f"{what}_k"])
        for what in ("tile", "wave", "warp_tile")
    )
    return BlockMap(block, waves, warp, in_order=not point.get("permute_n", False))


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

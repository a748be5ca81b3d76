"""The parts into which kernels that are GEMMs divide a result."""

from __future__ import annotations

import numpy as np

from ckrules.kernels.parts import Division, Point


def divisions(config: Point, letter: str, size: int) -> list[Division]:
    """How a kernel divides so many rows (letter ``m``) or columns (``n``) of a GEMM's result."""
    at, along = np.arange(size), f" along {letter.upper()}"
    tile, waves, warp_tile = (
        max(1, int(config[f"{stem}_{letter}"])) for stem in ("tile", "wave", "warp_tile")
    )
    inside = at % tile // warp_tile
    return [
        Division("tile", at // tile, f"{letter.upper()} tile"),
        Division("wave", inside % waves, "wave", along, ordered=False),
        Division("warp tile", inside, "warp tile", along),
        Division("warp tile", at // warp_tile, "warp tile", along),
        Division("lane", at % warp_tile, "row", f" of each warp tile{along}", ordered=False),
    ]

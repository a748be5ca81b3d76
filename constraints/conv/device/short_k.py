"""Problems with short sums: every way in which a pipeline begins and ends is run.

A GEMM pipeline has a loop over K tiles, and code of its own for sums that are too short for the
loop and for what the loop leaves over. Sums of 1 to 4 tiles, and for the pipeline ``mem`` of up to
twice the tiles that it keeps in flight, reach all of it. The last tile is half full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.kernels import library

_WIDTH = 48
"""Channels that are not summed over; every vector divides them."""
_IMAGE = {1: "W=37", 2: "H=5,W=7", 3: "D=3,H=4,W=5"}
_FLAT = {1: "", 2: "H=2,", 3: "D=2,H=1,"}
_TAPS = {1: "", 2: "Y=1,", 3: "Z=1,Y=1,"}
_ROWS = {1: "", 2: "H=3,", 3: "D=2,H=3,"}


def short_sums(config: Mapping[str, Any]) -> list[Convolution]:
    """The problems for a configuration; none for those that fix the sum's length themselves.

    >>> config = {"variant": "forward", "ndim": 1, "tile_k": 32, "vector_a": 8, "vector_b": 8,
    ...           "pipeline": "compv3", "specialization": "default"}
    >>> [p.gemm("forward")[2] for p in short_sums(config)]
    [16, 48, 80, 112]
    """
    if config.get("specialization") == "filter3x3" or "tile_k" not in config:
        return []
    lines = {"forward": _forward, "bwd_data": _backward_data, "bwd_weight": _backward_weight}
    return [parse(line) for line in lines[str(config["variant"])](config)]


def _stages(config: Mapping[str, Any]) -> int:
    if config.get("pipeline") != "mem":
        return 2
    found = library.book(str(config["variant"])).resources(config, ["mem_stages"])
    return int(found["mem_stages"])


def _steps(config: Mapping[str, Any]) -> range:
    return range(1, 2 * _stages(config) + 1)


def _length(config: Mapping[str, Any], steps: int, *vectors: str) -> int:
    """A sum of so many tiles, the last one half full if the vectors divide that."""
    tile = int(config["tile_k"])
    whole = tile * steps
    half = whole - tile // 2
    return whole if any(half % int(config[v]) for v in vectors) else half


def _forward(config: Mapping[str, Any]) -> Iterator[str]:
    ndim, merged = int(config["ndim"]), int(config.get("num_groups_to_merge", 1))
    for steps in _steps(config):
        size = _length(config, steps, "vector_a", "vector_b")
        if merged == 1:
            yield f"N=1,C={size},K={_WIDTH},{_IMAGE[ndim]},{_TAPS[ndim]}X=1"
        else:  # as few channels in a group as the vectors allow, and a sum over the filter
            groups = 2 * merged
            channels = max(int(config["vector_a"]), int(config["vector_b"]))
            taps = size // channels
            yield (
                f"N=1,G={groups},C={channels * groups},K={_WIDTH * groups},"
                f"{_ROWS[ndim]}W={taps + 6},{_TAPS[ndim]}X={taps}"
            )


def _backward_data(config: Mapping[str, Any]) -> Iterator[str]:
    ndim = int(config["ndim"])
    for steps in _steps(config):
        size = _length(config, steps, "vector_a")
        yield f"N=1,C={_WIDTH},K={size},{_IMAGE[ndim]},{_TAPS[ndim]}X=1"
    steps = _uneven(_stages(config))
    size = steps * int(config["tile_k"])
    yield f"N=1,C={_WIDTH},K={size},{_IMAGE[ndim]},{_TAPS[ndim]}X=3,stride_w=2,pad_w=1"


def _uneven(stages: int) -> int:
    """K tiles of one filter tap, such that sub-GEMMs leave more over than the whole filter.

    With 3 taps and stride 2 there are sub-GEMMs of 2 taps and of 1, in one launch. With 3 stages
    the whole always leaves most over: then they leave less.

    >>> _uneven(2), _uneven(3), _uneven(4), _uneven(8)
    (3, 2, 3, 6)
    """
    over = {
        n: (2 * n - 1) % stages - (3 * n - 1) % stages
        for n in range(1, 8 * stages)
        if 2 * n > stages
    }
    more = (n for n, difference in over.items() if difference > 0)
    other = (n for n, difference in over.items() if difference)
    return next(more, None) or next(other, 1)


def _backward_weight(config: Mapping[str, Any]) -> Iterator[str]:
    ndim, merged = int(config["ndim"]), int(config.get("num_groups_to_merge", 1))
    groups = 2 * merged if merged > 1 else 1
    # merged groups have few channels each: 64 groups of 48 would take minutes without a GPU
    own = _WIDTH if merged == 1 else max(int(config[f"vector_{t}"]) for t in "abc")
    width, tile = own * groups, int(config["tile_k"])
    for split in (1, 2):
        for steps in _steps(config):
            pixels = tile * steps * split - tile // 2
            size = pixels if ndim == 1 else pixels // 2
            yield (
                f"N=1,G={groups},C={width},K={width},{_FLAT[ndim]}W={size},{_TAPS[ndim]}X=1"
                f",split_k={split}"
            )

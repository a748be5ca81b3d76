"""The problems on which a kernel with two groups of waves is validated: a built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.device import smoke as forward
from ckrules.constraints.fmha.problem import AttentionProblem


def smoke(config: Mapping[str, Any]) -> list[AttentionProblem]:
    """Those of forward, then windows and groups of which every block sees one tile of K, or three.

    Windows begin behind the first tile, of several blocks and of a single row; groups have others
    of four tiles, of part of one, and where the kernel has windows a window.

    >>> point = {"tile_m0": 256, "tile_n0": 32, "hdim": 64, "tile_n1": 64, "mask": "generic"}
    >>> [p.said() for p in smoke(point)][-2:]
    [{'mask': 'window', 'left': 64, 'right': 0}, {'mask': 'window', 'left': 64, 'right': 0}]
    """
    m, n = (int(config[f"tile_{x}"]) for x in ("m0", "n0"))
    heads = int(config["hdim"]), int(config["tile_n1"])
    windows = str(config["mask"]) in ("mask", "generic")
    window: dict[str, Any] = {"mask": "window", "left": 2 * n, "right": 0}
    sizes: list[tuple[tuple[int, ...], dict[str, Any]]] = []
    if windows:
        sizes += [((1, 1, 1, m + 3, 5 * n), window), ((1, 2, 1, 1, 7 * n), window)]
    if config.get("mode") == "group":
        long = (2, 1, 1, m + 3, 5 * n), {"total_k": 8 * n + 1}
        sizes += [long, ((3, 1, 1, m, 3 * n), {"total_k": 4 * n})]
        if windows:
            sizes.append((long[0], {**window, **long[1]}))
    found = [forward.problem_of(config, (*size, *heads), **said) for size, said in sizes]
    return [*forward.smoke(config), *found]

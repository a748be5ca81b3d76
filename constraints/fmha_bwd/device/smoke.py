"""The problems of attention backward on which a kernel is validated: a built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.device.smoke import apart, problem_of, without_rows
from ckrules.constraints.fmha.problem import AttentionProblem


def smoke(config: Mapping[str, Any]) -> list[AttentionProblem]:
    """Whole tiles and parts of them, shared heads, and heads that are not whole vectors.

    Windows hide blocks of K, and of a group a sequence may have no rows of Q, or of K.

    >>> point = {"tile_m0": 16, "tile_n0": 64, "tile_hdq": 64, "tile_hdv": 64, "hdim": 64,
    ...          "max_seqlen_q": 0, "mask": "no"}
    >>> str(smoke(point)[0])
    'batch=1,heads=2,heads_k=1,seqlen_q=32,seqlen_k=64,hdim=64'
    """
    m, n = int(config["tile_m0"]), int(config["tile_n0"])
    head, whole = int(config["hdim"]), int(config["tile_hdv"])
    value = min(head, whole) if config.get("pad_dv", 0) else whole
    if not config.get("pad_d", 0):
        head = max(head, int(config["tile_hdq"]))  # of shorter ones none is right
    most = int(config["max_seqlen_q"])

    def rows(count: int) -> int:
        return min(count, most) if most else count

    sizes = [
        (1, 2, 1, rows(2 * m), n, head, value),
        (2, 1, 1, rows(3 * m), 2 * n, head, value),
        (1, 2, 2, rows(2 * m + 3), n + 5, head, value),
        (2, 1, 1, 1, n - 3, head, value),
        (1, 1, 1, rows(m + 8), n, head - 8, value - 8),
        (1, 1, 1, rows(m), n, head - 3, value - 5),
    ]
    found = [problem_of(config, size) for size in sizes]
    if str(config["mask"]) in ("mask", "generic"):
        size = (1, 2, 2, rows(m + 9), 3 * n, head, value)
        found += [
            problem_of(config, size, mask="window", left=3, right=0),
            problem_of(config, size, mask="window", left=0, right=n),
        ]
    found += without_rows(config, (4, 1, 1, rows(m), 2 * n, head, value))
    return [*found, *apart(config, found[0])]

"""The problems on which the kernels before and after attention are validated: a built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckrules.constraints.fmha.device.smoke import apart, problem_of, without_rows
from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE


def smoke(config: Mapping[str, Any]) -> list[AttentionProblem]:
    """Whole blocks and parts of them, heads that are not whole vectors, and several parts.

    Of a group a sequence may have no rows of Q, or of K.

    >>> point = {"variant": "fmha_bwd_dot_do_o", "tile_s": 64, "hdim": 64, "tile_sk": 0, "mode": "batch"}
    >>> str(smoke(point)[0])
    'batch=1,heads=2,heads_k=2,seqlen_q=128,seqlen_k=128,hdim=64'
    """
    if config["variant"] == APPEND:
        return _appended(config)
    rows, deep, head = int(config["tile_s"]) or 8, int(config["tile_sk"]) or 64, int(config["hdim"])
    sizes = [
        (1, 2, 2, 2 * rows, 2 * deep, head, head),
        (2, 1, 1, rows + 3, deep + 5, head, head),
        (2, 2, 2, 1, 3 * deep, head, head),
        (1, 2, 2, rows, deep, head - 8, head - 8),
        (1, 1, 1, 3 * rows, deep, head - 3, head - 3),
    ]
    found = [problem_of(config, size) for size in sizes]
    if config["variant"] == COMBINE:
        found += [replace(found[0], splits=n) for n in (1, 3, 8)]
    found += without_rows(config, (4, 1, 1, rows, deep, head, head))
    return [*found, *apart(config, found[0])]


def _appended(config: Mapping[str, Any]) -> list[AttentionProblem]:
    """Whole blocks and parts of them behind caches of any length, and behind none.

    Heads are as long as a block holds them, or as the kernel's own.
    """
    n, m = int(config["tile_sk"]), int(config["tile_s"]) or 8
    head, value = (max(int(config["hdim"]), int(config[f"tile_{x}"])) for x in ("d", "dv"))
    sizes = [
        (1, 2, 2, n, 2 * n, head, value),
        (2, 4, 2, n + 3, 3 * n + 5, head, value),
        (2, 2, 1, 1, 2 * n - 1, head, value),
        (1, 2, 2, n + 1, n + 1, head, value),
        (1, 1, 1, 2 * m + 3, 3 * m, head, value),
        (2, 2, 2, n, 2 * n + 7, head - 8, value - 8),
        (1, 1, 1, n, 3 * n, head - 3, value - 5),
    ]
    found = [problem_of(config, size) for size in sizes]
    found[4] = replace(found[4], appended=5)
    if config["rope"] != "no":
        found += [replace(found[1], mask="causal"), replace(found[0], rotary=16, mask="causal")]
        # not whole vectors of lanes, which rotate all of theirs or nothing
        found.append(replace(found[0], rotary=20 if config["rope"] == "inter" else 24))
    if config["paged_kv"]:
        found = [replace(p, page=n * (1 + i % 2)) for i, p in enumerate(found)]
        found.append(replace(found[0], page=16))  # a block of new rows lies in five pages
    return [*found, *apart(config, found[0])]  # others write shared heads several times

"""The problems of attention on which a kernel is validated: a built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckrules.constraints.fmha.operands import can_store_random, lists_rows
from ckrules.constraints.fmha.problem import FUNCTIONS, SIZES, STRIDED, AttentionProblem


def smoke(config: Mapping[str, Any]) -> list[AttentionProblem]:
    """The built-in problems for a configuration.

    Whole tiles once and several times, a K of one tile and of five, heads that share K, then
    lengths and head dimensions that are not multiples of a tile, which are padded or computed
    wrong, a head of V of two tiles, a single row, more rows than K has, windows of several widths,
    sequences of a group without rows, and rows that lie apart.

    >>> point = {"tile_m0": 64, "tile_n0": 32, "hdim": 64, "tile_n1": 64, "mask": "no"}
    >>> [str(p) for p in smoke(point)][:2]
    ['batch=1,heads=1,heads_k=1,seqlen_q=64,seqlen_k=96,hdim=64', 'batch=2,heads=2,heads_k=1,seqlen_q=128,seqlen_k=32,hdim=64']
    """
    m, n = (int(config[f"tile_{x}"]) for x in ("m0", "n0"))
    head, value = int(config["hdim"]), int(config["tile_n1"])
    if not config.get("pad_d", True):
        head = max(head, int(config["tile_k0max"]))  # of shorter ones none is right
    sizes = [
        (1, 1, 1, m, 3 * n, head, value),
        (2, 2, 1, 2 * m, n, head, value),
        (1, 4, 2, m, 5 * n, head, value),
        (2, 1, 1, m + 3, 2 * n + 5, head, value),
        (1, 2, 1, m + 5, 2 * n, head, value),
        (1, 2, 2, m, 2 * n + 4, head, value),
        (1, 2, 2, 1, 2 * n - 1, head, value),
        (1, 1, 1, 2 * m - 1, n - 7, head, value),
        (2, 2, 1, m, 2 * n, head - 8, value - 8),
        (1, 1, 1, m, 2 * n, head - 3, value - 5),
        (1, 2, 1, m, 2 * n, head, 2 * value),
    ]
    found = [problem_of(config, size) for size in sizes]
    if str(config["mask"]) in ("mask", "generic"):
        found += [
            problem_of(
                config, (1, 2, 2, m + 9, 3 * n, head, value), mask="window", left=n, right=0
            ),
            problem_of(
                config, (1, 1, 1, 2 * m, 2 * n, head, value), mask="window", left=3, right=n
            ),
        ]
    if config.get("variant") == "fmha_fwd_splitkv":
        found += [replace(found[2], splits=n) for n in (1, 2, 8, 33)]  # a part of a tile, and none
    if config.get("paged_kv") and not lists_rows(config):
        found = [replace(p, page=n * (1 + i % 2)) for i, p in enumerate(found)]
    found += without_rows(config, (4, 1, 1, m, 2 * n, head, value))
    if can_store_random(config):
        parts = config.get("pad_s") and config.get("pad_sk")
        found.append(replace(found[3 if parts else 1], random=1))
    return [*found, *apart(config, found[2])]


def apart(config: Mapping[str, Any], problem: AttentionProblem) -> list[AttentionProblem]:
    """The problem with rows that lie apart: in one tensor of Q, K and V, and by head at odd places."""
    row = problem.heads * problem.hdim + problem.heads_k * (problem.hdim + problem.hdim_v)
    own = int(config.get("v_layout") != "col")  # its columns are as long as K's sequence
    head, value = problem.hdim, problem.hdim_v
    orders: dict[str, Any] = {f"order_{x}": "bhsd" for x in STRIDED}
    odd: dict[str, Any] = {"stride_q": head + 1, "stride_k": head + 3, "stride_o": value + 7}
    return [
        replace(problem, stride_q=row, stride_k=row, stride_v=row * own),
        replace(problem, stride_v=(value + 5) * own, **odd, **orders),
    ]


def without_rows(config: Mapping[str, Any], size: tuple[int, ...]) -> list[AttentionProblem]:
    """Problems of a group of which a sequence has no rows of Q, or of K; none without groups."""
    if config.get("mode") != "group":
        return []
    most = problem_of(config, size)
    return [replace(most, total_q=most.seqlen_q + 2), replace(most, total_k=most.seqlen_k + 2)]


def problem_of(
    config: Mapping[str, Any], size: tuple[int, ...], **further: Any
) -> AttentionProblem:
    """A problem of the kernel's functions."""
    words: dict[str, Any] = {}
    for name, known in FUNCTIONS.items():
        value = config.get(name, known[0])
        has = known[1] if name == "dropout" and value is not False else known[value is True]
        words[name] = value if value in known else has
    words["mask"] = "no" if config.get("mask", "no") == "no" else "causal"
    everything: dict[str, Any] = {**dict(zip(SIZES, size, strict=True)), **words, **further}
    return AttentionProblem(**everything)

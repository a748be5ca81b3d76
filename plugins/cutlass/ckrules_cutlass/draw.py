"""Draws kernels to measure: ``python -m ckrules_cutlass.draw FOLDER``.

Some are alike in types and layout, so that their times can be compared; others come from
everywhere, legal ones and ones that break one rule, so that the rules can be checked. The same
seed gives the same kernels.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import Generator
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.library import book
from ckrules_cutlass.program import end
from ckrules_cutlass.vocabulary import BASELINE, VARIANT
from ckrules_cutlass.words import OPERANDS

ALIKE: Mapping[str, Any] = {
    key: BASELINE[key] for key in ("dtype", "acc", "c_dtype", "d_dtype", "layout", "align")
} | {"fast_accum": False}
"""The types and the layout of kernels whose times are compared."""
_COMMON = (
    "stages == 0 & epilogue == 'tma' & epilogue_n == 0 & tile_k == 64 & tile_n % 64 == 0"
    " & schedule != 'auto' & swizzle == 1 & cluster_m * cluster_n <= 2"
)
_LIKELY = "tile_n >= 64 & tile_k >= 32 & tile_k <= 128 & cluster_m * cluster_n <= 4"
_BASES, _FIELDS = 4000, 6


def comparable(number: int, seed: int) -> list[dict[str, Any]]:
    """So many kernels of `ALIKE`: half such as the library is used with, half from a wider range.

    The first half has automatic stages and epilogue tiles and small clusters.
    """
    space = book(VARIANT, profile="fast").space(**ALIKE)
    common = [dict(p) for p in space.where(_COMMON).sample(number // 2, seed=seed)]
    rest = (dict(p) for p in space.where(_LIKELY).sample(number, seed=seed))
    return [*common, *[p for p in rest if p not in common][: number - len(common)]]


def legal(number: int, seed: int) -> list[dict[str, Any]]:
    """So many legal kernels of any sizes, of each type of operands as many."""
    each, found = -(-number // len(OPERANDS)), []
    for place, dtype in enumerate(OPERANDS):
        space = book(VARIANT).space(dtype=dtype)
        found += [dict(p) for p in space.sample(each, seed=seed + place)]
    return found[:number]


def beyond(number: int, seed: int) -> list[dict[str, Any]]:
    """Kernels that break one rule of the compiler and no other, of each rule about as many."""
    rules, chance = book(VARIANT), random.Random(seed)
    asked = {r.code for r in rules.rules if r.kind == "compile"}
    most = -(-number // len(asked))
    values = rules.space().domains
    found: dict[str, list[dict[str, Any]]] = {code: [] for code in asked}
    judge = BatchChecker(rules)
    for base in rules.space().sample(_BASES, seed=seed):
        for name in chance.sample(sorted(values.keys() - {"variant", "arch"}), _FIELDS):
            point = {**base, name: chance.choice(list(values[name]))}
            broken = [v.rule.code for v in judge(point)]
            if len(broken) == 1 and len(found.get(broken[0], range(most))) < most:
                found[broken[0]].append(point)
    return [point for code in sorted(found) for point in found[code]][:number]


def main(words: Sequence[str] | None = None) -> int:
    """Generates the drawn kernels."""
    parser = argparse.ArgumentParser(prog="ckrules_cutlass.draw", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--comparable", type=int, default=130)
    parser.add_argument("--legal", type=int, default=156)
    parser.add_argument("--beyond", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    points = [
        *comparable(given.comparable, given.seed),
        *legal(given.legal, given.seed + 1),
        *beyond(given.beyond, given.seed + 2),
    ]
    books = Books()
    configs = [config_from_mapping(p, books) for p in points]
    report = Generator(books, given.folder, force=True).run(configs)
    print(f"{report.kernels} kernels in {given.folder}")
    return 0


if __name__ == "__main__":
    end(main)

"""Fits the estimate of vector registers to what the compiler allocated, and judges it.

    python scripts/fit_vgprs.py

The data are lines of tests/data/vgprs.jsonl (convolutions, all entries of a kernel) and the CSV
files that `ckrules certify registers --data benchmarks/data/registers` writes. The first lines of
each file are fitted to (`FITTED`), and those that came later are not. The weights are in
constraints/tile_gemm/registers.py; nothing is written there. What another compiler makes of the
same kernels (the folder `AGAIN` of the data) is compared, and fitted to nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.certify.registers import families, load
from ckrules.constraints.tile_gemm.registers import UNIT, WEIGHTS
from ckrules.engine.evaluate.compiled import compile_values
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of

ROOT = Path(__file__).resolve().parent.parent
OLDER = ROOT / "tests" / "data" / "vgprs.jsonl"
DATA = ROOT / "benchmarks" / "data" / "registers"
BOOKS = Books("2025.11")
#: The compiler that kernels were compiled with a second time, and the folder of what came out.
AGAIN = "clang-22"
#: Warp tiles that a wave computes of a block tile, along M, N and K, up to which sizes count.
SIZES = {"1 or 2": 2, "3 to 8": 8, "more": sys.maxsize}
FOLDS, ROUNDS, SWEEPS, STIFF = 10, 60, 40, 0.05
LEAST_OVER, MOST_OVER = 0.05, 0.3
#: Lines of each CSV file that the weights were fitted to.
FITTED = {"conv": 321, "gemm": 348, "quant": 269, "scaled": 134}
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """A compiled kernel and what the rules say of it."""

    point: dict[str, Any]
    found: int
    spills: int | None
    terms: dict[str, int]
    bound: int
    vgprs: int
    accumulators: int
    held: bool

    @property
    def family(self) -> str:
        """The kernel's family."""
        return family_of(str(self.point["variant"])).name

    @property
    def kind(self) -> str:
        """The kernel's family and GPU."""
        return f"{self.family} {self.point['arch']}"

    @property
    def size(self) -> str:
        """How many warp tiles a wave computes of a block tile, by the names of `SIZES`."""
        sides = ("m", "n", "k")
        whole = math.prod(self.point[f"tile_{s}"] for s in sides)
        parts = math.prod(self.point[f"wave_{s}"] * self.point[f"warp_tile_{s}"] for s in sides)
        return next(name for name, most in SIZES.items() if whole <= most * parts)


def samples() -> list[Sample]:
    """The data."""
    older = [json.loads(line) for line in OLDER.read_text(encoding="utf-8").splitlines()]
    book = BOOKS.of("forward")
    found = [_sample(book.point(r["config"]), r["vgprs"], r["spills"], False) for r in older]
    for family in families(BOOKS):
        rows = load(DATA / f"{family}.csv", family, BOOKS).rows.values()
        for number, row in enumerate(rows, start=1):
            a = row.allocation
            if not a.failure:
                held = number > FITTED.get(family, 0)
                found.append(_sample(dict(row.point), a.vgprs, a.spills, held))
    return found


def _sample(point: dict[str, Any], found: int, spills: int | None, held: bool) -> Sample:
    book = BOOKS.of(point["variant"])
    terms = book.vocabulary.register_terms
    values = compile_values(list(terms.values()))(point)
    said = book.resources(point, ["bound_vgprs", "vgprs", "accumulator_vgprs"])
    made = dict(zip(terms, map(int, values), strict=True))
    return Sample(point, found, spills, made, *said.values(), held)


def table(rows: Sequence[Sample]) -> Floats:
    """The terms of each row by the signs of their weights, 0 where its family has none."""
    signs = {n: np.sign(w) for n, w in WEIGHTS.items()}
    return np.array([[s * r.terms.get(n, 0) for n, s in signs.items()] for r in rows], np.float64)


def fit(rows: Sequence[Sample]) -> Floats:
    """Weights, of the signs that they have, by the smallest relative errors.

    A kernel that has all registers of its bound could use any number from there on, so that it
    counts where less is predicted; one that spills wants more than the bound, by a part of it and
    half of the registers that it spills. What few kernels say of a term is drawn to 0.
    """
    x, y = table(rows), np.array([r.found for r in rows], np.float64)
    bounds = np.array([r.bound for r in rows], np.float64)
    full = y >= bounds - 1
    spilled = np.array([r.spills or 0 for r in rows], np.float64)
    over = LEAST_OVER * bounds + np.minimum(spilled / 2, MOST_OVER * bounds)
    y = np.where(spilled > 0, bounds + over, y)
    weight, counts = 1 / y, np.ones(len(rows), dtype=bool)
    stiff = np.diag(STIFF * np.sqrt(len(rows)) * np.abs(x / y[:, None]).mean(axis=0))
    found = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        known = np.vstack([x[counts] * weight[counts][:, None], stiff])
        wanted = np.concatenate([(y * weight)[counts], np.zeros(len(found))])
        found = improved(known, wanted, found)
        said = x @ found
        counts = ~(full & (said >= y))
        weight = 1 / y / np.sqrt(np.maximum(np.abs(said / y - 1), 0.04))
    return np.asarray(found)


def improved(x: Floats, y: Floats, found: Floats) -> Floats:
    """Weights of at least 0 nearer to those with the least squares, one of them at a time."""
    products, wanted, found = x.T @ x, x.T @ y, found.copy()
    for _ in range(SWEEPS):
        for i, row in enumerate(products):
            found[i] = max(0.0, found[i] + (wanted[i] - row @ found) / row[i])
    return found


def stated(rows: Sequence[Sample], vgprs: Sequence[float]) -> str:
    """The errors of estimates in words."""
    ratio = np.array([v / r.found for r, v in zip(rows, vgprs, strict=True)])
    off = np.abs(ratio - 1)
    small = np.array([r.accumulators <= 16 for r in rows])
    tilt = [f"{np.median(ratio[part]):.2f}" if part.any() else "-" for part in (small, ~small)]
    known = [(v >= r.bound, r.spills > 0) for r, v in zip(rows, vgprs, strict=True)
             if r.spills is not None]  # fmt: skip
    said, found = sum(s for s, _ in known), sum(f for _, f in known)
    both = sum(s and f for s, f in known)
    return (
        f"{len(rows):4} kernels, median error {100 * np.median(off):3.0f} %, "
        f"{100 * np.mean(off <= 0.25):3.0f} % within 25 %, said/made {tilt[0]} up to 16 sums a "
        f"lane and {tilt[1]} beyond; spills said of {said}, found in {found}, both {both}"
    )


def judge(title: str, rows: Sequence[Sample]) -> None:
    """Prints the errors of the rule book's estimate."""
    if rows:
        print(f"{title:34} {stated(rows, [r.vgprs for r in rows])}")


def crossed(rows: Sequence[Sample], groups: Sequence[object] | None = None) -> list[float]:
    """What weights fitted to the other groups of rows say of each row; without groups, of folds."""
    order = np.random.default_rng(0).permutation(len(rows))
    names = groups or [int(np.flatnonzero(order == i)[0]) % FOLDS for i in range(len(rows))]
    found = np.zeros(len(rows))
    for group in dict.fromkeys(names):
        held = [i for i, name in enumerate(names) if name == group]
        rest = [row for row, name in zip(rows, names, strict=True) if name != group]
        found[held] = table([rows[i] for i in held]) @ fit(rest)
    return [min(float(f), r.bound) for f, r in zip(found, rows, strict=True)]


@dataclass(frozen=True)
class TwiceCompiled:
    """One kernel's registers by the compiler that is usually taken, and by `AGAIN`."""

    arch: str
    usual: int
    again: int


def compiled_twice() -> list[TwiceCompiled]:
    """Kernels that have code by both compilers."""
    pairs = []
    for family in families(BOOKS):
        first, second = (
            load(folder / f"{family}.csv", family, BOOKS) for folder in (DATA, DATA / AGAIN)
        )
        for key in first.rows.keys() & second.rows.keys():
            usual, again = first.rows[key].allocation, second.rows[key].allocation
            if usual.vgprs and again.vgprs and usual.compiler != again.compiler:
                arch = str(first.rows[key].point["arch"])
                pairs.append(TwiceCompiled(arch, usual.vgprs, again.vgprs))
    return pairs


def judge_compilers() -> None:
    """Prints how many registers `AGAIN` takes of those that the usual compiler takes."""
    pairs = compiled_twice()
    for arch in sorted({p.arch for p in pairs}):
        share = sorted(p.again / p.usual for p in pairs if p.arch == arch)
        low, half, high = np.percentile(share, [10, 50, 90])
        print(
            f"  {arch}, {AGAIN}: {len(share)} kernels take {half:.2f} of the registers in the "
            f"median, {low:.2f} to {high:.2f} from the 10th to the 90th percentile"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; see the module."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args(argv)
    rows = samples()
    fitted, held = ([r for r in rows if r.held == part] for part in (False, True))
    kinds = [r.kind for r in fitted]
    signs = {n: 1 if w >= 0 else -1 for n, w in WEIGHTS.items()}
    for name, weight in zip(WEIGHTS, fit(fitted), strict=True):
        print(f"{name:24}{signs[name] * round(UNIT * weight):5}  (now {WEIGHTS[name]})")
    print(f"{'best fit, ten folds':34} {stated(fitted, crossed(fitted))}")
    print(f"{'best fit to other families or GPUs':34} {stated(fitted, crossed(fitted, kinds))}")
    judge("the book's, kernels fitted to", fitted)
    judge("the book's, fresh draws", held)
    for part in (*families(BOOKS), *sorted({str(r.point["arch"]) for r in held})):
        judge(f"  fresh, {part}", [r for r in held if part in (r.family, r.point["arch"])])
    for kind in sorted({r.kind for r in rows}):
        judge(f"  {kind}, all", [r for r in rows if r.kind == kind])
    for family, size in itertools.product(families(BOOKS), SIZES):
        own = [r for r in rows if r.family == family and r.size == size]
        judge(f"  {family}, warp tiles a wave: {size}", own)
    print(f"{'fitted to all, ten folds':34} {stated(rows, crossed(rows))}")
    judge_compilers()
    return 0


if __name__ == "__main__":
    sys.exit(main())

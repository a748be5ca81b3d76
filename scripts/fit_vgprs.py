"""Compiles legal kernels, keeps their figures, and fits the estimate of vector registers to them.

    python scripts/fit_vgprs.py --compile 20 --arch gfx942 --seed 1   adds to the data
    python scripts/fit_vgprs.py --results DIR/ckrules-results.sqlite  adds what `ckrules build` made
    python scripts/fit_vgprs.py                                       fits and judges the estimate

The data are lines of tests/data/vgprs.jsonl: a configuration and what clang made of it at -O3. The
constants of the estimate are in constraints/conv/quantities.py; nothing is written there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.build import oracle, toolchain
from ckrules.build.draw import Drawer
from ckrules.constraints import book
from ckrules.engine.errors import CkrulesError

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "vgprs.jsonl"
CK = "2025.11"
#: Quantities that the estimate is a sum of, with a coefficient each.
TERMS = ("accumulator_vgprs", "operand_vgprs", "staging_vgprs")
_LARGEST, _PRODUCTS, _ACCUMULATORS = 256, 64, 128


def read() -> list[dict[str, Any]]:
    """The data."""
    if not DATA.exists():
        return []
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def points(arch: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Legal configurations of every direction, none larger than what upstream lists."""
    rules = book("forward", ck=CK)
    rows = []
    for variant in ("forward", "bwd_data", "bwd_weight"):
        drawer = Drawer(rules, {"variant": (variant,), "arch": (arch,)}, seed)
        drawn = drawer.legal(40 * count)
        rows.append([p for p in drawn if _usual(p)])
    turns = itertools.chain.from_iterable(zip(*rows, strict=False))
    return list(itertools.islice(turns, count))


def _usual(p: dict[str, Any]) -> bool:
    """Not larger than upstream's kernels, and no accumulators beyond the registers."""
    products = [p[f"tile_{d}"] // (p[f"wave_{d}"] * p[f"warp_tile_{d}"]) for d in "mnk"]
    lanes = p["wave_m"] * p["wave_n"] * (64 if p["arch"].startswith("gfx9") else 32)
    return all((
        max(p["tile_m"], p["tile_n"], p["tile_k"]) <= _LARGEST,
        math.prod(products) <= _PRODUCTS,
        p["tile_m"] * p["tile_n"] // lanes <= _ACCUMULATORS,
        p["num_wave_groups"] == 1,
        p["pipeline"] != "compv5",
    ))  # fmt: skip


def add(rows: Sequence[dict[str, Any]], jobs: int) -> None:
    """Compiles the configurations and adds their figures to the data as they come."""
    tools = toolchain.require(CK)
    known = [r["config"] for r in read()]

    def one(point: dict[str, Any]) -> None:
        try:
            figures = oracle.compile_device(point, tools)
        except CkrulesError as error:
            print(f"failed: {error}", file=sys.stderr)
            return
        if not figures.ok:
            print(f"failed: {figures.error}", file=sys.stderr)
            return
        found = {n: getattr(figures, n) for n in ("vgprs", "scratch", "lds_bytes")}
        with DATA.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"config": point, **found}) + "\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [p for p in rows if p not in known]))


def take(database: Path) -> None:
    """Adds the figures of device code that `ckrules build` made at -O3 with this CK version."""
    known = [r["config"] for r in read()]
    rules = book("forward", ck=CK)
    where = "ck = ? AND status = 'ok' AND vgprs IS NOT NULL AND flags LIKE '%-O3%'"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        found = db.execute(
            f"SELECT config, arch, vgprs, scratch_bytes, lds_bytes FROM build WHERE {where}", (CK,)
        ).fetchall()
    with DATA.open("a", encoding="utf-8") as stream:
        for config, arch, vgprs, scratch, lds in found:
            point = rules.point({**json.loads(config), "arch": arch})
            if point in known:
                continue
            row = {"config": point, "vgprs": vgprs, "scratch": scratch, "lds_bytes": lds}
            stream.write(json.dumps(row) + "\n")


def table(rows: Sequence[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """The terms of each row, and a constant."""
    rules = book("forward", ck=CK)
    found = [rules.resources(r["config"], TERMS) for r in rows]
    return np.array([[*(f[t] for t in TERMS), 1] for f in found], dtype=np.float64)


def fit(rows: Sequence[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """Coefficients with the smallest absolute errors (by reweighted least squares)."""
    x, y = table(rows), np.array([r["vgprs"] for r in rows], dtype=np.float64)
    weight = np.ones(len(rows))
    for _ in range(60):
        root = np.sqrt(weight)[:, None]
        found = np.linalg.lstsq(x * root, y * root[:, 0], rcond=None)[0]
        weight = 1 / np.maximum(np.abs(x @ found - y), 1.0)
    return np.asarray(found)


def judge(rows: Sequence[dict[str, Any]]) -> None:
    """Prints the fit for each family of GPUs and the errors of the estimate of the rule book."""
    rules = book("forward", ck=CK)
    errors = []
    for family in ("gfx9", "gfx1"):
        own = [r for r in rows if r["config"]["arch"].startswith(family)]
        if len(own) > len(TERMS):
            terms = ", ".join(f"{c:.2f} {t}" for c, t in zip(fit(own), [*TERMS, ""], strict=True))
            print(f"{family}: {len(own)} kernels, best fit {terms}")
    for row in rows:
        p = row["config"]
        guess = rules.resources(p, ["vgprs", *TERMS])
        errors.append(abs(guess["vgprs"] - row["vgprs"]) / row["vgprs"])
        print(
            f"{p['arch']:<8} {p['variant']:<10} {p['pipeline']:<8} {p['dtype']} "
            f"{guess['vgprs']:>4} {row['vgprs']:>4} {100 * errors[-1]:>4.0f} % "
            f"{[guess[t] for t in TERMS]} scratch {row['scratch']} lds {row['lds_bytes']}"
        )
    for title, found in (("the estimate", errors), ("refitted without the kernel", left_out(rows))):
        parts = [f"{s} % within {100 * np.percentile(found, s):.0f} %" for s in (50, 90, 100)]
        print(f"{title}: {', '.join(parts)}")


def left_out(rows: Sequence[dict[str, Any]]) -> list[float]:
    """The error on each kernel of a fit to all the others of its family."""
    errors = []
    for family in ("gfx9", "gfx1"):
        own = [r for r in rows if r["config"]["arch"].startswith(family)]
        for k, row in enumerate(own):
            guess = float((table([row]) @ fit(own[:k] + own[k + 1 :]))[0])
            errors.append(abs(guess - row["vgprs"]) / row["vgprs"])
    return errors


def main(argv: Sequence[str] | None = None) -> int:
    """The command; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--compile", type=int, default=0, metavar="N", help="add N kernels")
    parser.add_argument("--arch", default="gfx942", help="the GPU to compile for [gfx942]")
    parser.add_argument("--seed", type=int, default=0, help="which kernels [0]")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add what a build made")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at once [1]")
    options = parser.parse_args(argv)
    if options.results:
        take(options.results)
    elif options.compile:
        add(points(options.arch, options.compile, options.seed), options.jobs)
    elif rows := read():
        judge(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

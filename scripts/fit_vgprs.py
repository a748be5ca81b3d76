"""Compiles legal kernels, keeps their figures, and fits the estimate of vector registers to them.

    python scripts/fit_vgprs.py --compile 20 --arch gfx942 --seed 1   adds to the data
    python scripts/fit_vgprs.py --results DIR/ckrules-results.sqlite  adds what `ckrules build` made
    python scripts/fit_vgprs.py                                       fits and judges the estimate

The data are lines of tests/data/vgprs.jsonl: a configuration and what clang made of it at -O3. The
constants of the estimate are in constraints/tile_gemm/registers.py; nothing is written there. They
were fitted to the lines of part "fit"; what is added is of part "held", which its error is stated
on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.certify.sampling import Sampler
from ckrules.codegen.generate import Generator
from ckrules.compiling import executors
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

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
        sampler = Sampler(rules, {"variant": (variant,), "arch": (arch,)}, seed)
        drawn = sampler.legal(40 * count)
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
    """Builds the configurations' device code and adds its figures to the data as they come."""
    known = [r["config"] for r in read()]
    configs = [Config(p) for p in rows if p not in known]

    def tell(result: Result | None) -> None:
        if result is not None:
            keep([result])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Generator(Books(CK), folder, ninja=False).run(configs)
        session = BuildSession(folder, BuildOptions(artifacts=(Artifact.DEVICE,)))
        with (
            Results(folder / FILE) as results,
            executors.executor("local", jobs) as (pool, width),
        ):
            session.run(results, pool, width, tell)


def take(database: Path) -> None:
    """Adds figures of device code that `ckrules build` made of legal kernels at -O3."""
    where = "ck = ? AND artifact = ? AND legal AND flags LIKE '%-O3%'"
    with Results(database, reading=True) as results:
        keep(results.rows(where=where, values=[CK, Artifact.DEVICE]))


def keep(results: Iterable[Result]) -> None:
    """Adds the figures of builds that ended well and are not in the data."""
    known = [r["config"] for r in read()]
    rules = book("forward", ck=CK)
    with DATA.open("a", encoding="utf-8") as stream:
        for r in results:
            if r.vgprs is None:
                print(f"failed: {r.name}: {r.diagnostic}", file=sys.stderr)
                continue
            config = {**json.loads(r.config), "arch": r.arch}
            if not config.keys() <= rules.fields.keys():  # of another family
                continue
            point = rules.point(config)
            if point in known:
                continue
            row = {"part": "held", "config": point, "vgprs": r.vgprs, "spills": r.vgpr_spills,
                   "scratch": r.scratch_bytes, "lds_bytes": r.lds_bytes}  # fmt: skip
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
    """Prints the best fit for each family of GPUs, and the errors of the rule book's estimate."""
    rules = book("forward", ck=CK)
    for family in ("gfx9", "gfx1"):
        own = [r for r in rows if r["config"]["arch"].startswith(family)]
        fitted = [r for r in own if r["part"] == "fit"]
        terms = ", ".join(f"{c:.2f} {t}" for c, t in zip(fit(fitted), [*TERMS, ""], strict=True))
        print(f"{family}: {len(fitted)} kernels, best fit {terms}")
        for part in ("fit", "held"):
            told = [r for r in own if r["part"] == part]
            guesses = [rules.resources(r["config"], ["vgprs", "bound_vgprs"]) for r in told]
            print(f"{family}, part {part}: {stated(told, guesses)}")


def stated(rows: Sequence[dict[str, Any]], guesses: Sequence[Mapping[str, int]]) -> str:
    """The errors of estimates in words: registers, and whether there are spills."""
    pairs = list(zip(guesses, rows, strict=True))
    errors = [abs(g["vgprs"] - r["vgprs"]) / r["vgprs"] for g, r in pairs]
    parts = [f"{s} % within {100 * np.percentile(errors, s):.0f} %" for s in (50, 90, 100)]
    known = [(g["vgprs"] >= g["bound_vgprs"], r["spills"] > 0)
             for g, r in pairs if r["spills"] is not None]  # fmt: skip
    right = sum(said and found for said, found in known)
    said, found = sum(s for s, _ in known), sum(f for _, f in known)
    told = f"; of {len(known)} spills are said of {said}, found in {found}, both {right}"
    return f"{len(rows)} kernels, {', '.join(parts)}{told * bool(known)}"


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

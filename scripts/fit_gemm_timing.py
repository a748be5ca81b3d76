"""Looks for constants of GEMMs' times without one of aiter's tables, and judges them on it.

    python scripts/fit_gemm_timing.py [STEPS]

The tables are those of benchmarks/data; one of them has two products, so that there are four to
leave out. Each search begins with the constants of convolutions, far from those of GEMMs, and takes
random steps (120): what counts is the winners' place in their lists and the error of their times,
on every third row of the other three. What is printed is how the constants found do on all rows of
the one left out, and the constants themselves. Nothing is written.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device.terms import FITTED, GEMMS, Constants
from ckrules.kernels.books import Books
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.winners import Winner, WinnerFigures, WinnerLists, read_winners

DATA = Path(__file__).resolve().parent.parent / "benchmarks" / "data"
STEPS, SEED, EVERY, WIDTH = 120, 1, 3, 0.4
#: What an error of the times by a factor of e counts, beside places from 0 to 1.
TIMES = 0.25
Group = tuple[str, str]


def winners(books: Books) -> dict[Group, list[Winner]]:
    """The rows of aiter's tables, by table and product."""
    found: dict[Group, list[Winner]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in sorted(DATA.glob("a8w8_*_tuned_gemm.csv.gz")):
            plain = Path(folder) / table.stem
            plain.write_bytes(gzip.decompress(table.read_bytes()))
            for row in read_winners(plain, books).rows:
                found.setdefault((row.table, row.product), []).append(row)
    return found


def figures(
    lists: WinnerLists, rows: Sequence[Winner], constants: Constants
) -> list[WinnerFigures]:
    """How winners compare with predictions that are made with these constants."""
    kept, terms.GEMMS = terms.GEMMS, constants
    try:
        return list(lists.figures(rows))
    finally:
        terms.GEMMS = kept


def loss(found: Sequence[WinnerFigures]) -> float:
    """Small where winners come first and their times are as predicted."""
    each = (f.place + TIMES * abs(float(np.log(f.ratio))) + TIMES * (1 - f.within) for f in found)
    return sum(each) / len(found)


def searched(lists: WinnerLists, rows: Sequence[Winner], steps: int) -> Constants:
    """The best constants that random steps meet."""
    best, rng = replace(FITTED, staggered=True), np.random.default_rng(SEED)
    least = loss(figures(lists, rows, best))
    names = [n for n, v in asdict(best).items() if not isinstance(v, bool)]
    for _ in range(steps):
        name = str(rng.choice(names))
        value = getattr(best, name) * float(np.exp(rng.normal(0, WIDTH)))
        tried = replace(best, **{name: value})
        if (found := loss(figures(lists, rows, tried))) < least:
            best, least = tried, found
    return best


def show(title: str, f: WinnerFigures) -> None:
    """One line of the table."""
    print(f"{title:9}{f.table:40}{f.product:18}{f.place:7.3f}{100 * f.first:8.1f} %"
          f"{100 * f.within:8.1f} %{f.ratio:8.2f}", flush=True)  # fmt: skip


def main() -> None:
    """Searches without each table and product in turn, and prints how that does on it."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    books = Books("2026.06")
    groups = winners(books)
    lists = WinnerLists(Ranker(model=False), books)
    print(
        f"{'':9}{'table':40}{'product':18}{'place':>7}{'first 5':>10}{'in range':>10}{'ratio':>8}"
    )
    for group, rows in groups.items():
        others = [r for name, own in groups.items() if name != group for r in own[::EVERY]]
        found = searched(lists, others, steps)
        show("present", *figures(lists, rows, GEMMS))
        show("without", *figures(lists, rows, found))
        print({k: float(f"{v:.3g}") for k, v in asdict(found).items()}, flush=True)


if __name__ == "__main__":
    main()

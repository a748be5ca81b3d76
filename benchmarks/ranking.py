"""How long ranking and searching take, and whether a search finds what a million samples do not.

python benchmarks/ranking.py [--samples 1000000] [--arch gfx942] [--variant bwd_weight]

First 1,000 kernels are ranked on a problem, everything being imported and a model loaded: kernels
of the package's model, of which every one is learned, and kernels of which none was measured. Its
trees are then evaluated by numpy and, where it is installed, by LightGBM on one thread. Then the
legal space of a variant on a GPU is searched for each of some problems, and the predicted time
of what is found is checked against the best of so many uniform samples.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from ckrules.kernels.selection import select
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.search import Search

PROBLEMS = (
    "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1",
    "N=1,C=64,K=64,H=56,W=56,Y=1,X=1",
    "N=32,C=128,K=512,H=14,W=14,Y=3,X=3,stride=2,pad=1",
)
TIMES = 9
#: What a model speaks of: see the card of the package's model.
MEASURED = (
    "pipeline in ('compv3', 'compv4', 'compv5') & epilogue == 'cshuffle'"
    " & scheduler == 'intrawave' & num_wave_groups == 1 & num_groups_to_merge == 1"
    " & tile_m >= 16 & tile_m <= 128 & tile_n >= 64 & tile_n <= 128 & tile_k in (64, 128)"
    " & waves >= 4 & waves <= 16"
)


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--samples", type=int, default=1_000_000)
    options.add_argument("--arch", default="gfx942")
    options.add_argument("--variant", default="bwd_weight")
    options.add_argument("--dtype", default="fp16")
    options.add_argument("--ck", default="2026.06")
    asked = options.parse_args()
    books = Books(asked.ck)
    learned = _candidates(books, PROBLEMS[0], "forward", "gfx950", "bf16", MEASURED)
    ranked("1,000 kernels like the measured ones", learned)
    ranked("1,000 kernels of the whole space", _candidates(
        books, PROBLEMS[0], "forward", "gfx950", "bf16"))  # fmt: skip
    trees(learned)
    for line in PROBLEMS:
        searched(_candidates(books, line, asked.variant, asked.arch, asked.dtype), asked.samples)


def _candidates(
    books: Books, line: str, variant: str, arch: str, dtype: str, where: str = ""
) -> Candidates:
    given = {"variant": (variant,), "arch": (arch,), "dtype": (dtype,)}
    region = select(books, given, (where,) if where else ())
    return Candidates(region, books, problems_of(variant).parse(line))


def ranked(title: str, candidates: Candidates) -> None:
    """Prints how long the ranking of 1,000 configurations takes."""
    points = [dict(p) for p in candidates.space.sample(1000, seed=1)]
    ranker = Ranker()

    def once() -> Any:
        table = KernelTable.of_points(points, candidates.books)
        return ranker.rank([(table, points)], candidates.problem, 10)

    first = _seconds(once)
    wall, processor = zip(*(_both(once) for _ in range(TIMES)), strict=True)
    found = once()
    print(f"{title}: {1e3 * min(wall):.0f} ms ({1e3 * min(processor):.0f} ms of the processor;"
          f" the first time {first:.2f} s); {found.source}")  # fmt: skip


def trees(candidates: Candidates) -> None:
    """Prints how long the trees take for 1,000 kernels: read, and evaluated."""
    from ckrules.ranking.forest import Forest
    from ckrules.ranking.learned import matrix
    from ckrules.ranking.ranker import shipped

    model = shipped("forward", "bf16", "gfx950")
    assert model is not None
    points = [dict(p) for p in candidates.space.sample(1000, seed=1)]
    table = KernelTable.of_points(points, candidates.books)
    estimate, base = table.estimate(candidates.problem), model.base(table, candidates.problem)
    rows = matrix(estimate, base, model.features, model.situation)
    forests = [Forest(e) for e in model.relative]
    first = _seconds(lambda: [f.predict(rows) for f in forests])
    again = min(_seconds(lambda: [f.predict(rows) for f in forests]) for _ in range(TIMES))
    print(f"trees by numpy: {1e3 * again:.0f} ms (the first time {1e3 * first:.0f} ms)")
    try:
        import lightgbm
    except ImportError:
        return
    made: list[Any] = []
    began = _seconds(
        lambda: made.extend(lightgbm.Booster(model_str=e.text) for e in model.relative)
    )
    again = min(
        _seconds(lambda: [b.predict(rows, num_threads=1) for b in made]) for _ in range(TIMES)
    )
    print(f"trees by LightGBM: {1e3 * again:.0f} ms (reading them {1e3 * began:.0f} ms)")


def searched(candidates: Candidates, samples: int) -> None:
    """Prints what a search finds, how long it takes, and what so many samples find."""
    ranker = Ranker()
    kept = []
    seconds, processor = _both(lambda: kept.append(Search(candidates, ranker).run()))
    (found,) = kept
    best = found.ranking.kernels[0]
    count = candidates.space.count()
    print(f"{candidates.problem} of {count:,} kernels: {best.microseconds:.2f} us predicted,"
          f" {seconds:.1f} s ({processor:.1f} s of the processor), {found.ranking.looked_at:,}"
          f" looked at, {found.rounds} rounds ({found.ended})")  # fmt: skip
    began = time.perf_counter()
    sample = ranker.rank(candidates.kernels(samples, 1), candidates.problem, 1)
    seconds = time.perf_counter() - began
    least = sample.kernels[0]
    verdict = "no faster" if least.microseconds >= best.microseconds else "FASTER"
    print(f"  {sample.looked_at:,} uniform samples: {least.microseconds:.2f} us, {seconds:.1f} s:"
          f" {verdict}")  # fmt: skip


def _seconds(work: Callable[[], Any]) -> float:
    return _both(work)[0]


def _both(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


if __name__ == "__main__":
    main()

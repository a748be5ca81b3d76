"""How good picks of kernels are: convolutions beside upstream's model, GEMMs beside aiter's tables.

python benchmarks/selection.py [MEASUREMENTS] [--leave-out]

MEASUREMENTS is a CSV of measured times as `ckrules evaluate` reads it, with the column ``set``;
without it the file in ``data`` is read that the package's model was made of. Models are trained on
folds of its problems, each together with all problems of the set ``training``, and judged on the
rest of the set ``validation``. ``--leave-out`` also leaves out each block tile and each pipeline in
turn. Of GEMMs the winners of aiter's tuning are at hand: which place the estimates give them among
the kernels of its list, and how near their times are. In bf16 and int8 its winners are kernels of
other libraries: beside their times are those of the kernel of CK Tile that is predicted fastest.
Of attention there are published times of one kernel for each problem. ``--gemms`` prints the tables
of GEMMs alone, ``--attention`` that of attention.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.cli.commands.evaluate import winners_table
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.families import problems_of
from ckrules.ranking.evaluation import EfficiencyFigures, Pick, figures, judge
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.learned import TimeModel
from ckrules.ranking.measurements import MeasuredProblem, kernels_of, read
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.training import Samples, train
from ckrules.ranking.winners import judge_winners, read_winners, spearman

FOLDS, DRAWN = 5, 2000
SEEDS = (1, 2, 3)
DATA = Path(__file__).resolve().parent / "data" / "forward_bf16_gfx950.csv.gz"
OTHERS = DATA.parent / "other_libraries_gemm.csv.gz"
ATTENTION = DATA.parent / "attention_forward.csv.gz"
#: Upstream's LightGBM model, 48,845 measurements of 1,372 problems, judged on 231 others:
#: comparison_summary_300.csv of tile_engine/ops/grouped_conv (rocm-libraries, dd655392).
UPSTREAM = (93.05, 79.2, 96.8, 21.6)


def main() -> None:
    """Measures and prints a table."""
    books = Books("2026.06")
    if "--gemms" in sys.argv:
        gemms(books)
        other_libraries(books)
        return
    if "--attention" in sys.argv:
        attention()
        return
    given = [a for a in sys.argv[1:] if a != "--leave-out"]
    with measurements(*given) as path:
        samples = Samples.of(read(path, books), books)
    print(f"{'':34}{'mean':>8}{'p10':>8}{'median':>8}{'top-1':>8}{'problems':>10}")
    show("upstream's model, published", *UPSTREAM, 231)
    row("always the best single kernel", figures(single(samples)))
    row("estimates alone", samples.estimated())
    row("a model of other kernels' problems", figures(of_others(samples, books)))
    began = time.perf_counter()
    for seed in SEEDS:
        row(f"models, {FOLDS} folds, seed {seed}", figures(folded(samples, books, seed=seed)))
    print(f"{time.perf_counter() - began:.0f} s for {FOLDS * len(SEEDS)} models; ", end="")
    print(f"1,000 kernels ranked in {1e3 * ranking_time(samples):.0f} ms")
    if "--leave-out" in sys.argv:
        leave_out(samples, books)
    gemms(books)
    other_libraries(books)
    attention()


def gemms(books: Books) -> None:
    """The figures of the tuned tables in ``data``, by product."""
    rows = []
    for table in sorted(DATA.parent.glob("*_tuned_gemm.csv.gz")):
        with unpacked(table) as path:
            rows += read_winners(path, books).rows
    began = time.perf_counter()
    print("\n" + winners_table(list(judge_winners(rows, Ranker(model=False), books))), end="")
    print(f"{time.perf_counter() - began:.1f} s for {len(rows)} winners")


def other_libraries(books: Books) -> None:
    """Times of the kernels predicted fastest beside those of other libraries' fastest kernels."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with gzip.open(OTHERS, "rt", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            key = (line["table"], line["arch"], line["compute_units"], line["dtype"])
            groups.setdefault((*key, line["library"]), []).append(line)
    head = f"{'table':18}{'product':22}{'dtype':6}{'library':8}{'products':>9}"
    print(f"\n{head}{BESIDE}")
    for (table, arch, units, dtype, library), lines in groups.items():
        kernels = drawn_gemms(books, arch, units, dtype)
        predicted = np.asarray([fastest(kernels, line) for line in lines])
        measured = np.asarray([float(line["us"]) for line in lines])
        print(f"{table:18}{kernels.product.name:22}{dtype:6}{library:8}{len(lines):9,}", end="")
        print(beside(predicted, measured))


def attention() -> None:
    """Predicted times of attention beside the published ones, by product and type."""
    books, rows = Books("2025.11"), dict[tuple[str, str], list[tuple[float, float]]]()
    with gzip.open(ATTENTION, "rt", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            point = config_from_name(line["kernel"], books, arch=line["arch"]).point
            kernels = KernelTable.of_points([point], books, line["product"])
            problem = problems_of("fmha_fwd").parse(line["problem"])
            (predicted,) = Ranker(model=False).times(kernels, problem)
            key = (line["product"], str(point["dtype"]))
            rows.setdefault(key, []).append((predicted, float(line["latency_us"])))
    print(f"\n{'product':22}{'dtype':6}{'problems':>9}{BESIDE}")
    for (product, dtype), pairs in rows.items():
        print(f"{product:22}{dtype:6}{len(pairs):9,}{beside(*np.asarray(pairs).T)}")


BESIDE = f"{'predicted/measured':>20}{'p10':>7}{'p90':>7}{'within 1.3':>12}{'Spearman':>10}"


def beside(predicted: Any, measured: Any) -> str:
    """How near predicted times are to measured ones, under `BESIDE`."""
    ratio = predicted / measured
    low, middle, high = np.percentile(ratio, (10, 50, 90))
    near = 100 * np.mean(np.abs(np.log(ratio)) <= np.log(1.3))
    order = spearman(predicted, measured) if len(ratio) > 1 else float("nan")
    return f"{middle:20.2f}{low:7.2f}{high:7.2f}{near:10.1f} %{order:10.3f}"


def drawn_gemms(books: Books, arch: str, units: str, dtype: str) -> KernelTable:
    """Legal kernels that take any product, with wide loads and usual pipelines, drawn uniformly."""
    fixed = {"variant": ("standard",), "arch": (arch,), "dtype": (dtype,), "layout": ("rcr",)}
    plain = {"pad_m": (True,), "pad_n": (True,), "pad_k": (True,), "epilogue": ("cshuffle",)}
    pipelines = {"pipeline": ("compv3", "compv4", "mem"), "persistent": (False,), "num_d": (0,)}
    book = books.of("standard")
    space = book.space_of(list(book.rules), {**fixed, **plain, **pipelines})
    points = [dict(p) for p in space.where("tile_m * tile_n <= 65536").sample(DRAWN, seed=1)]
    speeds = next(g for g in books.gpus if g.name == arch).performance
    assert speeds is not None
    name = next(p.name for p in speeds.products if str(p.compute_units) == units)
    return KernelTable.of_points(points, books, name)


def fastest(kernels: KernelTable, line: Mapping[str, str]) -> float:
    """The shortest predicted time of a row's product."""
    sizes = {name: int(line[name]) for name in "MNK"}
    problem = problems_of("standard").from_mapping(sizes)
    return float(np.min(Ranker(model=False).times(kernels, problem)))


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A file of ``data`` without its last suffix, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / path.stem
        found.write_bytes(gzip.decompress(path.read_bytes()))
        yield found


@contextmanager
def measurements(given: str | None = None) -> Iterator[Path]:
    """The file given, or that of the package's model, unpacked."""
    if given is not None:
        yield Path(given)
        return
    with unpacked(DATA) as path:
        yield path


def row(title: str, f: EfficiencyFigures) -> None:
    """One line of the table."""
    show(title, f.mean, f.p10, f.median, f.top1, f.problems)


def show(title: str, mean: float, p10: float, median: float, top1: float, problems: int) -> None:
    """One line of the table, of numbers."""
    print(f"{title:34}{mean:8.2f}{p10:8.2f}{median:8.2f}{top1:8.1f}{problems:10,}")


def folded(
    samples: Samples, books: Books, left_out: Callable[[Any], bool] | None = None, seed: int = 1
) -> Iterator[Pick]:
    """The picks of models that saw neither the problem nor the kernels left out."""
    held = sorted({str(m.problem) for m in samples.measured if _validation(m)})
    order = np.random.default_rng(1).permutation(len(held))
    fold = {held[i]: place % FOLDS for place, i in enumerate(order)}
    for f in range(FOLDS):
        # A problem of both sets counts as one that was held out.
        known = samples.only(lambda m, f=f: fold.get(str(m.problem)) != f)
        asked = samples.only(lambda m, f=f: _validation(m) and fold[str(m.problem)] == f)
        yield from _picks(train(known, books, seed=seed, left_out=left_out), asked)


def of_others(samples: Samples, books: Books) -> Iterator[Pick]:
    """The picks of a model of the set ``training``, on the problems of the set ``validation``.

    The kernels of the two were measured apart: those of the second set are ten more, of a pipeline
    that the first one has not.
    """
    held = {str(m.problem) for m in samples.measured if _validation(m)}
    known = samples.only(lambda m: not _validation(m) and str(m.problem) not in held)
    return _picks(train(known, books), samples.only(_validation))


def _picks(model: TimeModel, asked: Samples) -> Iterator[Pick]:
    for m, t, e in zip(asked.measured, asked.tables, asked.estimates, strict=True):
        yield judge(model.predict(t, m.problem, e).microseconds, m.microseconds)


def _validation(m: MeasuredProblem) -> bool:
    return not m.label.startswith("training")


def single(samples: Samples) -> Iterator[Pick]:
    """The picks of whoever always takes the kernel that is best in the mean."""
    held = [m for m in samples.measured if _validation(m)]
    shares = np.mean([m.best / np.asarray(m.microseconds) for m in held], axis=0)
    for m in held:
        yield judge(-shares, m.microseconds)


def ranking_time(samples: Samples) -> float:
    """Seconds to rank 1,000 kernels, everything being loaded."""
    points = (list(samples.measured[-1].points) * 34)[:1000]
    table = KernelTable.of_points(points, samples.tables[0].books)
    ranker = Ranker()
    ranker.times(table, samples.measured[0].problem)
    began = time.perf_counter()
    for m in samples.measured[1:6]:
        ranker.times(table, m.problem)
    return (time.perf_counter() - began) / 5


def leave_out(samples: Samples, books: Books) -> None:
    """The figures without each tile, and without each pipeline, in training."""
    kernels = kernels_of(samples.measured)
    for names in (("tile_m", "tile_n", "tile_k"), ("pipeline",)):
        found = []
        for values in dict.fromkeys(tuple(p[n] for n in names) for p in kernels):

            def gone(p: Any, names: Any = names, values: Any = values) -> bool:
                return tuple(p[n] for n in names) == values

            f = figures(folded(samples, books, gone))
            found.append(f.mean)
            row(f"without {'x'.join(map(str, values))}", f)
        print(f"{'mean of these':34}{np.mean(found):8.2f}")


if __name__ == "__main__":
    main()

"""Pictures of predicted times: of a problem by block tile, and ranked kernels under roofs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.output.columns import Columns
from ckrules.pictures.shapes import HeatMap, Nothing, Points
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.kernels import KernelTable
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.region import Region
    from ckrules.kernels.books import Books
    from ckrules.ranking.ranker import Ranker, Ranking

#: Kernels that are drawn from all, and at least so many of each tile.
DRAW, EACH = 30_000, 24


def tiles(
    region: Region,
    books: Books,
    problem: Any,
    ranker: Ranker,
    *,
    x: str = "tile_n",
    y: str = "tile_m",
    product: str | None = None,
    draw: int = DRAW,
    seed: int = 1,
) -> HeatMap | Nothing:
    """The shortest predicted time in microseconds of the kernels with each block tile.

    All kernels are looked at where they are few, else ``draw`` of them and at least `EACH` of
    each tile, or all that it has.

    Args:
        region: A part of the space of one variant and GPU.
        problem: A problem of the variant.
        x: The field of the columns.
        y: The field of the rows.
    """
    title = f"predicted time by {y} and {x}"
    try:
        candidates = Candidates(region, books, problem)
        _has(candidates, x, y)
        total = candidates.space.count()
        best, looked_at = _best(candidates, problem, ranker, (y, x), product, draw, seed)
    except UsageError as error:
        return Nothing(title, str(error))
    if not best:
        return Nothing(title, f"no kernel accepts {problem}")
    rows, columns = (tuple(sorted({key[i] for key in best})) for i in (0, 1))
    cells = tuple(tuple(best.get((r, c)) for c in columns) for r in rows)
    text = f"Looked at {looked_at:,} of {total:,} kernels for {problem}; {ranker.said()}."
    return HeatMap(
        title, x, y, "microseconds", tuple(map(str, columns)), tuple(map(str, rows)), cells,
        low_is_good=True, said=text,
    )  # fmt: skip


def _has(candidates: Candidates, *names: str) -> None:
    for name in names:
        if name not in candidates.space.domains:
            raise UsageError(f"{candidates.variant} kernels have no {name}")


def _best(
    candidates: Candidates,
    problem: Any,
    ranker: Ranker,
    names: tuple[str, str],
    product: str | None,
    draw: int,
    seed: int,
) -> tuple[dict[tuple[int, int], float], int]:
    """The shortest time of each pair of values, and how many kernels were looked at."""
    best: dict[tuple[int, int], float] = {}
    seen: dict[tuple[int, int], int] = {}

    def look(tables: Iterator[tuple[KernelTable, Sequence[Any]]]) -> None:
        for table, _ in tables:
            times = ranker.times(table, problem)
            keys = np.stack([np.asarray(table.columns[n].rows()) for n in names])
            found, places = np.unique(keys, axis=1, return_inverse=True)
            places = places.ravel()
            shortest = np.full(found.shape[1], np.inf)
            np.minimum.at(shortest, places, times)
            for i, n in enumerate(np.bincount(places)):
                key = (int(found[0, i]), int(found[1, i]))
                best[key] = min(best.get(key, np.inf), float(shortest[i]))
                seen[key] = seen.get(key, 0) + int(n)

    look(candidates.kernels(draw, seed, product))
    for key, n in candidates.space.counts_by(*names).items():
        if seen.get(key, 0) < min(n, EACH):
            part = candidates.space.bind(**dict(zip(names, key, strict=True)))
            look(candidates.kernels(EACH, seed, product, part))
    return best, sum(seen.values())


def roofline(
    ranking: Ranking, books: Books, problem: Any, product: str | None = None
) -> Points | Nothing:
    """The predicted speed of ranked kernels under the roofs of matrix units, L2 and memory.

    A kernel's place is the operations that its block tile makes of each byte that it loads; the
    memory's roof is that of the problem, whose tensors are moved once.

    Args:
        ranking: The kernels, of one variant and GPU.
        problem: The problem that they were ranked on.
    """
    title = f"roofline of {count(len(ranking.kernels), 'ranked kernel')}"
    if not ranking.kernels:
        return Nothing(title, f"no kernel accepts {problem}")
    points = [r.point for r in ranking.kernels]
    table = KernelTable.of_points(points, books, product)
    estimate, speeds = table.estimate(problem), table.gpu.performance
    x = _intensities(points, books)
    if x is None or speeds is None or "intensity" not in estimate.situation:
        return Nothing(title, "nothing is known of what such kernels load")
    first = ranking.kernels[0].figures
    peak = first["tflops"] / first["of_peak"]
    unit = table.product.compute_units * table.product.clock_mhz * 1e-6
    memory = peak * min(2.0 ** estimate.situation["intensity"], 1.0)
    l2 = speeds.l2_bytes_per_clock * unit
    ends = np.geomspace(x.min() / 2, max(x.max() * 2, peak / l2 * 2), 100)
    lines = {
        f"matrix units: {peak:,.0f} TFLOPS": (ends, np.full_like(ends, peak)),
        "L2 to LDS": (ends, np.minimum(l2 * ends, peak)),
        f"memory on this problem: {memory:,.0f} TFLOPS": (ends, np.full_like(ends, memory)),
    }
    speed = np.asarray([r.figures["tflops"] for r in ranking.kernels])
    groups = _by_limit(ranking, x, speed)
    about = (
        f"{table.product.name}, {problem}: the fastest kernel reaches {speed.max():,.1f} TFLOPS, "
        f"{speed.max() / peak:.0%} of the matrix units; {ranking.source}."
    )
    label = "FLOP for each byte that block tiles load"
    return Points(title, label, "predicted TFLOPS", groups, lines, about=about)


def _by_limit(ranking: Ranking, x: Any, y: Any) -> Mapping[str, tuple[Any, Any]]:
    limits = np.asarray([r.limit for r in ranking.kernels])
    return {
        f"limited by {name}": (x[limits == name], y[limits == name])
        for name in dict.fromkeys(limits.tolist())
    }


def _intensities(points: Sequence[Mapping[str, Any]], books: Books) -> Any:
    """Operations for each byte of A and B that a block tile stages; None: not known."""
    book = books.of(str(points[0]["variant"]))
    names = ("tile_m", "tile_n", "element_bytes")
    if not set(names) <= {*book.fields, *book.vocabulary.quantities}:
        return None
    columns = Columns(book, names).of_points(points)
    m, n, size = (np.asarray(columns[c].rows(), dtype=np.float64) for c in names)
    return 2 * m * n / ((m + n) * size)

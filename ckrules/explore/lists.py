"""Lists of kernels under a choice: the first ones, drawn ones, or those predicted fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckrules.engine.expr import Value
from ckrules.explore.choice import FieldChoice, word
from ckrules.explore.kernel_address import address
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.support.errors import CkrulesError, UsageError, unknown

LISTS = {
    "first": "the first in order",
    "sample": "drawn uniformly",
    "best": "predicted fastest",
}
MOST = 200
"""Kernels that a page lists at most."""
_SHOWN = ("lds_bytes", "vgprs", "threads")


@dataclass(frozen=True)
class Listed:
    """One kernel of a list."""

    address: str
    name: str
    arch: str
    cells: Sequence[str]


@dataclass(frozen=True)
class KernelList:
    """Kernels under a choice, with what is shown beside their names.

    Points that are not kernels have no address.
    ``said`` is how they were found, or why there is none.
    """

    kind: str
    columns: Sequence[str]
    kernels: Sequence[Listed]
    said: str


def kernels(subject: Subject, choice: FieldChoice, kind: str, n: int, seed: int) -> KernelList:
    """``n`` kernels under a choice.

    Raises:
        UnknownNameError: For a kind of list that does not exist.
        UsageError: For more than `MOST`.
        ExpressionError: If the choice's condition is none.
    """
    if kind not in LISTS:
        raise unknown("list", kind[:40], LISTS)
    if not 1 <= n <= MOST:
        raise UsageError(f"n = {n}: a page lists 1 to {MOST} kernels")
    known = subject.region.book.vocabulary.quantities
    columns = [q for q in _SHOWN if q in known]
    points, times, said = _points(subject, choice, kind, n, seed)
    if times:
        columns = ["predicted µs", *columns]
    rows = [
        Listed(
            address(p, subject.books) if subject.kernels else "",
            title(p, subject.books if subject.kernels else None), str(p.get("arch", "")),
            [*([f"{times[i]:.1f}"] if times else []), *_cells(subject, p, columns)],
        )
        for i, p in enumerate(points)
    ]  # fmt: skip
    return KernelList(kind, columns, rows, said)


def _points(
    subject: Subject, choice: FieldChoice, kind: str, n: int, seed: int
) -> tuple[Sequence[Mapping[str, Value]], Sequence[float], str]:
    space = subject.space_of(choice)
    total = space.count()
    if not total:
        return [], [], "no kernel is left: take back a choice"
    if kind == "first":
        return list(space[: min(n, total)]), [], f"the first of {total:,}"
    if kind == "sample":
        return space.sample(n, seed=seed), [], f"drawn uniformly from {total:,}, seed {seed}"
    from ckrules.ranking.best import best

    try:
        found = best(subject.region_of(choice), subject.books, n)
    except CkrulesError as error:
        return [], [], str(error)
    if not found.kernels:
        return [], [], "no kernel accepts the usual problems"
    over = "one problem" if len(found.problems) == 1 else f"{len(found.problems)} usual problems"
    times = [k.microseconds for k in found.kernels]
    return found.points, times, f"{found.order} on {over}, {found.looked}: {found.source}"


def _cells(subject: Subject, point: Mapping[str, Value], columns: Sequence[str]) -> Sequence[str]:
    names = [c for c in columns if c in _SHOWN]
    values = subject.region.book.resources(point, names) if names else {}
    return ["" if v is None else f"{v:,}" for v in values.values()]


def title(point: Mapping[str, Value], books: Books | None) -> str:
    """A kernel's name, or its fields where no name says it."""
    found = address(point, books) if books is not None else "{"
    if found.startswith("{"):
        return " ".join(f"{k}={word(v)}" for k, v in point.items())
    return found.rpartition("@")[0]

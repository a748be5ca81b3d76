"""Lists of kernels under a choice: those predicted fastest, drawn ones, or the first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckrules.engine.expr import Value
from ckrules.explore.choice import FieldChoice
from ckrules.explore.fastest import FastestSearch
from ckrules.explore.kernel_address import address
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.output.brief import NOTHING, Brief, brief_of, short
from ckrules.output.columns import Columns
from ckrules.support.errors import CkrulesError, UsageError, unknown
from ckrules.support.tables import word

LISTS = {"best": "Predicted fastest", "sample": "Drawn", "first": "In order"}
USUAL = 20
"""Kernels that a page lists at first."""
MOST = 200
"""Kernels that a page lists at most."""
FEW = 60
"""Kernels that a search is asked for at first."""
_NUMBERS = {"lds_bytes": "LDS bytes", "vgprs": "registers", "threads": "threads"}
_TIME = "predicted µs"


@dataclass(frozen=True)
class ListColumn:
    """A column: its title, and whether it holds numbers."""

    title: str
    number: bool = False


@dataclass(frozen=True)
class ListCell:
    """What a row says in a column; ``share`` is the length of its bar (0 to 1) where it has one."""

    text: str
    share: float | None = None
    slow: bool = False
    """Whether the number is one at which kernels get slow."""


@dataclass(frozen=True)
class Listed:
    """One kernel of a list."""

    address: str
    name: str
    cells: Sequence[ListCell]


@dataclass(frozen=True)
class KernelList:
    """Kernels under a choice, with what tells them apart.

    Points that are not kernels have no address.
    """

    kind: str
    columns: Sequence[ListColumn]
    kernels: Sequence[Listed]
    same: Mapping[str, str]
    """What all rows have in common, of that which was not chosen."""
    said: str
    """How they were found, or why there is none."""
    total: int
    """How many there could be on the page."""
    search: FastestSearch | None = None

    @property
    def searching(self) -> bool:
        """Whether more may be found."""
        return self.search is not None and not self.search.ended


def unpredicted(subject: Subject, choice: FieldChoice) -> str:
    """Why no times are predicted under a choice; "" where they are."""
    if not subject.kernels:
        return "Times are predicted of kernels only."
    from ckrules.ranking.kernels import timing

    domains = subject.space_of(choice).domains
    for name, what in (("variant", "variant"), ("arch", "GPU")):
        if len(domains[name]) != 1:
            return f"Times are compared within one {what}: choose one."
    variant, arch = (str(domains[name][0]) for name in ("variant", "arch"))
    try:
        usual = timing(variant).usual(domains)
    except CkrulesError:
        return f"No times are predicted of {variant} kernels."
    if not usual:
        return f"No problems of {variant} kernels are usual, so that none has a time."
    known = subject.books.gpu(arch).performance
    return "" if known else f"Nothing is known of the speeds of {arch}."


def usual_kind(subject: Subject, choice: FieldChoice) -> str:
    """The kind of list that is shown unasked: ``best`` where times are predicted."""
    return "sample" if unpredicted(subject, choice) else "best"


def kernels(
    subject: Subject,
    choice: FieldChoice,
    kind: str,
    n: int,
    seed: int,
    search: FastestSearch | None = None,
) -> KernelList:
    """``n`` kernels under a choice.

    Args:
        subject: Whose kernels.
        choice: What has been chosen of them.
        kind: A key of `LISTS`.
        search: What looks for the fastest ones.

    Raises:
        UnknownNameError: For a kind of list that does not exist.
        UsageError: For more than `MOST`.
        ExpressionError: If the choice's condition is none.
    """
    if kind not in LISTS:
        raise unknown("list", kind[:40], LISTS)
    if not 1 <= n <= MOST:
        raise UsageError(f"n = {n}: a page lists 1 to {MOST} kernels")
    counted = subject.counted(choice)
    total = counted.total
    points: Sequence[Mapping[str, Value]] = []
    times: Sequence[float] = []
    if not total:
        said = "No kernel is left: take back a choice."
        said = said if counted.exact else "No drawn kernel meets the condition."
    elif kind == "first" and not counted.exact:
        said = "Under this condition kernels are too hard to list in order: draw some."
    elif kind == "first":
        points = list(subject.space_of(choice)[: min(n, total)])
        said = f"Of {total:,}, in the order of the space."
    elif kind == "sample":
        points = subject.sample(choice, MOST, seed)[:n]  # the first stay when more are shown
        said = f"Drawn uniformly from {'' if counted.exact else 'about '}{total:,}, seed {seed}."
    elif search is None:
        said = unpredicted(subject, choice)
    else:
        points, times, said = _fastest(search, n)
    columns, rows, same = _table(subject, choice, points, times)
    books = subject.books if subject.kernels else None
    listed = [
        Listed(address(p, books) if books else "", title(p, books), cells)
        for p, cells in zip(points, rows, strict=True)
    ]
    most = min(total, MOST)
    if kind == "best" and (not points or (search is not None and search.ended and len(points) < n)):
        most = len(points)
    return KernelList(kind, columns, listed, same, said, most, search if total else None)


def _fastest(
    search: FastestSearch, n: int
) -> tuple[Sequence[Mapping[str, Value]], Sequence[float], str]:
    if search.fault:
        return [], [], f"{search.fault[:1].upper()}{search.fault[1:]}."
    if search.found is None:
        return [], [], "Nothing has been found yet."
    found = search.found
    if not found.kernels:
        return [], [], "No kernel accepts the usual problems."
    some = found.kernels[:n]
    over = "one problem" if len(found.problems) == 1 else f"{len(found.problems)} usual problems"
    order = found.order[:1].upper() + found.order[1:]
    said = f"{order} on {over}, {found.looked}: {found.source}."
    return [k.point for k in some], [k.microseconds for k in some], said


def _table(
    subject: Subject,
    choice: FieldChoice,
    points: Sequence[Mapping[str, Value]],
    times: Sequence[float],
) -> tuple[list[ListColumn], list[list[ListCell]], Mapping[str, str]]:
    """Columns and rows of what differs, and what does not."""
    if not points:
        return [], [], {}
    book = subject.region.book
    numbers = [q for q in _NUMBERS if q in book.vocabulary.quantities]
    chunk = Columns(book, [*book.fields, *numbers]).of_points(points)
    brief = brief_of(str(points[0]["variant"])) if subject.kernels else Brief(lambda _: {}, {})
    texts = short({name: chunk[name] for name in book.fields}, brief)
    one = len(points) == 1
    same = {n: rows[0] for n, rows in texts.items() if len(set(rows)) == 1 and not one}
    columns = [ListColumn(n.replace("_", " ")) for n in texts if n not in same]
    cells = [[ListCell(t) for t in rows] for n, rows in texts.items() if n not in same]
    if times:
        columns.insert(0, ListColumn(_TIME, number=True))
        cells.insert(0, [ListCell(f"{t:.1f}", t / max(times)) for t in times])
    for name in numbers:
        columns.append(ListColumn(_NUMBERS[name], number=True))
        cells.append(_counted(subject, name, chunk[name].rows(), points))
    known = {*subject.fixed, *(n for n, v in choice.chosen.items() if len(v) == 1)}
    groups = {brief.groups.get(n) for n in known}
    shown = {n: t for n, t in same.items() if t != NOTHING and n not in known | groups}
    return columns, [list(row) for row in zip(*cells, strict=True)], shown


def _counted(
    subject: Subject, name: str, values: Sequence[int | None], points: Sequence[Mapping[str, Value]]
) -> list[ListCell]:
    """The cells of a quantity; registers have a bar, whose end is what the GPU has."""
    most = {g.name: g.vgprs_per_wave for g in subject.books.gpus} if subject.kernels else {}
    cells = []
    for value, point in zip(values, points, strict=True):
        text = "" if value is None else f"{value:,}"
        limit = most.get(str(point.get("arch"))) if name == "vgprs" else None
        if value is None or not limit:
            cells.append(ListCell(text))
        else:
            cells.append(ListCell(text, min(value / limit, 1.0), value >= limit))
    return cells


def title(point: Mapping[str, Value], books: Books | None) -> str:
    """A kernel's name, or its fields where no name says it."""
    found = address(point, books) if books is not None else "{"
    if found.startswith("{"):
        return " ".join(f"{k}={word(v)}" for k, v in point.items())
    return found.rpartition("@")[0]

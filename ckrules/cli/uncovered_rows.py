"""``ckrules cover --rows``: problems that tuned tables have no row for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.cli.answers import Writer
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.readers.tuned_lookup import Sizes, TableRows

    Untaken = Callable[[str, Sequence[Sizes]], Collection[Sizes]]

_SHOWN = 20


def report_rows(
    paths: Sequence[str],
    path: str,
    books: Books,
    archs: Sequence[str],
    write: Writer,
    untaken: Untaken | None = None,
) -> int:
    """Writes which problems of a file have a row; returns the exit code.

    Args:
        paths: Tuned tables, which are taken together.
        path: The file of problems.
        books: The kinds of problem that there are.
        archs: The GPUs that are asked about; empty: all of the tables.
        untaken: Says which sizes no kernel for a GPU takes; None: nobody asks.

    Raises:
        UsageError: For a file that cannot be read, and problems without M, N and K.
    """
    from ckrules.readers.tuned_lookup import read_rows

    if not paths:
        raise UsageError("--rows takes tuned tables: name their files")
    products = [t for t in read_rows(paths) if not archs or t.gpu in archs]
    problems = _problems(path, books)
    if not products or not problems:
        note("no rows" if not products else "no problems")
        return 3
    answers = [_Answer(product, problems, untaken) for product in products]
    write([a.to_dict() for a in answers], (line for a in answers for line in a.lines()))
    return int(any(a.missing for a in answers))


def _problems(path: str, books: Books) -> list[Sizes]:
    from ckrules.engine.expr.variables import domain_of
    from ckrules.kernels import problem_files

    known = problem_files.kinds(f.variants[0] for f in books.families if f.problems is not None)
    kinds = [k for k in known if {"M", "N", "K"} <= {domain_of(f).name for f in k.fields()}]
    found: dict[Sizes, None] = {}
    for problem in problem_files.read(path, kinds):
        values: Any = kinds[0].values(problem)
        found.setdefault((values["M"], values["N"], values["K"]))
    return list(found)


class _Answer:
    """What the rows of one product serve."""

    def __init__(self, rows: TableRows, problems: Sequence[Sizes], untaken: Untaken | None) -> None:
        self._rows, self._problems = rows, problems
        self.missing: list[Sizes] = []
        self.padded = 0
        for m, n, k in problems:
            served = rows.serving({"M": m, "N": n, "K": k})
            if served is None:
                self.missing.append((m, n, k))
            elif served != (m, n, k):
                self.padded += 1
        self.untaken: Collection[Sizes] | None = None
        if untaken is not None:
            self.untaken = untaken(rows.gpu, self.missing) if self.missing else ()

    def lines(self) -> Iterator[str]:
        """One line, and one more for each of the first problems without a row."""
        total, none = len(self._problems), len(self.missing)
        own = total - none - self.padded
        where = f"{self._rows.gpu}, {self._rows.units} compute units"
        has = "has a row" if own == 1 else "have a row"
        yield (f"{where}: of {count(total, 'problem')} {own:,} {has}, {self.padded:,} that of a "
               f"larger M, {none:,} none")  # fmt: skip
        untaken = self.untaken or ()
        if self.untaken is not None and none:
            told = f"no kernel of the catalog takes {len(untaken):,} of these"
            yield f"  {told if untaken else 'some kernel of the catalog takes each of these'}"
        # what tuning cannot help comes first
        for sizes in sorted(self.missing, key=lambda s: s not in untaken)[:_SHOWN]:
            m, n, k = sizes
            yield f"  no row{', no kernel' * (sizes in untaken)}: M={m} N={n} K={k}"
        if none > _SHOWN:
            yield f"  … and {none - _SHOWN:,} more"

    def to_dict(self) -> dict[str, Any]:
        asked = {} if self.untaken is None else {"untaken": [*map(_sizes, sorted(self.untaken))]}
        return {
            "gpu": self._rows.gpu,
            "compute_units": self._rows.units,
            "problems": len(self._problems),
            "padded": self.padded,
            "missing": [*map(_sizes, self.missing)],
            **asked,
        }


def _sizes(sizes: Sizes) -> dict[str, int]:
    return dict(zip("MNK", sizes, strict=True))

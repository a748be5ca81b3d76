"""How `ckrules rank` and `ckrules search` show kernels with predicted times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.counts import WHY
from ckrules.cli.formats import Forms, output_options
from ckrules.cli.once import option
from ckrules.cli.options import F, gathered, limit_option, quiet_option, rule_options
from ckrules.cli.output import text_output
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, space_options
from ckrules.cli.terminal import note, progress
from ckrules.kernels.books import Books
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.tables import aligned, count
from ckrules.support.visible import json_text

if TYPE_CHECKING:
    from ckrules.ranking.ranker import Ranked, Ranker, Ranking
    from ckrules.ranking.training import Samples

model_option = option(
    "--model",
    metavar="FILE|none",
    help="A model of `ckrules train`, or none: estimates alone [the package's model].",
)
product_option = option(
    "--product", metavar="NAME", help="Product of the GPU, such as MI355X [its first]."
)
FORMS: Forms = {"table": (".txt",), "json": (".json",), "jsonl": (".jsonl",), "names": ()}


@dataclass(frozen=True)
class RankingChoice:
    """What the commands that rank kernels are asked: of which, on which problem, shown how."""

    request: Request
    line: str
    model: str | None
    product: str | None
    draw: int
    seed: int
    explain: bool
    limit: int | None
    form: str
    output: str | None
    quiet: bool

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"--limit {self.limit}: nothing would be shown")

    @property
    def shown(self) -> int:
        """How many kernels are shown."""
        return self.limit or 10

    def ranker(self) -> Ranker:
        """What predicts times.

        Raises:
            UsageError: For a model that cannot be read.
        """
        from ckrules.ranking.ranker import Ranker, chosen

        return Ranker(chosen(self.model))

    def problem(self, variants: Iterable[Any]) -> Any:
        """The problem, as kernels of these variants read it."""
        from ckrules.kernels import problem_files

        return problem_files.parse(self.line, problem_files.kinds(map(str, variants)))[0]

    def none(self, refused: str) -> str:
        """What is said where there is no kernel: none is selected, or those are refused."""
        listing = self.request.listing
        if listing is not None and not listing.points:
            return f"no kernel is listed: {self.request.title()}"
        return refused if listing is not None or self.request.region.space.count() else WHY

    def show(self, ranking: Ranking, summary: str, *notes: str) -> int:
        """Writes the kernels and says how they were found; the exit code."""
        with text_output(self.output) as stream:
            stream.write(render(ranking, self.form, explain=self.explain))
        if not self.quiet:
            unknown = (f"never measured: {a} (assumed: {b})" for a, b in ranking.assumed.items())
            for text in (summary, *notes, mixed(ranking.kernels), *unknown):
                if text:
                    note(text)
        return 0


def ranking_options(function: F) -> F:
    """The options of a command that ranks kernels, given to it as one `RankingChoice`."""
    options = gathered(
        "asked",
        RankingChoice,
        option("--problem", "line", metavar="PROBLEM", required=True, help="Such as N=1,C=8,…."),
        space_options,
        distinct_option,
        model_option,
        product_option,
        option(
            "--draw",
            default=20_000,
            type=click.IntRange(min=1),
            metavar="N",
            help="Draw this many where there are more [20000].",
        ),
        option("--seed", type=int, default=1, help="Of the sample [1]."),
        option("--explain", is_flag=True, help="What each time is made of."),
        limit_option,
        output_options(FORMS),
        quiet_option,
    )
    return options(function)


@dataclass(frozen=True)
class MeasuredTimes:
    """A file of measured times, and how its rows are read."""

    books: Books
    file: str
    arch: str
    product: str | None

    def samples(self) -> Samples:
        """The kernels with their times.

        Raises:
            UsageError: For a file that cannot be read, or has none.
        """
        from ckrules.ranking.measurements import read
        from ckrules.ranking.training import Samples

        with progress("reading measurements"):
            rows = read(self.file, self.books, self.arch)
            if not rows:
                raise UsageError(f"{self.file}: no measurements")
            return Samples.of(rows, self.books, self.product)


def _measured(
    given: str | None, file: str | None, arch: str, product: str | None, books: Books
) -> MeasuredTimes:
    if given is not None and file is not None:
        raise UsageError(f"--measurements {file}: {given} is given already")
    if (named := given or file) is None:
        raise UsageError("which measurements? Give a FILE")
    return MeasuredTimes(books, named, arch, product)


#: The file of measurements and how it is read, given to the command as one `MeasuredTimes`.
measurement_options: Callable[[F], F] = gathered(
    "times",
    _measured,
    click.argument("given", metavar="FILE", required=False),
    option("--measurements", "file", metavar="FILE", help="The same as FILE."),
    option("--arch", default="gfx950", help="GPU of rows that name none [gfx950]."),
    product_option,
    rule_options,
)


def render(ranking: Ranking, form: str, *, explain: bool) -> str:
    """The kernels in one of `FORMS`; ``explain`` adds to a table what times are made of."""
    if form == "json":
        return _json(ranking)
    if form == "jsonl":
        return "".join(json_text(named_object(r)) + "\n" for r in ranking.kernels)
    if form == "names":
        return "".join(name(r) + "\n" for r in ranking.kernels)
    return _table(ranking, explain)


def _table(ranking: Ranking, explain: bool) -> str:
    rows = [["us", "range", "TFLOPS", "of peak", "limited by", "kernel"]]
    for r in ranking.kernels:
        rows.append(
            [
                f"{r.microseconds:.1f}", f"{r.low:.1f}-{r.high:.1f}",
                f"{r.figures['tflops']:.1f}", f"{r.figures['of_peak']:.1%}", r.limit, name(r),
            ]
        )  # fmt: skip
    text = aligned(rows, right={0, 1, 2, 3})
    if not explain:
        return text
    return text + "".join(f"\n{name(r)}\n{_parts(r)}" for r in ranking.kernels)


def _parts(r: Ranked) -> str:
    rows = [[what, f"{us:.1f} us"] for what, us in sorted(r.bounds.items(), key=lambda b: -b[1])]
    f = r.figures
    rows += [
        ["blocks", f"{f['blocks']:,.0f} in {count(round(f['rounds']), 'round')}"],
        ["blocks of a CU at once", f"{f['blocks_per_cu']:.0f}"],
        ["useful multiplications", f"{f['useful']:.1%}"],
        ["busy compute units", f"{f['busy']:.1%}"],
    ]
    return aligned(rows, right={1}, indent="  ")


def mixed(ranked: Sequence[Ranked]) -> str:
    """The note that kernels in one order do not compute the same; empty: they do."""
    from ckrules.ranking.best import kinds

    told = kinds([r.point for r in ranked])
    return f"note: these kernels do not compute the same: {told}" if told else ""


def name(r: Ranked) -> str:
    """The kernel's name; its configuration where it has none."""
    from ckrules.kernels.names import format_name

    try:
        return format_name(r.point)
    except CkrulesError:
        return json.dumps(dict(r.point))


def named_object(r: Ranked) -> dict[str, Any]:
    """Everything that is known of a ranked kernel, for JSON."""
    return {
        "name": name(r), "microseconds": r.microseconds, "low": r.low, "high": r.high,
        "limited_by": r.limit, "learned": r.learned, **r.figures, "bounds": dict(r.bounds),
        "config": dict(r.point),
    }  # fmt: skip


def _json(ranking: Ranking) -> str:
    found = {
        "source": ranking.source,
        "looked_at": ranking.looked_at,
        "assumed": dict(ranking.assumed),
        "kernels": [named_object(r) for r in ranking.kernels],
    }
    return json_text(found, indent=2) + "\n"

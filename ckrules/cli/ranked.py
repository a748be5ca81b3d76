"""How `ckrules rank` and `ckrules search` show kernels with predicted times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ckrules.cli.built import problem_options, problems_asked
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


class Answer(NamedTuple):
    """The kernels of one problem, and what is said of them."""

    problem: Any
    ranking: Ranking
    looked: str
    """How many were looked at and how, for one problem."""
    how: str
    """What of it is said of several problems together."""
    refused: str
    """What is said where no kernel is left."""


class Shown(NamedTuple):
    """The kernels of one problem as outputs have them."""

    problem: Any
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    objects: Sequence[Mapping[str, Any]]
    said: Mapping[str, Any]
    """What JSON has beside them."""


@dataclass(frozen=True)
class RankingChoice:
    """What the commands that rank kernels are asked: of which, on which problems, shown how."""

    request: Request
    lines: tuple[str, ...]
    files: tuple[str, ...]
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

    @property
    def several(self) -> bool:
        """Whether outputs name the problems, of which a file may have one."""
        return bool(self.files) or len(self.lines) > 1

    def problems(self, variants: Iterable[Any]) -> list[Any]:
        """The problems, as kernels of these variants read them, each once.

        Raises:
            UsageError: If none is given, or one cannot be read.
        """
        found = problems_asked(map(str, variants), self.lines, self.files)
        if found is None:
            raise UsageError("on which problem? give --problem N=8,C=256,… or --problems FILE")
        first: dict[str, Any] = {}  # of one that kernels of several kinds compute
        for problem in found:
            first.setdefault(str(problem), problem)
        return list(first.values())

    def none(self, refused: str) -> str:
        """What is said where there is no kernel: none is selected, or those are refused."""
        listing = self.request.listing
        if listing is not None and not listing.points:
            return f"no kernel is listed: {self.request.title()}"
        return refused if listing is not None or self.request.region.space.count() else WHY

    def show(self, answers: Sequence[Answer], *notes: str) -> int:
        """Writes the kernels and says how they were found; the exit code."""
        found = [a for a in answers if a.ranking.kernels]
        for text in dict.fromkeys(a.refused for a in answers if not a.ranking.kernels):
            note(text)
        if not found:
            return 3
        with text_output(self.output) as stream:
            shown = [_shown(a.problem, a.ranking) for a in answers]
            stream.write(rendered(shown, _HEAD, self.form, several=self.several))
            if self.explain and self.form == "table":
                stream.write("".join(_explained(a, self.several) for a in found))
        if not self.quiet:
            told = [found[0].looked, *notes]
            if self.several:
                how = "; ".join(dict.fromkeys(a.how for a in found))
                told[0] = f"kernels for {len(found):,} of {count(len(answers), 'problem')}: {how}"
            told += [mixed(a.ranking.kernels) for a in found]
            assumed = [pair for a in found for pair in a.ranking.assumed.items()]
            told += [f"never measured: {a} (assumed: {b})" for a, b in assumed]
            for text in filter(None, dict.fromkeys(told)):
                note(text)
        return 0 if len(found) == len(answers) else 3


def ranking_options(function: F) -> F:
    """The options of a command that ranks kernels, given to it as one `RankingChoice`."""
    options = gathered(
        "asked",
        RankingChoice,
        *problem_options("Such as N=1,C=8,…. Repeatable."),
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


def rendered(every: Sequence[Shown], head: Sequence[str], form: str, *, several: bool) -> str:
    """The kernels in one of `FORMS`, with their problems where ``several`` are asked about.

    Args:
        head: Names of a table's columns; words are in the last one and ``limited by``.
    """
    whose = [{"problem": str(s.problem)} if several else {} for s in every]
    if form == "json":
        found = [{**w, **s.said, "kernels": s.objects} for w, s in zip(whose, every, strict=True)]
        return json_text(found if several else found[0], indent=2) + "\n"
    if form == "jsonl":
        objects = [{**w, **o} for w, s in zip(whose, every, strict=True) for o in s.objects]
        return "".join(json_text(o) + "\n" for o in objects)
    if form == "names":
        parts = [[f"# {s.problem}"] * several + [*s.names] for s in every if s.names]
        return "".join(f"{line}\n" for part in parts for line in part)
    rows = [[*w.values(), *row] for w, s in zip(whose, every, strict=True) for row in s.rows]
    head = ["problem"] * several + [*head]
    words = {"problem", "limited by", "kernel"}
    right = {i for i, name in enumerate(head) if name not in words}
    return aligned([head, *rows], right=right) if rows else ""


_HEAD = ("us", "range", "TFLOPS", "of peak", "limited by", "kernel")


def _shown(problem: Any, ranking: Ranking) -> Shown:
    said = {
        "source": ranking.source,
        "looked_at": ranking.looked_at,
        "assumed": dict(ranking.assumed),
    }
    rows = [
        [
            f"{r.microseconds:.1f}", f"{r.low:.1f}-{r.high:.1f}",
            f"{r.figures['tflops']:.1f}", f"{r.figures['of_peak']:.1%}", r.limit, name(r),
        ]
        for r in ranking.kernels
    ]  # fmt: skip
    objects = [named_object(r) for r in ranking.kernels]
    return Shown(problem, [name(r) for r in ranking.kernels], rows, objects, said)


def _explained(answer: Answer, several: bool) -> str:
    on = f" on {answer.problem}" if several else ""
    return "".join(f"\n{name(r)}{on}\n{_parts(r)}" for r in answer.ranking.kernels)


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

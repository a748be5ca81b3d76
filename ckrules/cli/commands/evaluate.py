"""Compare predicted times with measured ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.formats import output_options
from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.ranked import MeasuredTimes, measurement_options, model_option
from ckrules.cli.terminal import note, progress
from ckrules.support.tables import aligned, count

if TYPE_CHECKING:
    from ckrules.ranking.ranker import Ranker
    from ckrules.ranking.winners import WinnerFigures, Winners

GROUP = "build"


@click.command()
@measurement_options
@model_option
@option(
    "--folds", type=click.IntRange(2, 100), metavar="N",
    help="Train on these measurements instead, N times without a part of the problems.",
)  # fmt: skip
@option("--seed", type=int, default=1, help="Of the folds [1].")
@output_options({"table": (".txt",), "json": (".json",)})
@quiet_option
def command(
    times: MeasuredTimes,
    model: str | None,
    folds: int | None,
    seed: int,
    form: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Compare predicted times with measured ones."""
    from ckrules.ranking.ranker import Ranker, chosen
    from ckrules.ranking.remembered import Remembered, remembered
    from ckrules.ranking.training import MEMBERS, cross_validated
    from ckrules.ranking.winners import is_tuned
    from ckrules.support.errors import UsageError

    if folds and model:
        raise UsageError("--folds trains models of its own: leave out --model")
    if is_tuned(times.file):
        if folds:
            raise UsageError(
                "--folds: nothing is learned from a tuned table, which has winners alone"
            )
        return _winners(times, Ranker(chosen(model)), form, output, quiet=quiet)
    samples = times.samples()
    if folds:
        with progress("models trained", folds * MEMBERS) as bar:
            found = cross_validated(samples, times.books, folds, seed, told=bar.advance)
        source = f"{folds} folds"
        known = Remembered(len(samples), 0, None)
    else:
        ranker = Ranker(chosen(model))
        found = samples.judged(ranker)
        source = ranker.said()
        known = remembered(samples, ranker)
    with text_output(output) as stream:
        if form == "json":
            said = {"trained_on": known.trained_on, "cross_validated": known.cross_validated}
            stream.write(json.dumps({**found.as_dict(), "source": source, **said}) + "\n")
        else:
            stream.write(_table(found.as_dict()))
            if known.said():
                stream.write(known.said() + "\n")
    if not quiet:
        note(f"{count(found.problems, 'problem')} of {times.file}: {source}")
    return 0


def _winners(
    times: MeasuredTimes, ranker: Ranker, form: str, output: str | None, *, quiet: bool
) -> int:
    from ckrules.ranking.winners import judge_winners, read_winners
    from ckrules.support.errors import UsageError

    with progress("reading winners"):
        found = read_winners(times.file, times.books, times.arch)
    if not found.rows:
        raise UsageError(f"{times.file}: no row whose kernel and problem are known{_why(found)}")
    with progress("judging winners"):
        judged = list(judge_winners(found.rows, ranker, times.books))
    with text_output(output) as stream:
        if form == "json":
            rows = [f.as_dict() for f in judged]
            said = {"winners": rows, "left_out": found.left_out, "source": ranker.said()}
            stream.write(json.dumps(said) + "\n")
        else:
            stream.write(winners_table(judged))
    if not quiet:
        note(f"{len(found.rows):,} winners of {times.file}{_why(found)}: {ranker.said()}")
    return 0


def _why(found: Winners) -> str:
    parts = (f"{n:,} {reason}" for reason, n in found.left_out.items())
    return f" (left out: {'; '.join(parts)})" if found.left_out else ""


def winners_table(judged: Sequence[WinnerFigures]) -> str:
    """A row for each table and product."""
    head = ["table", "product", "winners", "kernels", "place", "first 5", "in range", "Spearman"]
    rows = [head] + [
        [
            f.table, f.product, f"{f.rows:,}", f"{f.kernels:.0f}", f"{f.place:.3f}",
            f"{f.first:.1%}", f"{f.within:.1%}", "-" if isnan(f.spearman) else f"{f.spearman:.3f}",
        ]
        for f in judged
    ]  # fmt: skip
    return aligned(rows, right=set(range(2, len(head))))


_TITLES = {
    "mean": "mean", "p10": "10th percentile", "median": "median", "min": "worst",
    "top1": "best kernel picked", "top5": "best among first 5",
}  # fmt: skip


def _table(figures: dict[str, Any]) -> str:
    rows = [[_TITLES[k], f"{v:.2f} %"] for k, v in figures.items() if k in _TITLES]
    return aligned(rows, right={1})

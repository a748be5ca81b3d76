"""Compare predicted times with measured ones."""

from __future__ import annotations

import json
from typing import Any

import click

from ckrules.cli.formats import output_options
from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.ranked import MeasuredTimes, measurement_options, model_option
from ckrules.cli.terminal import note, progress
from ckrules.support.tables import aligned

GROUP = "build"

EPILOG = """\b
FILE is CSV: the columns of a problem, latency_us or latency_ms, and the kernel by
its name (kernel) or by tile_m, tile_n, tile_k and pipeline as in upstream's
benchmarks. For each problem the kernel with the shortest predicted time is picked;
its efficiency is the shortest measured time over the measured time of the pick.

\b
Examples:
  ckrules evaluate --measurements times.csv
  ckrules evaluate --measurements times.csv --model none
  ckrules evaluate --measurements times.csv --folds 5 --format json

\b
Exit codes: 0 done, 2 usage or bad input.
"""


@click.command(epilog=EPILOG)
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
    from ckrules.support.errors import UsageError

    if folds and model:
        raise UsageError("--folds trains models of its own: leave out --model")
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
        note(f"{found.problems:,} problems of {times.file}: {source}")
    return 0


_TITLES = {
    "mean": "mean", "p10": "10th percentile", "median": "median", "min": "worst",
    "top1": "best kernel picked", "top5": "best among first 5",
}  # fmt: skip


def _table(figures: dict[str, Any]) -> str:
    rows = [[_TITLES[k], f"{v:.2f} %"] for k, v in figures.items() if k in _TITLES]
    return aligned(rows, right={1})

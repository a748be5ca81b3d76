"""Learn a model of times from measurements."""

from __future__ import annotations

from typing import Any

import click

from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.output import binary_output
from ckrules.cli.ranked import MeasuredTimes, measurement_options
from ckrules.cli.terminal import note, progress

GROUP = "build"


@click.command()
@measurement_options
@option("-o", "--output", metavar="FILE", required=True, help="Where the model goes; -: output.")
@option("--seed", type=int, default=1, help="Of the random parts [1].")
@option("--note", "remark", metavar="TEXT", default="", help="A line for the model's card.")
@option(
    "--folds", type=click.IntRange(2, 100), metavar="N",
    help="Also write figures to the card: N models without a part of the problems each.",
)  # fmt: skip
@quiet_option
def command(
    times: MeasuredTimes, output: str, seed: int, remark: str, folds: int | None, quiet: bool
) -> int:
    """Learn a model of times from measurements."""
    from ckrules.ranking.model_file import packed
    from ckrules.ranking.training import MEMBERS, cross_validated, train

    samples, books = times.samples(), times.books
    card: dict[str, Any] = {"note": remark, "ck": books.ck} if remark else {"ck": books.ck}
    with progress("models trained", ((folds or 0) + 1) * MEMBERS) as bar:
        if folds:
            figures = cross_validated(samples, books, folds, seed, told=bar.advance)
            card["figures"] = {"folds": folds, **figures.as_dict()}
        model = train(samples, books, seed=seed, card=card, told=bar.advance)
    with binary_output(output) as stream:
        stream.write(packed(model))
    if not quiet:
        about = model.card["about"]
        what = f"{about['variant']} {about['dtype']} on {about['arch']}"
        size = f"{about['measurements']:,} measurements of {about['problems']:,} problems"
        note(f"{output}: {what}, {size}; {_how_good(card)}")
    return 0


def _how_good(card: dict[str, Any]) -> str:
    if "figures" not in card:
        return "how good it is: ckrules evaluate --folds 5"
    f = card["figures"]
    return f"picks of {f['folds']} folds: mean {f['mean']:.2f} %, 10th percentile {f['p10']:.1f} %"

"""Learn a model of times from measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.ranked import MeasuredTimes, measurement_options
from ckrules.cli.terminal import note, progress

GROUP = "build"

EPILOG = """\b
FILE is as for `ckrules evaluate`. All its kernels are of one variant, dtype and GPU.
The same measurements and seed give the same model, byte for byte. Needs LightGBM:
pip install 'ckrules[rank]'.

\b
Examples:
  ckrules train times.csv -o mine.model.gz
  ckrules rank --problem N=8,C=256,K=256,H=28,W=28,Y=3,X=3 --model mine.model.gz \\
    --variant forward --arch gfx950 --dtype bf16

\b
Exit codes: 0 done, 2 usage or bad input.
"""


@click.command(epilog=EPILOG)
@measurement_options
@option("-o", "--output", metavar="FILE", required=True, help="Where the model goes.")
@option("--seed", type=int, default=1, help="Of the random parts [1].")
@option("--note", "remark", metavar="TEXT", default="", help="A line for the model's card.")
@option(
    "--folds", type=click.IntRange(2, 100), metavar="N",
    help="Also write figures to the card: N models without a part of the problems each.",
)  # fmt: skip
@quiet_option
def command(
    times: MeasuredTimes,
    output: str,
    seed: int,
    remark: str,
    folds: int | None,
    quiet: bool,
) -> int:
    """Learn a model of times from measurements."""
    from ckrules.ranking.model_file import save
    from ckrules.ranking.training import MEMBERS, cross_validated, train

    samples, books = times.samples(), times.books
    card: dict[str, Any] = {"note": remark, "ck": books.ck} if remark else {"ck": books.ck}
    with progress("models trained", ((folds or 0) + 1) * MEMBERS) as bar:
        if folds:
            figures = cross_validated(samples, books, folds, seed, told=bar.advance)
            card["figures"] = {"folds": folds, **figures.as_dict()}
        model = train(samples, books, seed=seed, card=card, told=bar.advance)
    save(model, Path(output))
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

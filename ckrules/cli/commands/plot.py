"""Draw measured and predicted times."""

from __future__ import annotations

import click

from ckrules.cli.formats import by_suffix, format_option
from ckrules.cli.once import option
from ckrules.cli.options import OneOf, quiet_option
from ckrules.cli.output import binary_output
from ckrules.cli.ranked import MeasuredTimes, measurement_options, model_option
from ckrules.cli.terminal import note, waiting
from ckrules.support.errors import UsageError

GROUP = "build"

_KINDS = ("predicted", "efficiency", "roofline")
_FORMS = {"png": (".png",), "svg": (".svg",), "html": (".html", ".htm")}


@click.command()
@click.argument("kind", type=OneOf(list(_KINDS)), metavar="KIND")
@measurement_options
@model_option
@format_option(_FORMS)
@option("-o", "--output", metavar="FILE", required=True, help="Where the picture goes; -: output.")
@quiet_option
def command(
    times: MeasuredTimes, kind: str, model: str | None, form: str | None, output: str, quiet: bool
) -> int:
    """Draw measured and predicted times."""
    form = form or by_suffix(output, _FORMS)
    if form is None:
        raise UsageError(f"-o {output}: give it a suffix (.png, .svg, .html) or --format")
    from ckrules.pictures import drawing, measured
    from ckrules.ranking.ranker import Ranker, chosen

    drawing.require()
    samples = times.samples()
    with waiting("predicting times, and drawing"):
        points = measured.KINDS[kind](samples, Ranker(chosen(model)))
        picture = drawing.drawn(points, form)
    with binary_output(output) as stream:
        stream.write(picture)
    if not quiet:
        note(f"{output}: {points.title}")
    return 0

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

EPILOG = """\b
KIND is predicted (predicted against measured times), efficiency (how fast the
picked kernels are, by the size of the problem) or roofline (speeds under the peaks
of matrix units and memory). FILE is as for ckrules evaluate; ckrules bench writes
such files. The suffix of the output says its form: .png, .svg or .html, a page that
needs no network. Needs matplotlib: pip install 'ckrules[plot]'.

\b
Examples:
  ckrules plot predicted times.csv -o predicted.png
  ckrules plot efficiency times.csv --model none -o estimates.svg
  ckrules plot roofline times.csv -o roofline.html

\b
Exit codes: 0 done, 2 usage or bad input.
"""

_KINDS = ("predicted", "efficiency", "roofline")
_FORMS = {"png": (".png",), "svg": (".svg",), "html": (".html", ".htm")}


@click.command(epilog=EPILOG)
@click.argument("kind", type=OneOf(list(_KINDS)), metavar="KIND")
@measurement_options
@model_option
@format_option(_FORMS)
@option("-o", "--output", metavar="FILE", required=True, help="Where the picture goes; -: output.")
@quiet_option
def command(
    times: MeasuredTimes,
    kind: str,
    model: str | None,
    form: str | None,
    output: str,
    quiet: bool,
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

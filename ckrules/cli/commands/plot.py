"""Draw measured and predicted times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckrules.cli.formats import by_suffix, format_option
from ckrules.cli.options import OneOf, option, quiet_option, rule_options
from ckrules.cli.output import binary_output
from ckrules.cli.ranked import model_option, product_option
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.kernels.books import Books

GROUP = "build"

EPILOG = """\b
KIND is predicted (predicted against measured times), efficiency (how fast the
picked kernels are, by the size of the problem) or roofline (speeds under the peaks
of matrix units and memory). FILE is as for ckrules evaluate; ckrules bench writes
such files. The suffix of the output says its form: .png, .svg or .html, a page that
needs no network. Needs matplotlib: pip install 'ckrules[plot]'.

\b
Examples:
  ckrules plot predicted --measurements times.csv -o predicted.png
  ckrules plot efficiency --measurements times.csv --model none -o estimates.svg
  ckrules plot roofline --measurements times.csv -o roofline.html

\b
Exit codes: 0 done, 2 usage or bad input.
"""

_KINDS = ("predicted", "efficiency", "roofline")
_FORMS = {"png": (".png",), "svg": (".svg",), "html": (".html", ".htm")}


@click.command(epilog=EPILOG)
@click.argument("kind", type=OneOf(list(_KINDS)), metavar="KIND")
@option("--measurements", "file", metavar="FILE", required=True, help="Measured times.")
@model_option
@option("--arch", default="gfx950", help="GPU of rows that name none [gfx950].")
@product_option
@format_option(_FORMS)
@option("-o", "--output", metavar="FILE", required=True, help="Where the picture goes; -: output.")
@quiet_option
@rule_options
def command(
    books: Books,
    kind: str,
    file: str,
    model: str | None,
    arch: str,
    product: str | None,
    form: str | None,
    output: str,
    quiet: bool,
) -> int:
    """Draw measured and predicted times."""
    form = form or by_suffix(output, _FORMS)
    if form is None:
        raise UsageError(f"-o {output}: give it a suffix (.png, .svg, .html) or --format")
    from ckrules.pictures import drawing, measured
    from ckrules.ranking.measurements import read
    from ckrules.ranking.ranker import Ranker, chosen
    from ckrules.ranking.training import Samples

    drawing.require()
    found = read(file, books, arch)
    if not found:
        raise UsageError(f"{file}: no measurements")
    samples = Samples.of(found, books, product)
    points = measured.KINDS[kind](samples, Ranker(chosen(model)))
    picture = drawing.drawn(points, form)
    with binary_output(output) as stream:
        stream.write(picture)
    if not quiet:
        note(f"{output}: {points.title}")
    return 0

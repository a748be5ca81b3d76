"""Write a report as one HTML file: a space, catalog, results, certification or difference."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from ckrules.cli.formats import by_suffix
from ckrules.cli.group import session
from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.ranked import model_option, product_option
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, space_options
from ckrules.cli.terminal import note, progress, waiting
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.ranking.ranker import Ranker
    from ckrules.report.page import Report

GROUP = "explore"

#: What there are reports of, and how many words follow.
_KINDS = {"space": (0, 1), "catalog": (1,), "results": (1,), "certification": (1,), "diff": (2,)}


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="WHAT…")
@space_options
@distinct_option
@option("--problem", metavar="PROBLEM", default="", help="Such as N=1,C=8,… [a usual one].")
@model_option
@product_option
@option("--seed", type=int, default=1, help="Of the sample [1].")
@option("-o", "--output", metavar="FILE", required=True, help="Where the report goes; -: output.")
@quiet_option
def command(
    what: tuple[str, ...],
    request: Request,
    problem: str,
    model: str | None,
    product: str | None,
    seed: int,
    output: str,
    quiet: bool,
) -> int:
    """Write a report as one HTML file: a space, catalog, results, certification or difference."""
    by_suffix(output, {"html": (".html", ".htm")})
    kind, words = _kind(what)
    if kind in ("results", "certification"):
        request.only(beside=f"a report of {kind}")
    from dataclasses import replace

    from ckrules.pictures import drawing
    from ckrules.ranking.ranker import Ranker, chosen
    from ckrules.report.page import render

    drawing.require()
    ranker = Ranker(chosen(model))
    if kind == "results":
        from ckrules.report.results import of_results

        with waiting("reading results, and predicting"):
            found = of_results(words[0], request.books, ranker, product)
    elif kind == "certification":
        from ckrules.report.certification import of_file

        found = of_file(words[0])
    elif kind == "space" and words:
        if problem or product or model:
            option = "--problem" if problem else "--product" if product else "--model"
            raise UsageError(f"{option} does not go with a file that describes a space")
        from ckrules.report.space import of_file as of_space_file

        with waiting("counting the points"):
            found = of_space_file(request.of_file(words[0]).region, seed)
    elif kind == "diff":
        found = _difference(words, request)
    else:
        whole = request.changed(catalog=words[0]) if words else request
        found = _selected(whole, problem, ranker, product, seed)
    made = replace(found, command=shlex.join(["ckrules", *session().words]))
    with progress("pictures", found.pictures) as bar:
        text = render(made, bar.advance)
    with text_output(output) as stream:
        stream.write(text)
    if not quiet:
        note(f"{output}: {found.title}, {len(found.sections)} sections")
    return 0


def _kind(what: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    kind, *words = what
    if kind not in _KINDS:
        raise unknown("report", kind, _KINDS)
    if len(words) not in _KINDS[kind]:
        said = {0: "no other word", 1: "one word", 2: "two words"}
        wanted = " or ".join(said[n] for n in _KINDS[kind])
        raise UsageError(f"report {kind} takes {wanted}, not {len(words)}")
    return kind, tuple(words)


def _difference(words: tuple[str, ...], request: Request) -> Report:
    from ckrules.cli.sides import side_of
    from ckrules.reasoning.difference import STEPS
    from ckrules.report.difference import of_sides

    with waiting("reading what is compared"):
        a, b = (side_of(word, request) for word in words)
    with progress("steps of comparing", STEPS) as bar:
        return of_sides(a, b, request.title(), bar.advance)


def _selected(
    request: Request, problem: str, ranker: Ranker, product: str | None, seed: int
) -> Report:
    from ckrules.report.space import PredictionOptions, of_catalog, of_space

    asked = PredictionOptions(problem, ranker, product, seed)
    with waiting("checking what the catalog lists"):
        if request.listing is not None:
            from ckrules.constraints.catalogs import STAGES

            return of_catalog(request.listing, STAGES, request.books, request.title(), asked)
    from ckrules.cli.removed import meanings, removed
    from ckrules.engine.diagram.errors import BudgetExceededError

    try:
        total, topics = removed(request.region)
        known = meanings()
        counts = (total, [(t, n, known.get(t, "")) for t, n in topics])
    except BudgetExceededError:
        counts = None
    with waiting("counting and predicting"):
        return of_space(request.region, request.books, request.title(), asked, counts)

"""Lists of kernels that one would use: by predicted time, or those that are recommended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ckrules.cli.request import Request
from ckrules.cli.terminal import progress
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point

CATALOG = "recommended"
"""That of convolutions; those of other families have ``_`` and the family's name behind it."""


def fastest(request: Request, n: int, line: str | None) -> tuple[list[Point], str]:
    """The ``n`` kernels that are predicted fastest, and how they were found, in words.

    Args:
        request: What is asked for, of one variant and GPU.
        line: The problem as text; None for the usual ones of the variant.

    Raises:
        UsageError: If nothing is known of the times of such kernels.
    """
    from ckrules.ranking.best import best, best_of, comparable

    listing = request.listing
    if listing is not None:
        points = list(listing.points)
        if not points:
            return [], "no kernel is listed"
        problem = _problem(line, [str(p["variant"]) for p in points])
        found = best_of(points, request.books, n, problem)
    else:
        problem = _problem(line, request.region.space.domains["variant"])
        parts = len(list(comparable(request.region)))
        with progress("searches for the fastest kernels", parts) as bar:
            found = best(request.region, request.books, n, problem, told=bar.advance)
    if not found.kernels:
        return [], f"no kernel accepts {_compared(found.problems)}"
    on = _compared(found.problems)
    return found.points, f"{found.order} on {on}, {found.looked}: {found.source}"


def _problem(line: str | None, variants: Sequence[Any]) -> Any:
    if line is None:
        return None
    from ckrules.kernels import problem_files

    kinds = problem_files.kinds([str(v) for v in variants])
    return problem_files.parse(line, kinds)[0]


def _compared(problems: Sequence[Any]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return f"{len(problems)} usual problems (geometric mean)"


def catalog_of(variant: str) -> str:
    """The catalog of recommended kernels that a variant's family has.

    >>> catalog_of("forward"), catalog_of("fmha_fwd")
    ('recommended', 'recommended_fmha')
    """
    from ckrules.constraints.catalogs import names
    from ckrules.kernels.families import family_of

    own = f"{CATALOG}_{family_of(variant).name}"
    return own if own in names() else CATALOG


def recommended(request: Request) -> list[Point]:
    """The recommended kernels that are in the space asked for."""
    if request.by_catalog:
        return []
    space = request.region.space
    if len(space.domains["arch"]) != 1:
        return []
    try:
        catalog = catalog_of(str(space.domains["variant"][0]))
        listing = request.changed(catalog=catalog).listing
    except UsageError:  # of another profile or family
        return []
    found = listing.points if listing is not None else []
    try:
        return [p for p in found if p in space]
    except CkrulesError:  # fields of another family
        return []

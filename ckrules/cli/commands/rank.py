"""Order kernels by their predicted times on a problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.formats import output_options
from ckrules.cli.legality import illegal
from ckrules.cli.options import limit_option, option, quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.ranked import FORMS, draw_option, mixed, model_option, product_option, render
from ckrules.cli.request import Request, distinct_option, space_options
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.ranking.kernels import KernelTable
    from ckrules.ranking.ranker import Ranking

GROUP = "explore"

EPILOG = """\b
The kernels are those named, or those that the options select and whose argument
check accepts the problem. Of more than --draw, that many are drawn uniformly.
Times come from a model where one was trained on such kernels, else they are
estimated from the facts of the GPU; the last line says which.

\b
Examples:
  ckrules rank --problem N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1 \\
    --variant forward --arch gfx950 --dtype bf16
  ckrules rank --problem N=1,C=64,K=64,H=56,W=56,Y=1,X=1 --catalog default \\
    --variant forward --arch gfx942 --dtype fp16 --explain
  ckrules rank --problem N=1,C=64,K=64,H=56,W=56,Y=1,X=1 --arch gfx942 NAME NAME

\b
Exit codes: 0 kernels were ranked, 2 usage or bad input, 3 no kernel accepts it.
"""


@click.command(epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME…]")
@option("--problem", "line", metavar="PROBLEM", required=True, help="Such as N=1,C=8,….")
@space_options
@distinct_option
@model_option
@product_option
@draw_option
@option("--seed", type=int, default=1, help="Of the sample [1].")
@option("--explain", is_flag=True, help="What each time is made of.")
@limit_option
@output_options(FORMS)
@quiet_option
def command(
    request: Request,
    names: tuple[str, ...],
    line: str,
    model: str | None,
    product: str | None,
    draw: int,
    seed: int,
    explain: bool,
    limit: int | None,
    form: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Order kernels by their predicted times on a problem."""
    from ckrules.ranking.ranker import Ranker, chosen

    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit}: nothing would be ranked")
    asked = _Asked(request, names, line, product, draw, seed)
    ranking = Ranker(chosen(model)).rank(asked.tables(), asked.problem, limit or 10)
    if not ranking.kernels:
        note(f"no kernel accepts {asked.problem}")
        return 3
    with text_output(output) as stream:
        stream.write(render(ranking, form, explain=explain))
    if not quiet:
        note(f"{asked.looked_at(ranking)} on {asked.problem}: {ranking.source}")
        for said in filter(None, (asked.illegal, mixed(ranking.kernels))):
            note(said)
        for what, said in ranking.assumed.items():
            note(f"never measured: {what} (assumed: {said})")
    return 0


class _Asked:
    """The kernels that were asked for, and the problem."""

    def __init__(
        self, request: Request, names: tuple[str, ...], line: str, product: str | None,
        draw: int, seed: int,
    ) -> None:  # fmt: skip
        self.request, self.names, self.product = request, names, product
        self.draw, self.seed = draw, seed
        self.total: int | None = None
        self.illegal = ""
        self.problem = self._problem(line)

    def _problem(self, line: str) -> Any:
        from ckrules.kernels import problem_files

        if self.names:
            variants = [str(p["variant"]) for p in self._named]
        else:
            variants = [str(v) for v in self.request.region.space.domains["variant"]]
        found = problem_files.parse(line, problem_files.kinds(variants))
        return found[0]

    @cached_property
    def _named(self) -> list[Mapping[str, Any]]:
        from ckrules.kernels.config import config_from_name

        given = self.request.only("arch", beside="kernels by name")
        archs = given.get("arch", ())
        if len(archs) != 1:
            raise UsageError("kernels by name need --arch: one GPU")
        books = self.request.books
        return [config_from_name(n, books, arch=archs[0]).point for n in self.names]

    def tables(self) -> Iterator[tuple[KernelTable, Sequence[Mapping[str, Any]]]]:
        """The kernels that accept the problem, as tables."""
        from ckrules.ranking.candidates import Candidates
        from ckrules.ranking.kernels import KernelTable

        books = self.request.books
        if not self.names and self.request.listing is None:
            candidates = Candidates(self.request.region, books, self.problem)
            self.total = candidates.space.count()
            yield from candidates.kernels(self.draw, self.seed, self.product)
            return
        listing = self.request.listing
        points = self._named if self.names else list(listing.points if listing else ())
        points = self._accepting(points)
        self.total = len(points)
        self.illegal = illegal(points, books)
        if points:
            yield KernelTable.of_points(points, books, self.product), points

    def _accepting(self, points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        from ckrules.kernels.applicability import Applicability

        accepts = Applicability(str(self.problem), self.request.books)
        return [p for p in points if accepts(p) == []]

    def looked_at(self, ranking: Ranking) -> str:
        """How many kernels of how many were ranked."""
        seen, total = ranking.looked_at, self.total or 0
        if seen == total:
            return f"{seen:,} kernel{'s' * (seen != 1)}"
        return f"{seen:,} of {total:,} kernels (seed {self.seed})"

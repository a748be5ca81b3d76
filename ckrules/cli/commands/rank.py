"""Order kernels by their predicted times on a problem."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.legality import illegal
from ckrules.cli.ranked import RankingChoice, ranking_options
from ckrules.cli.terminal import note, waiting
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.engine.rules.violation import Violation
    from ckrules.ranking.kernels import KernelTable
    from ckrules.ranking.ranker import Ranking

GROUP = "explore"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]")
@ranking_options
def command(asked: RankingChoice, names: tuple[str, ...]) -> int:
    """Order kernels by their predicted times on a problem."""
    with waiting("predicting times"):
        kernels = _Candidates(asked, names)
        ranking = asked.ranker().rank(kernels.tables(), kernels.problem, asked.shown)
    if not ranking.kernels:
        said = f"no kernel accepts {kernels.problem}{kernels.refused()}"
        note(said if names else asked.none(said))
        return 3
    looked = f"{kernels.looked_at(ranking)} on {kernels.problem}: {ranking.source}"
    return asked.show(ranking, looked, kernels.illegal)


class _Candidates:
    """The kernels that were asked for, and the problem."""

    def __init__(self, asked: RankingChoice, names: tuple[str, ...]) -> None:
        self.asked, self.request, self.names = asked, asked.request, names
        self.total: int | None = None
        self.illegal = ""
        self._refusals: list[Violation] = []
        named = [point["variant"] for point in self._named] if names else ()
        self.problem = asked.problem(named or self.request.region.space.domains["variant"])

    @cached_property
    def _named(self) -> list[Mapping[str, Any]]:
        from ckrules.kernels.config import config_from_name

        for name in self.names:
            if os.path.isfile(name):
                raise UsageError(f"{name} is a file, expected a kernel's name: --catalog {name}")
        beside = f"kernels by name ({self.names[0]!r}): leave out one or the other"
        given = self.request.only("arch", beside=beside)
        archs = given.get("arch", ())
        if len(archs) != 1:
            raise UsageError("kernels by name need --arch: one GPU")
        books = self.request.books
        return [config_from_name(n, books, arch=archs[0]).point for n in self.names]

    def tables(self) -> Iterator[tuple[KernelTable, Sequence[Mapping[str, Any]]]]:
        from ckrules.ranking.candidates import Candidates
        from ckrules.ranking.kernels import KernelTable

        books = self.request.books
        if not self.names and self.request.listing is None:
            candidates = Candidates(self.request.region, books, self.problem)
            self.total = candidates.space.count()
            yield from candidates.kernels(self.asked.draw, self.asked.seed, self.asked.product)
            return
        listing = self.request.listing
        points = self._named if self.names else list(listing.points if listing else ())
        points = self._accepting(points)
        self.total = len(points)
        self.illegal = illegal(points, books)
        if points:
            yield KernelTable.of_points(points, books, self.asked.product), points

    def _accepting(self, points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        from ckrules.kernels.applicability import Applicability

        accepts = Applicability(str(self.problem), self.request.books)
        judged = [(point, accepts(point)) for point in points]
        self._refusals = [found[0] for _, found in judged if found]
        return [point for point, found in judged if found == []]

    def refused(self) -> str:
        """The rule that refuses most of the kernels that are named or listed, and what it says."""
        codes = Counter(violation.code for violation in self._refusals)
        for code, count in codes.most_common(1):
            said = next(v.message for v in self._refusals if v.code == code)
            return f": {code} refuses {count:,} of them: {said}"
        return ""

    def looked_at(self, ranking: Ranking) -> str:
        seen, total = ranking.looked_at, self.total or 0
        if seen == total:
            return f"{seen:,} kernel{'s' * (seen != 1)}"
        return f"{seen:,} of {total:,} kernels (seed {self.asked.seed})"

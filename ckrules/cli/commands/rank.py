"""Order kernels by their predicted times on problems."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.legality import illegal
from ckrules.cli.ranked import Answer, RankingChoice, ranking_options
from ckrules.cli.terminal import waiting
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.violation import Violation
    from ckrules.ranking.ranker import Ranking

GROUP = "explore"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]")
@ranking_options
def command(asked: RankingChoice, names: tuple[str, ...]) -> int:
    """Order kernels by their predicted times on problems."""
    with waiting("reading kernels"):
        kernels = _Kernels(asked, names)
    with waiting("predicting times", len(kernels.problems) if asked.several else None) as bar:
        answers = kernels.answers(bar.advance)
    return asked.show(answers, illegal(list(kernels.taken.values()), asked.request.books))


class _Kernels:
    """The kernels that were asked for, and the problems."""

    def __init__(self, asked: RankingChoice, names: tuple[str, ...]) -> None:
        self.asked, self.request, self.names = asked, asked.request, names
        named = [point["variant"] for point in self._named] if names else ()
        self.problems = asked.problems(named or self.request.region.space.domains["variant"])
        self._ranker = asked.ranker()
        self.taken: dict[int, Mapping[str, Any]] = {}
        """Those of the kernels that are named or listed that accept any problem."""

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

    def answers(self, told: Callable[[int], None]) -> list[Answer]:
        """The fastest kernels of each problem; ``told`` of how many more are done."""
        listing = self.request.listing
        points = self._named if self.names else None if listing is None else list(listing.points)
        if points is None and len(self.problems) > 1:
            self.request.region.space.compile()  # what each problem leaves is cut out of it
        found = []
        for problem in self.problems:
            found.append(self._drawn(problem) if points is None else self._of(points, problem))
            told(1)
        return found

    def _drawn(self, problem: Any) -> Answer:
        from ckrules.ranking.candidates import Candidates

        asked = self.asked
        candidates = Candidates(self.request.region, self.request.books, problem)
        tables = candidates.kernels(asked.draw, asked.seed, asked.product)
        ranking = self._ranker.rank(tables, problem, asked.shown)
        return self._answer(problem, ranking, candidates.space.count())

    def _of(self, points: Sequence[Mapping[str, Any]], problem: Any) -> Answer:
        from ckrules.kernels.applicability import Applicability
        from ckrules.ranking.kernels import KernelTable

        books = self.request.books
        accepts = Applicability(str(problem), books)
        judged = [(point, accepts(point)) for point in points]
        taken = [point for point, found in judged if found == []]
        self.taken.update((id(point), point) for point in taken)
        tables = [(KernelTable.of_points(taken, books, self.asked.product), taken)] if taken else []
        ranking = self._ranker.rank(tables, problem, self.asked.shown)
        return self._answer(problem, ranking, len(taken), [f[0] for _, f in judged if f])

    def _answer(
        self, problem: Any, ranking: Ranking, total: int, refusals: Sequence[Violation] = ()
    ) -> Answer:
        seen, refused = ranking.looked_at, ""
        looked = count(seen, "kernel")
        if seen != total:
            looked = f"{seen:,} of {total:,} kernels (seed {self.asked.seed})"
        if not ranking.kernels:
            refused = f"no kernel accepts {problem}{_mostly(refusals)}"
            refused = refused if self.names else self.asked.none(refused)
        return Answer(
            problem, ranking, f"{looked} on {problem}: {ranking.source}", ranking.source, refused
        )


def _mostly(refusals: Sequence[Violation]) -> str:
    """The rule that refuses most of the kernels that are named or listed, and what it says."""
    for code, n in Counter(violation.code for violation in refusals).most_common(1):
        said = next(v.message for v in refusals if v.code == code)
        return f": {code} refuses {n:,} of them: {said}"
    return ""

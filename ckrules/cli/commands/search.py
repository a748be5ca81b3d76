"""Search a whole space for the kernel that is predicted fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckrules.cli import measuring
from ckrules.cli.device_options import device_words_option
from ckrules.cli.legality import illegal
from ckrules.cli.once import option
from ckrules.cli.options import Seconds
from ckrules.cli.ranked import Answer, RankingChoice, ranking_options
from ckrules.cli.terminal import progress
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.search import SearchResult

GROUP = "explore"


@click.command()
@ranking_options
@option(
    "--kernels",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of kernels to look at.",
)
@option("--seconds", type=Seconds(), help="Go on for so long at most.")
@option("--device", metavar="NAME", help="Measure there: hip or a plug-in's name.")
@device_words_option
@option("--dir", "home", metavar="DIR", help="Folder of kernels that are measured.")
@option(
    "--measure", type=click.IntRange(min=1), metavar="N", help="Number of kernels to measure [32]."
)
def command(
    asked: RankingChoice,
    kernels: int | None,
    seconds: float | None,
    device: str | None,
    words: tuple[str, ...],
    home: str | None,
    measure: int | None,
) -> int:
    """Search a whole space for the kernel that is predicted fastest."""
    place = measuring.asked(device, words, home, measure, kernels, asked.explain)
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.search import Search

    request, region = asked.request, asked.request.region
    problems = asked.problems(region.space.domains["variant"])
    if len(problems) > 1:
        region.space.compile()  # what each problem leaves is cut out of it
    ranker, limit = asked.ranker(), asked.shown if place is None else measuring.POOL
    searches = (
        (each, Search(each.fitting(), ranker, product=asked.product, seed=asked.seed, limit=limit))
        for each in (Candidates(region, request.books, problem) for problem in problems)
    )
    if place is not None:
        return measuring.run((search for _, search in searches), place, asked, seconds)
    answers = []
    for accepting, search in searches:
        with progress("kernels looked at", kernels) as bar:
            search.told = bar.advance
            found = search.run(asked.draw, kernels, seconds)
        answers.append(_answer(asked, accepting, search.candidates, found))
    ranked = {repr(r.point): r.point for a in answers for r in a.ranking.kernels}
    shown = list(ranked.values()) if request.listing is not None else []
    return asked.show(answers, illegal(shown, request.books))


def _answer(
    asked: RankingChoice, accepting: Candidates, candidates: Candidates, found: SearchResult
) -> Answer:
    ranking, problem, refused = found.ranking, accepting.problem, ""
    if not ranking.kernels:
        refused = asked.none(f"no kernel accepts {problem}")
    looked = f"{ranking.looked_at:,} of {count(candidates.space.count(), 'kernel')}"
    if candidates is not accepting:
        looked += f" named after the problem ({accepting.space.count():,} accept it)"
    how = f"ended: {found.ended}; seed {asked.seed}; {ranking.source}"
    looked += f" in {count(found.rounds, 'round')}, {how}"
    return Answer(problem, ranking, looked, how, refused)

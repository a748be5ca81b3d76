"""Search a whole space for the kernel that is predicted fastest."""

from __future__ import annotations

import click

from ckrules.cli import measuring
from ckrules.cli.device_options import device_words_option
from ckrules.cli.legality import illegal
from ckrules.cli.once import option
from ckrules.cli.options import Seconds
from ckrules.cli.ranked import RankingChoice, ranking_options
from ckrules.cli.terminal import note, progress
from ckrules.support.tables import count

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

    request = asked.request
    problem = asked.problem(request.region.space.domains["variant"])
    accepting = Candidates(request.region, request.books, problem)
    candidates = accepting.fitting()
    limit = asked.shown if place is None else measuring.POOL
    search = Search(candidates, asked.ranker(), product=asked.product, seed=asked.seed, limit=limit)
    if place is not None:
        return measuring.run(search, place, asked, seconds)
    with progress("kernels looked at", kernels) as bar:
        search.told = bar.advance
        found = search.run(asked.draw, kernels, seconds)
    if not found.ranking.kernels:
        note(asked.none(f"no kernel accepts {problem}"))
        return 3
    looked = f"{found.ranking.looked_at:,} of {count(candidates.space.count(), 'kernel')}"
    if candidates is not accepting:
        looked += f" named after the problem ({accepting.space.count():,} accept it)"
    how = f"in {count(found.rounds, 'round')}, ended: {found.ended}; seed {asked.seed}"
    shown = [r.point for r in found.ranking.kernels] if request.listing is not None else []
    summary = f"{looked} {how}; {found.ranking.source}"
    return asked.show(found.ranking, summary, illegal(shown, request.books))

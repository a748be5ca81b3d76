"""Search a whole space for the kernel that is predicted fastest."""

from __future__ import annotations

import click

from ckrules.cli import measuring
from ckrules.cli.device_options import device_words_option
from ckrules.cli.once import option
from ckrules.cli.options import Seconds
from ckrules.cli.ranked import RankingChoice, ranking_options
from ckrules.cli.terminal import note, progress

GROUP = "explore"

EPILOG = """\b
The search begins with a uniform sample of the kernels that accept the problem, and
goes on to kernels that differ from the best ones in a field, as long as any of them
is among the best. Times are predicted as by ckrules rank.
With --device kernels are measured: those that may be the fastest are built in a
folder (--dir) and timed, each time corrects the predictions, and --measure says how
many kernels are tried in all. Killed and asked again, the search goes on.

\b
Examples:
  ckrules search --problem N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1 \\
    --variant bwd_weight --arch gfx942 --dtype fp16
  ckrules search --problem N=1,C=64,K=64,H=56,W=56,Y=1,X=1 --variant forward \\
    --arch gfx950 --dtype bf16 --where "pipeline == 'compv3'" -n 3 --explain
  ckrules search --problem N=1,C=64,K=64,H=56,W=56,Y=1,X=1 --variant forward \\
    --arch gfx950 --dtype bf16 --device hip --dir tried --measure 40

\b
Exit codes: 0 kernels were found, 1 none of those tried works, 2 usage or bad input,
3 no kernel accepts it, or there is no GPU.
"""


@click.command(epilog=EPILOG)
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
    candidates = Candidates(request.region, request.books, problem).fitting()
    limit = asked.shown if place is None else measuring.POOL
    search = Search(candidates, asked.ranker(), product=asked.product, seed=asked.seed, limit=limit)
    if place is not None:
        return measuring.run(search, place, asked, seconds)
    with progress("kernels looked at", kernels) as bar:
        search.told = bar.advance
        found = search.run(asked.draw, kernels, seconds)
    if not found.ranking.kernels:
        note(f"no kernel accepts {problem}")
        return 3
    looked = f"{found.ranking.looked_at:,} of {candidates.space.count():,} kernels"
    how = f"in {found.rounds} rounds, ended: {found.ended}; seed {asked.seed}"
    return asked.show(found.ranking, f"{looked} {how}; {found.ranking.source}")

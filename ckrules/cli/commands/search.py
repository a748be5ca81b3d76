"""Search a whole space for the kernel that is predicted fastest."""

from __future__ import annotations

import click

from ckrules.cli import measuring
from ckrules.cli.formats import output_options
from ckrules.cli.options import Seconds, limit_option, option, quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.ranked import FORMS, draw_option, mixed, model_option, product_option, render
from ckrules.cli.request import Request, distinct_option, space_options
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

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
@option("--problem", "line", metavar="PROBLEM", required=True, help="Such as N=1,C=8,….")
@space_options
@distinct_option
@model_option
@product_option
@draw_option
@option(
    "--kernels",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of kernels to look at.",
)
@option("--seconds", type=Seconds(), help="Go on for so long at most.")
@option("--seed", type=int, default=1, help="Of the sample [1].")
@option("--device", metavar="NAME", help="Measure there: hip or a plug-in's name.")
@option(
    "--device-option", "words", multiple=True, metavar="NAME=VALUE",
    help="What the device is opened with. Repeatable.",
)  # fmt: skip
@option("--dir", "home", metavar="DIR", help="Folder of kernels that are measured.")
@option(
    "--measure", type=click.IntRange(min=1), metavar="N", help="Number of kernels to measure [32]."
)
@option("--explain", is_flag=True, help="What each time is made of.")
@limit_option
@output_options(FORMS)
@quiet_option
def command(
    request: Request,
    line: str,
    model: str | None,
    product: str | None,
    draw: int,
    kernels: int | None,
    seconds: float | None,
    seed: int,
    device: str | None,
    words: tuple[str, ...],
    home: str | None,
    measure: int | None,
    explain: bool,
    limit: int | None,
    form: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Search a whole space for the kernel that is predicted fastest."""
    asked = measuring.asked(device, words, home, measure, kernels, explain)
    from ckrules.kernels import problem_files
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.ranker import Ranker, chosen
    from ckrules.ranking.search import Search

    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit}: nothing would be found")
    variants = [str(v) for v in request.region.space.domains["variant"]]
    problem = problem_files.parse(line, problem_files.kinds(variants))[0]
    candidates = Candidates(request.region, request.books, problem)
    ranker, shown = Ranker(chosen(model)), limit or 10
    if asked is not None:
        pool = Search(candidates, ranker, product=product, seed=seed, limit=measuring.POOL)
        return measuring.run(pool, asked, draw, seconds, shown, form, output, quiet)
    search = Search(candidates, ranker, product=product, seed=seed, limit=shown)
    found = search.run(draw, kernels, seconds)
    if not found.ranking.kernels:
        note(f"no kernel accepts {problem}")
        return 3
    with text_output(output) as stream:
        stream.write(render(found.ranking, form, explain=explain))
    if not quiet:
        looked = f"{found.ranking.looked_at:,} of {candidates.space.count():,} kernels"
        note(f"{looked} in {found.rounds} rounds, ended: {found.ended}; seed {seed};"
             f" {found.ranking.source}")  # fmt: skip
        if said := mixed(found.ranking.kernels):
            note(said)
        for what, said in found.ranking.assumed.items():
            note(f"never measured: {what} (assumed: {said})")
    return 0

"""Check the rules against what kernels compute."""

from __future__ import annotations

from dataclasses import replace

import click

from ckrules.cli.certifying import CertifySetup, certify_options, jobs_option
from ckrules.cli.once import option
from ckrules.cli.options import vary_option
from ckrules.cli.terminal import note, progress, waiting
from ckrules.support.errors import UsageError

GROUP = "maintain"


@click.command()
@certify_options
@jobs_option
@option(
    "--blocks", default=32, type=click.IntRange(min=0), help="Columns of blocks run; 0: all. [32]"
)
@option(
    "--order", default="forward,reversed,random", metavar="LIST", help="Of waves and blocks. [all]"
)
@option(
    "--problems",
    type=click.IntRange(min=1),
    metavar="N",
    help="Problems per kernel. [built-in set]",
)
@vary_option
@option(
    "--minutes", type=click.FloatRange(min=0), metavar="M", help="Begin no kernel after M. [no end]"
)
@option(
    "--seen",
    multiple=True,
    metavar="FILE",
    help="Results of earlier runs (--format json): draw kernels with other pairs of features. "
    "Repeatable.",
)
@option("--labels", metavar="FILE", help="JSON Lines with config, problem, status to match.")
@option("--keep", metavar="DIR", help="Keep the kernels there. [thrown away]")
def command(
    setup: CertifySetup,
    jobs: int,
    blocks: int,
    order: str,
    problems: int | None,
    vary: int,
    minutes: float | None,
    seen: tuple[str, ...],
    labels: str | None,
    keep: str | None,
) -> int:
    """Check the rules against what kernels compute.

    Draws configurations, predicts which of them compute right, runs them, and prints where the two
    differ. INPUTS (as for `check`) are run instead of drawn configurations.
    """
    from ckrules.certify import recording
    from ckrules.certify.bench import Manner
    from ckrules.certify.labels import read
    from ckrules.certify.numeric_report import notes, numeric_json, numeric_lines
    from ckrules.certify.numeric_run import NumericRun
    from ckrules.certify.seen import read_seen
    from ckrules.compiling.session import BuildOptions
    from ckrules.compiling.toolchain import first_line
    from ckrules.device.cpu import plan_of

    choice = replace(setup.choice, seen=read_seen(seen, setup.choice.books, setup.choice.gpu.name))
    manner = Manner(tuple(order.split(",")), choice.seed, blocks, problems, setup.timeout, vary)
    plan_of(manner.options)  # complains of an unknown order
    if labels is not None and choice.points:
        raise UsageError("--labels: not beside other configurations")
    known = read(labels, choice.books) if labels is not None else ()
    own = tuple(label for label in known if label.point["arch"] == choice.gpu.name)
    if labels is not None and not own:
        raise UsageError(f"{labels}: no labels for {choice.gpu.name}")
    with waiting("drawing kernels"):
        run = NumericRun(choice, manner, own)
    tools = setup.toolchain()
    options = BuildOptions(compiler=setup.compiler, include=setup.headers(), timeout=setup.timeout)
    with progress("kernels", len(run.questions)) as bar:
        findings = run.run(
            options, setup.kept_in("trials.sqlite"), keep, jobs=jobs, minutes=minutes,
            progress=lambda answer: bar.advance(1, known=not answer.fresh),
        )  # fmt: skip
    setup.write(numeric_json(findings), numeric_lines(findings, keep))
    for line in notes(findings):
        note(line)
    if setup.record is not None and findings.left:
        note(f"{setup.record}: left as it was, since not all kernels are judged")
    else:
        choice = run.choice
        about = (choice.every_variant[0], choice.gpu.name, choice.books.ck)
        asked = f"{choice.asked}; {manner}"
        tool = first_line(tools.version)
        setup.keep(recording.of_numerics(findings.matrix, *about, tool, asked))
    return 0 if findings.agrees else 1

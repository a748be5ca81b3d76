"""Check the rules against the compiler's front end."""

from __future__ import annotations

from dataclasses import replace

import click

from ckrules.cli.certifying import CertifySetup, certify_options, jobs_option
from ckrules.cli.once import option
from ckrules.cli.terminal import note, progress, waiting
from ckrules.support.errors import UsageError

GROUP = "maintain"

#: What were options of this command and are commands now.
_MOVED = {"--codegen": "ckrules certify backend", "--numerics": "ckrules certify numerics"}


class _FrontEnd(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Names the commands that took the place of two options."""
        for word in args:
            if word in _MOVED:
                raise UsageError(f"{word} is a command of its own: {_MOVED[word]}")
        return super().parse_args(ctx, args)


@click.command(cls=_FrontEnd)
@certify_options
@jobs_option
@option("--alone", is_flag=True, help="Draw only what breaks one rule, each rule in turn.")
@option(
    "--batch", default=12, type=click.IntRange(1, 64), help="Legal kernels per compiler run. [12]"
)
def command(setup: CertifySetup, jobs: int, alone: bool, batch: int) -> int:
    """Check the rules against the compiler's front end.

    Draws configurations, uniformly and around the boundary of every rule, predicts which of them
    compile, asks the compiler, and prints where the two differ. INPUTS (as for `check`) are asked
    about instead of drawn configurations.
    """
    from ckrules.certify import recording, reports
    from ckrules.certify.experiment import certify
    from ckrules.certify.oracle import CompilerOracle
    from ckrules.certify.verdicts import VerdictStore
    from ckrules.compiling.toolchain import first_line

    choice, tools = replace(setup.choice, alone=alone), setup.toolchain()
    if alone and choice.points:
        raise UsageError(
            "--alone is about drawn configurations, and INPUTS are asked about as they are"
        )
    note(f"compiler: {tools.compiler} ({tools.version})")
    with waiting("drawing kernels"):
        points, book = choice.around_rules(), choice.book
    oracle = CompilerOracle(tools, choice.gpu, setup.timeout)
    with (
        VerdictStore(setup.kept_in("verdicts.sqlite")) as kept,
        progress("compiling", len(points)) as bar,
    ):
        matrix = certify(
            book, points, oracle, kept, jobs=jobs, batch=batch, progress=lambda _: bar.advance(1)
        )
    codes = [rule.code for rule in book.rules if rule.kind == "compile"]
    setup.write(reports.front_end_json(matrix, codes), reports.front_end_lines(matrix, codes))
    for case in matrix.failures:
        note(f"no verdict: {case.failure}")
    about = (choice.every_variant[0], choice.gpu.name, choice.books.ck, first_line(tools.version))
    setup.keep(recording.of_compiler(matrix, *about, choice.asked))
    return 1 if matrix.disagreements or matrix.failures else 0

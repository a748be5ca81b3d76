"""Check the rules against what the compiler's back end makes of kernels."""

from __future__ import annotations

import click

from ckrules.cli.certifying import CertifySetup, certify_options
from ckrules.cli.terminal import note, progress, waiting

GROUP = "maintain"


@click.command()
@certify_options
def command(setup: CertifySetup) -> int:
    """Check the rules against what the compiler's back end makes of kernels.

    A third of the drawn configurations is legal, the others break one rule of kind hardware or
    launch each. INPUTS (as for `check`) are compiled instead of drawn configurations.
    """
    from ckrules.certify import recording, reports
    from ckrules.certify.backend import compare
    from ckrules.certify.codeobjects import CodeObjects, FigureStore, measured
    from ckrules.certify.registers import families
    from ckrules.compiling.toolchain import first_line
    from ckrules.support.errors import UsageError

    choice, known = setup.choice, families(setup.choice.books)
    if choice.family_name not in known:
        words = f"{choice.family_name} has no estimate of registers to compare"
        raise UsageError(f"{words}; {', '.join(known)} have")
    tools = setup.toolchain()
    note(f"compiler: {tools.compiler} ({tools.version})")
    with waiting("drawing kernels"):
        points, book = choice.beyond_rules(), choice.book
    maker = CodeObjects(tools, choice.gpu, setup.timeout)
    cases = []
    with (
        FigureStore(setup.kept_in("verdicts.sqlite")) as kept,
        progress("compiling", len(points)) as bar,
    ):
        for point, figures in measured(points, maker, kept):
            cases.append(compare(book, point, figures))
            bar.advance(1)
    setup.write(reports.back_end_json(cases), reports.back_end_lines(cases))
    for case in cases:
        if case.failure:
            note(f"no answer: {case.failure}")
    about = (choice.gpu.name, choice.books.ck, first_line(tools.version), choice.asked)
    setup.keep(recording.of_backend(cases, *about))
    return 1 if any(c.differs or c.failure for c in cases) else 0

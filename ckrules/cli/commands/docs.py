"""Write the pages of the rules, or check that they are fresh."""

from __future__ import annotations

from pathlib import Path

import click

from ckrules.cli.once import option
from ckrules.cli.terminal import note, progress, waiting

GROUP = "maintain"


@click.command()
@option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("docs/rules"),
    help="The folder of the pages. [docs/rules]",
)
@option("--check", is_flag=True, help="Write nothing; exit 1 if a page is stale.")
def command(out: Path, check: bool) -> int:
    """Write the pages of the rules, or check that they are fresh.

    One Markdown page a rule, the same text as `ckrules explain`, and an index.
    """
    from ckrules.output.rule_docs import every_rule, pages, stale, write

    with waiting("reading the rules"):
        rules = every_rule()
    with progress("pages", len(rules)) as bar:
        made = pages(rules, bar.advance)
    if check:
        old = stale(out, made)
        for name in old:
            click.echo(f"{out / name}: stale; run `ckrules docs`")
        note(f"{len(made)} pages, {len(old)} stale")
        return 1 if old else 0
    changed = write(out, made)
    note(f"{len(made)} pages, {len(changed)} written")
    return 0

"""Ask about a space that a file describes: an older form of count, enumerate, why and others."""

from __future__ import annotations

import click

from ckrules.cli.options import OneOf
from ckrules.cli.terminal import note

GROUP = "explore"

ACTIONS = ("count", "enumerate", "sample", "why", "fix", "lint", "graph")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", metavar="FILE")
@click.argument("action", type=OneOf(ACTIONS, "action"))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, file: str, action: str, words: tuple[str, ...]) -> int:
    """Ask about a space that a file describes: an older form of count, enumerate, why and others.

    ckrules space FILE ACTION is ckrules ACTION FILE, and goes with the next release.
    """
    note(f"note: ckrules space FILE {action} is now ckrules {action} FILE")
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    asked = root.command.get_command(root, action)
    assert asked is not None
    with asked.make_context(action, [file, *words], parent=root) as inner:
        result = asked.invoke(inner)
    return result if isinstance(result, int) else 0

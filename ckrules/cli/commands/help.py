"""Show the help of a command."""

from __future__ import annotations

import click

from ckrules.support.errors import UsageError

GROUP = "explore"


@click.command()
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of a command, or of all."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    if not words:
        click.echo(root.get_help())
        return 0
    name, found, rest = root.command.resolve_command(root, list(words))
    assert found is not None
    if rest:
        raise UsageError(f"{' '.join(words)} is not a command")
    with click.Context(found, info_name=name, parent=root) as inner:
        click.echo(found.get_help(inner))
    return 0

"""Show the help of a command."""

from __future__ import annotations

import click

GROUP = "explore"


@click.command()
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def command(context: click.Context, name: str | None) -> int:
    """Show the help of a command, or of all."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    if name is None:
        click.echo(root.get_help())
        return 0
    _, found, _ = root.command.resolve_command(root, [name])
    assert found is not None
    with click.Context(found, info_name=name, parent=root) as inner:
        click.echo(found.get_help(inner))
    return 0

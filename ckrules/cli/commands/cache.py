"""Show or clear the compiled spaces kept on disk."""

from __future__ import annotations

import json
import time

import click

from ckrules.cli.terminal import note
from ckrules.engine.errors import unknown

_ACTIONS = ("show", "clear")
_FORMATS = ("text", "json")
_SHOWN = 20


@click.command()
@click.argument("action", metavar="show|clear", default="show")
@click.option("--format", "form", metavar="|".join(_FORMATS), default="text", help="[text]")
def command(action: str, form: str) -> int:
    """Show or clear the compiled spaces kept on disk.

    They are found by content, so a changed rule never meets an old space; the least recently
    used ones are dropped as new ones come. CKRULES_CACHE_DIR names another folder, or, set to
    nothing, turns the cache off.
    """
    from ckrules.engine.diagram import cache

    if action not in _ACTIONS:
        raise unknown("action", action, _ACTIONS)
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    folder = cache.directory()
    if action == "clear":
        note(f"{cache.clear()} compiled spaces removed")
        return 0
    kept = cache.entries()
    if form == "json":
        rows = [{"file": e.path.name, "bytes": e.size, "used": e.used} for e in kept]
        click.echo(json.dumps({"folder": folder and str(folder), "entries": rows}))
        return 0
    for entry in kept[-_SHOWN:]:  # the most recently used ones
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        click.echo(f"{used}  {entry.size:>12,}  {entry.path.name}")
    note(
        f"{len(kept)} compiled spaces, {sum(e.size for e in kept):,} bytes in {folder}"
        if folder
        else "the cache is off: CKRULES_CACHE_DIR is empty"
    )
    return 0

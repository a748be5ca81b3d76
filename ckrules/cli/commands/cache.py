"""Show or clear the compiled spaces kept on disk."""

from __future__ import annotations

import time

import click

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.options import OneOf
from ckrules.cli.output import text_output
from ckrules.cli.terminal import note
from ckrules.support.visible import json_text, visible

_ACTIONS = ("show", "clear")
_SHOWN = 20

GROUP = "maintain"


@click.command()
@click.argument("action", type=OneOf(_ACTIONS, "action"), default="show")
@output_options(TEXT)
def command(action: str, form: str, output: str | None) -> int:
    """Show or clear the compiled spaces kept on disk.

    They are found by content, so a changed rule never meets an old space; the least recently
    used ones are dropped as new ones come. CKRULES_CACHE_DIR names another folder, or, set to
    nothing, turns the cache off.
    """
    from ckrules.engine.diagram import cache

    folder = cache.directory()
    if action == "clear":
        note(f"{cache.clear()} compiled spaces removed")
        return 0
    kept = cache.entries()
    with text_output(output) as stream:
        if form == "json":
            rows = [{"file": e.path.name, "bytes": e.size, "used": e.used} for e in kept]
            stream.write(json_text({"folder": folder and str(folder), "entries": rows}) + "\n")
            return 0
        for entry in kept[-_SHOWN:]:  # the most recently used ones
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
            stream.write(f"{used}  {entry.size:>12,}  {visible(entry.path.name)}\n")
    note(
        f"{len(kept)} compiled spaces, {sum(e.size for e in kept):,} bytes in {folder}"
        if folder
        else "the cache is off: CKRULES_CACHE_DIR is empty"
    )
    return 0

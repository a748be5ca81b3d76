"""Show or clear what is kept on disk: compiled spaces and kernels."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.options import OneOf
from ckrules.cli.output import text_output
from ckrules.cli.terminal import note
from ckrules.support.tables import count
from ckrules.support.visible import json_text, visible

_ACTIONS = ("show", "clear")
_SHOWN = 20

GROUP = "maintain"


@click.command()
@click.argument("action", type=OneOf(_ACTIONS, "action"), default="show")
@output_options(TEXT)
def command(action: str, form: str, output: str | None) -> int:
    """Show or clear what is kept on disk: compiled spaces and kernels.

    Spaces are kept by every command that counts, kernels by ckrules.runtime, which builds
    what is declared or missing. Both are found by content, so a changed rule never meets what
    is old; the least recently used ones are dropped as new ones come. CKRULES_CACHE_DIR names
    another folder; set to nothing, it keeps no spaces.
    """
    from ckrules.engine.diagram import cache
    from ckrules.runtime.cache import KernelCache

    kernels = KernelCache()
    if action == "clear":
        note(f"{cache.clear()} compiled spaces and {count(kernels.clear(), 'kernel')} removed")
        return 0
    spaces, built, folder = cache.entries(), kernels.kept(), cache.directory()
    with text_output(output) as stream:
        if form == "json":
            rows = [{"file": e.path.name, "bytes": e.size, "used": e.used} for e in spaces]
            stream.write(
                json_text(
                    {
                        "folder": folder and str(folder),
                        "entries": rows,
                        "kernel_folder": str(kernels.place),
                        "kernels": [asdict(k) for k in built],
                    }
                )
                + "\n"
            )
            return 0
        for entry in spaces[-_SHOWN:]:  # the most recently used ones
            stream.write(_line(entry.used, entry.size, entry.path.name))
        for kernel in built[-_SHOWN:]:
            stream.write(_line(kernel.used, kernel.bytes, f"{kernel.arch} {kernel.name}"))
    note(
        f"{len(spaces):,} compiled spaces, {sum(e.size for e in spaces):,} bytes in {folder}"
        if folder
        else "no spaces are kept: CKRULES_CACHE_DIR is empty"
    )
    note(f"{count(len(built), 'kernel')}, {sum(k.bytes for k in built):,} bytes in {kernels.place}")
    return 0


def _line(used: float, size: int, what: str) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(used))
    return f"{when}  {size:>12,}  {visible(what)}\n"

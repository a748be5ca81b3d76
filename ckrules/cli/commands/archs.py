"""List the GPUs, or show one."""

from __future__ import annotations

from pathlib import Path

import click

from ckrules import arch
from ckrules.cli.formats import TABLE, output_options
from ckrules.cli.options import arch_file_option
from ckrules.cli.output import text_output
from ckrules.output.gpus import gpu_dict, gpu_page, gpu_table
from ckrules.support.visible import json_text, visible_lines

GROUP = "explore"


@click.command()
@click.argument("name", metavar="[GPU]", required=False)
@output_options(TABLE)
@arch_file_option
def command(name: str | None, form: str, output: str | None, arch_files: tuple[str, ...]) -> int:
    """List the GPUs, or show one."""
    extra = [Path(p) for p in arch_files]
    if name is None:
        gpus = arch.load_all(extra)
        text = gpu_table(gpus) if form == "table" else _json([gpu_dict(g) for g in gpus])
    else:
        gpu = arch.load(name, extra=extra)
        text = gpu_page(gpu) if form == "table" else _json(gpu_dict(gpu))
    with text_output(output) as stream:
        stream.write(visible_lines(text))
    return 0


def _json(value: object) -> str:
    return json_text(value, indent=1) + "\n"

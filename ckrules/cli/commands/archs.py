"""List the GPUs, or show one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ckrules import arch
from ckrules.cli.options import arch_file_option
from ckrules.engine.errors import unknown
from ckrules.reports.gpus import gpu_dict, gpu_page, gpu_table

_FORMATS = ("table", "json")


@click.command()
@click.argument("name", metavar="[GPU]", required=False)
@click.option("--format", "form", metavar="|".join(_FORMATS), default="table", help="[table]")
@arch_file_option
def command(name: str | None, form: str, arch_files: tuple[str, ...]) -> int:
    """List the GPUs, or show one."""
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    extra = [Path(p) for p in arch_files]
    if name is None:
        gpus = arch.load_all(extra)
        text = gpu_table(gpus) if form == "table" else _json([gpu_dict(g) for g in gpus])
    else:
        gpu = arch.load(name, extra=extra)
        text = gpu_page(gpu) if form == "table" else _json(gpu_dict(gpu))
    sys.stdout.write(text)
    return 0


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"

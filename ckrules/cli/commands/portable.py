"""Count, list or sample the configurations that are legal on several GPUs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ckrules.cli.answers import name_or_text
from ckrules.cli.options import Request, space_options
from ckrules.cli.output import text_output
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError, unknown
from ckrules.selection import select

_FORMATS = ("names", "jsonl", "json")

EPILOG = """\b
Without --limit or --sample the points are counted only. Points have every
field but arch.

\b
Examples:
  ckrules portable --arch gfx90a,gfx942,gfx950 --variant forward --dtype fp16
  ckrules portable --arch gfx942,gfx1201 --variant bwd_weight --sample 5 --seed 1

\b
Exit codes: 0 there are some, 1 there are none, 2 bad input.
"""


@click.command(epilog=EPILOG)
@space_options
@click.option("--limit", type=click.IntRange(min=0), help="List so many points.")
@click.option("--sample", "sampled", type=click.IntRange(min=0), help="Draw so many points.")
@click.option("--seed", type=int, default=0, help="Seed of --sample [0].")
@click.option("--format", "form", metavar="|".join(_FORMATS), default="names", help="[names]")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
def command(
    request: Request,
    limit: int | None,
    sampled: int | None,
    seed: int,
    form: str,
    output: str | None,
) -> int:
    """Count, list or sample the configurations that are legal on several GPUs."""
    from ckrules.reasoning.difference import portable
    from ckrules.reasoning.sides import Side

    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    if limit is not None and sampled is not None:
        raise UsageError("--limit and --sample exclude each other")
    archs = tuple(dict.fromkeys(map(request.books.plain_arch, request.given.get("arch", ()))))
    if len(archs) < 2:
        raise UsageError("portable needs two or more GPUs, as in --arch gfx942,gfx950")
    sides = []
    for gpu in archs:
        part = select(request.books, {**request.given, "arch": (gpu,)}, request.where)
        sides.append(Side(gpu, part.book, dict(part.bound), part.where))
    space, _ = portable(sides)
    count = space.count()
    points: Iterator[Mapping[str, Any]] = iter(())
    if sampled is not None:
        points = iter(space.sample(sampled, seed))
    elif limit is not None:
        points = itertools.islice(iter(space), limit)
    with text_output(output) as stream:
        if form == "json":
            whole = {**request.to_dict(), "arch": list(archs), "count": count}
            if limit is not None or sampled is not None:
                whole["points"] = list(points)
            stream.write(json.dumps(whole) + "\n")
        elif limit is None and sampled is None:
            stream.write(f"{count}\n")
        else:
            for p in points:
                stream.write((name_or_text(p) if form == "names" else json.dumps(p)) + "\n")
    if form != "json":
        note(f"{count:,} points are legal on all of {', '.join(archs)}")
    return 0 if count else 1

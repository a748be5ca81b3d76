"""Count, list or sample the configurations that are legal on several GPUs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping
from typing import Any

import click

from ckrules.cli.answers import name_or_text
from ckrules.cli.formats import output_options
from ckrules.cli.once import option
from ckrules.cli.options import limit_option
from ckrules.cli.output import text_output
from ckrules.cli.request import Request
from ckrules.cli.space_options import space_options
from ckrules.cli.terminal import note, waiting
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text, visible

Point = Mapping[str, Any]
_FORMATS = {"names": (".txt", ".names"), "jsonl": (".jsonl", ".ndjson"), "json": (".json",)}

GROUP = "check"


@click.command()
@space_options
@limit_option
@option("--sample", "sampled", type=click.IntRange(min=0), help="Number of configurations to draw.")
@option("--seed", type=int, help="Seed of --sample [0].")
@output_options(_FORMATS)
def command(
    request: Request,
    limit: int | None,
    sampled: int | None,
    seed: int | None,
    form: str,
    output: str | None,
) -> int:
    """Count, list or sample the configurations that are legal on several GPUs."""
    if limit is not None and sampled is not None:
        raise UsageError("--limit and --sample exclude each other")
    if seed is not None and sampled is None:
        raise UsageError("--seed goes with --sample")
    sides = request.each("arch")
    if len(sides) < 2:
        raise UsageError("portable needs two or more GPUs, as in --arch gfx942,gfx950")
    archs, requests = list(sides), list(sides.values())
    made = _listed if request.by_catalog else _legal
    with waiting("looking for kernels that all GPUs take"):
        count, points = made(requests, limit, (sampled, seed or 0) if sampled is not None else None)
    with text_output(output) as stream:
        if form == "json":
            whole = {**request.to_dict(), "arch": list(archs), "count": count}
            if limit is not None or sampled is not None:
                whole["points"] = list(points)
            stream.write(json_text(whole) + "\n")
        elif limit is None and sampled is None:
            stream.write(f"{count}\n")
        else:
            for p in points:
                whole = {**p, "ck": requests[0].books.ck}
                text = visible(name_or_text(p)) if form == "names" else json_text(whole)
                stream.write(text + "\n")
    if form != "json":
        are = "configuration is" if count == 1 else "configurations are"
        note(f"{count:,} {are} {_what(request)} on all of {', '.join(archs)}")
    return 0 if count else 1


def _what(request: Request) -> str:
    return f"in catalog {request.listing.catalog.name}" if request.listing is not None else "legal"


def _legal(
    sides: list[Request], limit: int | None, sampled: tuple[int, int] | None
) -> tuple[int, Iterable[Point]]:
    """The points that are legal on every side: their number, and the ones that are asked for."""
    from ckrules.reasoning.difference import portable

    space, _ = portable([side.region for side in sides])
    if sampled is not None:
        return space.count(), space.sample(*sampled)
    return space.count(), itertools.islice(iter(space), limit or 0)


def _listed(
    sides: list[Request], limit: int | None, sampled: tuple[int, int] | None
) -> tuple[int, Iterable[Point]]:
    """The same of a catalog's points, of every family, in the order of the first side's list."""
    lists = [side.listing.points for side in sides if side.listing is not None]
    bare = [{tuple(q.items()): q for q in map(_without_gpu, points)} for points in lists]
    common = [q for key, q in bare[0].items() if all(key in other for other in bare[1:])]
    if sampled is None:
        return len(common), common[: limit or 0]
    n, seed = sampled
    return len(common), random.Random(seed).sample(common, min(n, len(common)))


def _without_gpu(point: Point) -> Point:
    return {k: v for k, v in point.items() if k != "arch"}

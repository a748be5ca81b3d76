"""Draw how a kernel divides its block tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import click

from ckrules.arch import Gpu
from ckrules.cli.answers import Writer, configurations, title_of
from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.once import option
from ckrules.cli.options import OneOf, arch_option, rule_options
from ckrules.cli.output import text_output
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import family_of
from ckrules.pictures import tile_map
from ckrules.pictures.lds import KINDS
from ckrules.support.errors import UsageError

GROUP = "explore"

_TILE = "tile"


@click.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@arch_option
@output_options({**TEXT, "svg": (".svg",)})
@option(
    "--of",
    "kind",
    type=OneOf([_TILE, *KINDS]),
    help="What an SVG shows: block tiles, lanes that load A or B, or A or B in LDS [tile].",
)
@rule_options
def command(
    configs: tuple[str, ...],
    books: Books,
    archs: tuple[str, ...],
    form: str,
    output: str | None,
    kind: str | None,
) -> int:
    """Draw which wave computes what of a block tile, and what lanes load."""
    items = configurations(configs, books, archs)
    if form == "svg":
        if len(items) != 1:
            raise UsageError(f"an SVG shows one kernel, not {len(items)}")
        with text_output(output) as stream:
            stream.write(_drawn(items[0], books.at(items[0].ck), kind or _TILE))
        return 0
    if kind is not None:
        raise UsageError("--of is for pictures: give -o FILE.svg or --format svg")
    drawn = [(item, _picture(item, books.at(item.ck))) for item in items]

    def lines() -> Iterator[str]:
        for number, (item, picture) in enumerate(drawn):
            if number:
                yield ""
            yield title_of(item)
            yield from picture

    answer = [{"name": i.name, "arch": i.point["arch"], "picture": p} for i, p in drawn]
    Writer(form, output)(answer, lines())
    return 0


def _drawn(item: Config, books: Books, kind: str) -> str:
    """The picture that the page of a kernel has, as the text of an SVG file."""
    family, gpu = family_of(item.variant), _gpu(item, books)
    if kind == _TILE:
        tiles = family.block_maps(item.point)
        if not tiles:
            raise UsageError(f"there are no pictures of {family.name} kernels")
        return tile_map.standalone(tiles, title_of(item))
    from ckrules.pictures import drawing, lds

    drawing.require()
    way = family.lds_map(item.point, books.of(item.variant).vocabulary, gpu)
    if isinstance(way, str):
        raise UsageError(f"{kind} cannot be drawn: {way}")
    return drawing.drawn(lds.picture(way, kind), "svg").decode()


def _gpu(item: Config, books: Books) -> Gpu:
    return cast("Gpu", books.gpu(str(item.point["arch"])))


def _picture(item: Config, books: Books) -> list[str]:
    book, family = books.of(item.variant), family_of(item.variant)
    found = family.picture(item.point, book.resources(item.point), _gpu(item, books))
    if found is None:
        raise UsageError(f"there are no pictures of {family.name} kernels")
    return found

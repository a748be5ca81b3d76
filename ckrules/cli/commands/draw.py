"""Draw how a kernel divides its block tile."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ckrules.cli.answers import (
    Writer,
    answer_options,
    configurations,
    title_of,
)
from ckrules.cli.options import arch_option, rule_options
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import family_of
from ckrules.support.errors import UsageError

GROUP = "explore"

EPILOG = """\b
Examples:
  ckrules draw --arch gfx942 grouped_conv_fwd_fp16_nhwgc_2d_compv4_...
  ckrules draw kernels.ck.json#/kernels/3
"""


@click.command(epilog=EPILOG)
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@arch_option
@answer_options
@rule_options
def command(configs: tuple[str, ...], books: Books, archs: tuple[str, ...], write: Writer) -> int:
    """Draw which wave computes what of a block tile, and what lanes load."""
    items = configurations(configs, books, archs)
    drawn = [(item, _picture(item, books.at(item.ck))) for item in items]

    def lines() -> Iterator[str]:
        for number, (item, picture) in enumerate(drawn):
            if number:
                yield ""
            yield title_of(item)
            yield from picture

    write([{"name": i.name, "arch": i.point["arch"], "picture": p} for i, p in drawn], lines())
    return 0


def _picture(item: Config, books: Books) -> list[str]:
    book, family = books.of(item.variant), family_of(item.variant)
    gpu = next(g for g in books.gpus if g.name == item.point["arch"])
    found = family.picture(item.point, book.resources(item.point), gpu)
    if found is None:
        raise UsageError(f"there are no pictures of {family.name} kernels")
    return found

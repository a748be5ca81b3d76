"""Find the nearest legal configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from ckrules.cli.answers import (
    Writer,
    answer_options,
    configurations,
    name_or_text,
    source_lines,
    timeout_option,
    title_of,
)
from ckrules.cli.options import Words, rule_options
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.text import literal
from ckrules.selection import Books

#: What a kernel is for; another GPU or dtype would not repair it.
PURPOSE = ("variant", "arch", "dtype", "ndim", "layout")

EPILOG = """\b
Nearest: fewest changed fields, then fewest steps from candidate value to
candidate value. variant, arch, dtype, ndim and layout keep their values unless
--free names them. No legal configuration that is left out is nearer.

\b
Examples:
  ckrules fix --arch gfx1201 grouped_conv_fwd_fp16_nhwgc_2d_compv4_...
  ckrules fix kernel.json --keep pipeline,tile_m -n 5 --weight vector_c=3

\b
Exit codes: 0 found, 1 nothing legal keeps these fields, 2 bad input, 4 undecided.
"""


@click.command(epilog=EPILOG)
@click.argument("config")
@click.option("--arch", metavar="GPU", help="GPU of a configuration that names none.")
@click.option("--keep", type=Words(), multiple=True, help="Fields that keep their value.")
@click.option("--free", type=Words(), multiple=True, help="Fields that may change after all.")
@click.option("-n", "--n", "n", type=click.IntRange(min=1), default=1, help="How many [1].")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="FIELD=N",
    help="What changing a field costs [1]. Repeatable.",
)
@timeout_option(60)
@answer_options
@rule_options
def command(
    config: str,
    books: Books,
    arch: str | None,
    keep: tuple[tuple[str, ...], ...],
    free: tuple[tuple[str, ...], ...],
    n: int,
    weights: tuple[str, ...],
    timeout: float,
    write: Writer,
) -> int:
    """Find the nearest legal configurations."""
    from ckrules.reasoning.nearest import fix

    items = configurations([config], books, arch)
    if len(items) != 1:
        raise UsageError(f"one configuration is needed, not {len(items)}")
    item = items[0]
    book = books.of(item.variant)
    freed = {f for words in free for f in words}
    for name in sorted(freed - book.fields.keys()):
        raise unknown("field", name, book.fields)
    kept = [f for f in PURPOSE if f in book.fields and f not in freed]
    kept += [f for words in keep for f in words]
    found = fix(book, item.point, n=n, keep=kept, weights=_weights(weights), timeout=timeout)

    def lines() -> Iterator[str]:
        yield title_of(item)
        for number, one in enumerate(found.fixes, 1):
            what = "already legal" if not one.changes else f"{_many(len(one.changes), 'change')}"
            yield f"  {number}. {what}: {name_or_text(one.point)}"
            for c in one.changes:
                yield f"       - {c.field} = {literal(c.before)}"
                yield f"       + {c.field} = {literal(c.after)}"
        if found.obstacle is not None:
            yield f"  nothing legal keeps {', '.join(found.kept)}"
            yield f"  {found.obstacle.sentence()}"
            yield from source_lines(found.obstacle.rules)
        elif found.complete and len(found.fixes) < n:
            yield f"  there are no more than {len(found.fixes)}"

    write({"name": item.name, **found.to_dict()}, lines())
    return 0 if found.fixes else 1


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _weights(texts: Sequence[str]) -> dict[str, int] | None:
    out: dict[str, Any] = {}
    for text in texts:
        name, sign, number = text.partition("=")
        if not sign or not number.strip().isdecimal() or len(number) > 6:
            raise UsageError(f"--weight {text!r} is not of the form FIELD=N with a whole number")
        out[name.strip()] = int(number)
    return out or None

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
from ckrules.cli.options import Words, arch_option, option, rule_options
from ckrules.engine.expr.printer import literal
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count

GROUP = "check"

EPILOG = """\b
Nearest: cheapest changed fields, then fewest steps from candidate value to
candidate value. Flags cost 1 or 2, vectors 3, warp tiles and waves 6 and 7, the
block tile 16 and the pipeline 20, as in `ckrules check`. variant, arch, dtype,
ndim and layout keep their values unless --free names them. No fix has all
changes of another one, and none that is left out is nearer.

\b
Examples:
  ckrules fix --arch gfx1201 grouped_conv_fwd_fp16_nhwgc_2d_compv4_...
  ckrules fix kernel.json --keep pipeline,tile_m -n 5 --weight vector_c=3

\b
Exit codes: 0 found, 1 nothing legal keeps these fields, 2 bad input, 4 undecided.
"""


@click.command(epilog=EPILOG)
@click.argument("config")
@arch_option
@option("--keep", type=Words(), multiple=True, help="Fields that keep their value.")
@option("--free", type=Words(), multiple=True, help="Fields that may change after all.")
@option(
    "-n", "--limit", "n", type=click.IntRange(min=1), default=1, help="So many fixes at most [1]."
)
@option(
    "--weight",
    "weights",
    multiple=True,
    metavar="FIELD=N",
    help="What changing a field costs, instead of the above. Repeatable.",
)
@timeout_option(60)
@answer_options
@rule_options
def command(
    config: str,
    books: Books,
    archs: tuple[str, ...],
    keep: tuple[tuple[str, ...], ...],
    free: tuple[tuple[str, ...], ...],
    n: int,
    weights: tuple[str, ...],
    timeout: float,
    write: Writer,
) -> int:
    """Find the nearest legal configurations."""
    from ckrules.reasoning.nearest import fix

    items = configurations([config], books, archs)
    if len(items) != 1:
        hint = ": FILE#/kernels/3 is one of a file" if len(items) > 1 else ""
        raise UsageError(f"one configuration is needed, not {len(items)}{hint}")
    item = items[0]
    books = books.at(item.ck)
    book = books.of(item.variant)
    freed = {f for words in free for f in words}
    for name in sorted(freed - book.fields.keys()):
        raise unknown("field", name, book.fields)
    kept = [f for f in _purpose(book, item.variant) if f not in freed]
    kept += [f for words in keep for f in words]
    found = fix(book, item.point, n=n, keep=kept, weights=_weights(weights), timeout=timeout)

    def lines() -> Iterator[str]:
        yield title_of(item)
        for number, one in enumerate(found.fixes, 1):
            what = "already legal" if not one.changes else count(len(one.changes), "change")
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

    write({"ck": books.ck, "name": item.name, **found.to_dict()}, lines())
    return 0 if found.fixes else 1


def _purpose(book: RuleBook, variant: str) -> list[str]:
    """What a kernel is for, and what follows from it: another GPU would not be a repair."""
    always = library.defaults(variant)
    domains = [domain_of(field) for field in book.fields.values()]
    dims = next((d.values for d in domains if d.name == "ndim"), ())
    follow = {f for n in dims for f in library.defaults(variant, n) if f not in always}
    return [d.name for d in domains if d.role is Role.PURPOSE or d.name in follow]


def _weights(texts: Sequence[str]) -> dict[str, int] | None:
    out: dict[str, Any] = {}
    for text in texts:
        name, sign, number = text.partition("=")
        if not sign or not number.strip().isdecimal() or len(number) > 6:
            raise UsageError(f"--weight {text!r} is not of the form FIELD=N with an integer")
        out[name.strip()] = int(number)
    return out or None

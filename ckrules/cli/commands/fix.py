"""Find the nearest legal configurations."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from ckrules.cli.answers import (
    PointOfBook,
    Writer,
    answer_options,
    configurations,
    name_or_text,
    point_in,
    source_lines,
    timeout_option,
)
from ckrules.cli.once import option
from ckrules.cli.options import Words, arch_option, once_each, rule_options
from ckrules.cli.request import Request
from ckrules.cli.terminal import waiting
from ckrules.engine.expr.printer import literal
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.readers.space_file import is_space
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count

GROUP = "check"


@click.command()
@click.argument("config", metavar="CONFIG | FILE POINT")
@click.argument("point", metavar="", required=False)
@arch_option
@option(
    "--where",
    multiple=True,
    metavar="EXPR",
    help="A condition over the variables of FILE. Repeatable: all must hold.",
)
@option("--keep", type=Words(), multiple=True, help="Fields that keep their value.")
@option("--free", type=Words(), multiple=True, help="Fields that may change after all.")
@option(
    "-n", "--limit", "n", type=click.IntRange(min=1), default=1, help="Maximum number of fixes [1]."
)
@option(
    "--weight",
    "weights",
    multiple=True,
    metavar="FIELD=N",
    help="What changing a field costs, instead of the above. Repeatable.",
)
@timeout_option(60, "to look for them")
@answer_options
@rule_options
def command(
    config: str,
    point: str | None,
    where: tuple[str, ...],
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

    if point is not None or is_space(config):
        item, purpose = _of_file(config, point, Request(books, _where=where), archs), []
    elif where:
        raise UsageError("--where goes with a file that describes a space")
    else:
        item = _configuration(config, books, archs)
        purpose = _purpose(item.book, str(item.point["variant"]))
    freed = {f for words in free for f in words}
    for name in sorted(freed - item.book.fields.keys()):
        raise unknown("field", name, item.book.fields)
    held = [f for words in keep for f in words]
    if both := next((f for f in held if f in freed), None):
        raise UsageError(f"--keep and --free both say {both}")
    kept = [*(f for f in purpose if f not in freed), *held]
    costs = once_each("--weight", map(_weight, weights)) or None
    with waiting("looking for the nearest legal kernels"):
        found = fix(item.book, item.point, n=n, keep=kept, weights=costs, timeout=timeout)

    def lines() -> Iterator[str]:
        yield item.title
        for number, one in enumerate(found.fixes, 1):
            what = "already legal" if not one.changes else count(len(one.changes), "change")
            yield f"  {number}. {what}: {name_or_text(one.point)}"
            for c in one.changes:
                yield f"       - {c.field} = {literal(c.before)}"
                yield f"       + {c.field} = {literal(c.after)}"
        if found.obstacle is not None:
            clean = all(r.severity == "error" for r in found.obstacle.rules)
            what = "legal" if clean else "legal without a warning"
            yield f"  nothing {what} keeps {', '.join(found.kept) or 'anything'}"
            yield f"  {found.obstacle.sentence()}"
            yield from source_lines(found.obstacle.rules)
        elif found.complete and len(found.fixes) < n:
            yield f"  there are no more than {len(found.fixes)}"
        elif found.undecided:
            yield f"  undecided whether there are more: {found.undecided}"

    write({**item.named, **found.to_dict()}, lines())
    if found.undecided:
        return 4
    return 0 if found.fixes else 1


def _configuration(config: str, books: Books, archs: tuple[str, ...]) -> PointOfBook:
    items = configurations([config], books, archs)
    if len(items) != 1:
        hint = ": its name says which, or FILE#/kernels/3 of JSON and TOML" if items else ""
        if len(archs) > 1 and len({c.name for c in items}) == 1:
            hint = ": give one GPU"
        raise UsageError(f"one configuration is needed, not {len(items)}{hint}")
    return PointOfBook.of(items[0], books)


def _of_file(file: str, point: str | None, request: Request, archs: tuple[str, ...]) -> PointOfBook:
    if point is None:
        raise UsageError("missing POINT: a JSON object, or a file with one")
    if file != "-" and not os.path.lexists(file):
        raise UsageError(f"one configuration is needed, or FILE POINT: {file} is not a file")
    if archs:
        raise UsageError("--arch does not go with a file that describes a space")
    return point_in(request.of_file(file), [point])


def _purpose(book: RuleBook, variant: str) -> list[str]:
    """What a kernel is for, and what follows from it: another GPU would not be a repair."""
    always = library.defaults(variant)
    domains = [domain_of(field) for field in book.fields.values()]
    dims = next((d.values for d in domains if d.name == "ndim"), ())
    follow = {f for n in dims for f in library.defaults(variant, n) if f not in always}
    return [d.name for d in domains if d.role is Role.PURPOSE or d.name in follow]


def _weight(text: str) -> tuple[str, int]:
    name, sign, number = text.partition("=")
    if not sign or not number.strip().isdecimal() or len(number) > 6:
        raise UsageError(f"--weight {text!r} is not of the form FIELD=N with an integer")
    return name.strip(), int(number)

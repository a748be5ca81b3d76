"""Which fields of a family pictures show: ways of computing first, then sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckrules.engine.expr.variables import Role, domain_of
from ckrules.pictures.counting import telling

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook
    from ckrules.engine.space import Space


def ordered(book: RuleBook) -> list[str]:
    """The fields of a book: method, geometry, purpose, features.

    >>> from ckrules.constraints import book
    >>> ordered(book("forward"))[:4]
    ['pipeline', 'scheduler', 'epilogue', 'tile_m']
    """
    roles = [Role.METHOD, Role.GEOMETRY, Role.PURPOSE, Role.FEATURE]
    domains = {n: domain_of(v) for n, v in book.fields.items()}
    return sorted(domains, key=lambda n: roles.index(domains[n].role))


def of_role(book: RuleBook, *roles: Role) -> list[str]:
    """The fields of some roles, in `ordered`'s order."""
    return [n for n in ordered(book) if domain_of(book.fields[n]).role in roles]


def to_count(book: RuleBook, space: Space) -> list[str]:
    """A few fields that points are counted by."""
    purposes = telling(space, of_role(book, Role.PURPOSE), 2)
    return [*purposes, *telling(space, of_role(book, Role.METHOD), 3)] or telling(
        space, ordered(book), 2
    )


def pair(book: RuleBook, space: Space) -> tuple[str, str] | None:
    """Two sizes that make a map, the rows' first; None where no two vary."""
    found = telling(space, of_role(book, Role.GEOMETRY), 2) or []
    found = found if len(found) == 2 else telling(space, ordered(book), 2)
    return (found[0], found[1]) if len(found) == 2 else None

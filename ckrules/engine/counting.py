"""Counts of points by the values of fields and derived quantities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr.variables import domain_of
from ckrules.engine.slices import Listing
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.diagram.tally import Counts

#: Groups up to which they are counted.
MOST = 1_000_000


def counts_by(space: Listing, fields: Sequence[str], bind: Callable[..., Any]) -> dict[Any, int]:
    """The number of points for each combination of the fields' values (see `Space.counts_by`).

    Args:
        fields: What they are counted by.
        bind: `Space.bind` of the space.
    """
    known = {**space.vocabulary, **space.codec.variables}
    for name in fields:
        if not isinstance(name, str) or name not in known:
            raise unknown("field", name, known)
    if not fields or len(set(fields)) < len(fields):
        raise UsageError("counts are by one field, or by several different ones")
    plain = all(name in space.domains for name in fields)
    if plain and len(fields) == 1:
        (name,) = fields
        histogram = space.compile().histogram(name)
        return dict(zip(space.domains[name], histogram, strict=True))
    if plain and len(fields) == 2:
        return _pairs(space, *fields)
    from ckrules.engine.diagram.tally import in_order

    found = in_order(_tallied(space, fields, bind), [_candidates(space, name) for name in fields])
    return {v[0]: n for v, n in found.items()} if len(fields) == 1 else dict(found)


def _pairs(space: Listing, a: str, b: str) -> dict[Any, int]:
    rows = space.compile().histogram2(a, b)
    return {
        (x, y): n
        for x, row in zip(space.domains[a], rows, strict=True)
        for y, n in zip(space.domains[b], row, strict=True)
    }


def _candidates(space: Listing, name: str) -> Sequence[Any] | None:
    """What orders the values of a field; those of a derived quantity are ordered as they are."""
    variable = space.codec.variables.get(name)
    return None if variable is None else (*space.domains[name], *domain_of(variable).values)


def _tallied(space: Listing, fields: Sequence[str], bind: Callable[..., Any]) -> Counts:
    """The counts; where that is too much at once, value by value of the first plain field."""
    from ckrules.engine.diagram.errors import BudgetExceededError
    from ckrules.engine.diagram.tally import tally

    nodes = [space.codec.variables.get(n, space.vocabulary[n]) for n in fields]
    try:
        found = tally(space.compile(), space.domains, nodes)
    except BudgetExceededError as error:
        plain = [n for n in fields if len(space.domains.get(n, ())) > 1]
        if not plain:
            raise UsageError(f"{_said(fields)}: {error}: count a part of the space") from None
        found = {}
        for value in space.domains[plain[0]]:
            part = bind(**{plain[0]: value})
            found |= _tallied(part, fields, part.bind)
    if len(found) > MOST:
        raise UsageError(
            f"{_said(fields)}: more than {MOST:,} groups: count a part of the space or fewer fields"
        )
    return found


def _said(fields: Sequence[str]) -> str:
    return f"counting by {', '.join(fields)}"

"""Of each set of points that are the same, one stays: the first of those asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.engine import expr as e
from ckrules.engine.expr.variables import Bool, Int
from ckrules.engine.rules.alike import Alike, canonical, keys
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError

from . import spaces as sp

A, B, FLAG, HAS = Int("a", [1, 2, 4]), Int("b", [1, 2, 4]), Bool("f"), Int("has", [1, 2, 4])
FIELDS: list[Any] = [A, B, FLAG, HAS]
KNOWN = [
    Alike("narrowed-a", "a", (e.minimum(A, HAS),)),
    Alike("narrowed-b", "b", (e.minimum(B, 2),), HAS > 1),
    Alike("flag-unread", "f", (), HAS != 2),
]
KEY = keys(KNOWN)


@settings(max_examples=150, deadline=None)
@given(sp.conditions(FIELDS), sp.conditions(FIELDS))
def test_each_set_asked_for_has_one_first(one: Any, other: Any) -> None:
    """Whatever conditions ask for, also such as tie alike fields together."""
    asked = Space(FIELDS).where(one, other)
    kept = asked.where(*canonical(KNOWN, {"a": A, "b": B, "f": FLAG}, asked.domains, [one, other]))
    sets = Counter(KEY(p) for p in kept)

    assert set(sets.values()) <= {1}
    assert sets.keys() == {KEY(p) for p in asked}


def test_too_many_tied_values_are_refused() -> None:
    fields = [Int(n, range(40)) for n in "ab"]
    known = [Alike(f"any-{n}", n, ()) for n in "ab"]
    named = dict(zip("ab", fields, strict=True))
    space = Space(fields)
    first = canonical(known, named, space.domains, [fields[0] > 3])
    assert space.where(fields[0] > 3, *first).to_tuples() == [(4, 0)]
    with pytest.raises(UsageError, match="conditions tie a, b together: fix some of them"):
        canonical(known, named, space.domains, [fields[0] < fields[1]])

"""Counts of the real rule books equal brute force on reduced domains."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from ckrules import constraints
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import variants

_CELLS = 8_000


def reduced(book: RuleBook, seed: int) -> dict[str, list[Any]]:
    """A few values a field, taken from legal points so that many combinations are legal."""
    chance = random.Random(seed)
    first, *others = book.space().sample(6, seed=seed)
    kept = {n: [first[n]] for n in book.fields}
    size = 1
    for point in others:
        for name in chance.sample(list(book.fields), len(book.fields)):
            values = kept[name]
            grown = size // len(values) * (len(values) + 1)
            if point[name] not in values and grown <= _CELLS:
                values.append(point[name])
                size = grown
    return kept


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("variant", "ck"),
    [("forward", "2025.11"), ("forward", "2026.06"), ("forward_depthwise", "2026.06")],
)
def test_count_equals_brute_force(variant: str, ck: str, seed: int) -> None:
    """Binding the whole space, and compiling the reduced one, both count what a loop counts."""
    book = constraints.book(variant, ck=ck)
    kept = reduced(book, seed)
    holds = compile_function([r.condition for r in book.rules])
    points = [dict(zip(kept, v, strict=True)) for v in itertools.product(*kept.values())]
    legal = [p for p in points if all(holds(p))]

    assert legal
    assert len(legal) == book.space(**kept).count()
    assert len(legal) == book.space().bind(**kept).count()


#: Their rules are those of the variant `standard`, but for a few.
_LIKE_STANDARD = ("batched", "grouped", "multi_d")


@pytest.mark.parametrize(
    "variant",
    [pytest.param(v, marks=[pytest.mark.certify] * (v in _LIKE_STANDARD)) for v in variants()],
)
def test_parts_of_a_count_add_up(variant: str) -> None:
    """The counts by GPU of a variant add up to its count."""
    space = constraints.book(variant).space(variant=variant)

    assert space.count() == sum(space.counts_by("arch").values())

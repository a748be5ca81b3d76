"""Spaces of random restrictions against brute force; CKRULES_FUZZ=long asks for 5,000 of them.

The answer at one point is the pointwise back end's, which `test_restrictions` holds against
Python. Here all points, several restrictions and two spaces at a time are asked about, compiled
both ways: as truth tables, and simplified into layers as spaces of large domains are.
"""

from __future__ import annotations

import os
import warnings
from itertools import product
from random import Random
from typing import Any

import pytest

from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.diagram import compiler, problem
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.restrictions import book_of
from ckrules.engine.rules.region import Region
from ckrules.engine.space import Space
from ckrules.reasoning.difference import diff
from ckrules.support.errors import CkrulesError

from .restrictions import Domains, Texts, domains

pytestmark = pytest.mark.whole

LONG = os.environ.get("CKRULES_FUZZ") == "long"
CHUNKS = 10
EACH = 250 if LONG else 12  # spaces of a chunk and way


@pytest.fixture(params=["tables", "layers"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "layers":
        monkeypatch.setattr(compiler, "CELLS", 0)
        monkeypatch.setattr(problem, "_DIRECT", -1)
    return str(request.param)


def _bits(random: Random, texts: Texts) -> str:
    """A condition on bits of integers, which few of the others reach."""
    a, b = (random.choice(texts.whole or ["3"]) for _ in range(2))
    sign, other = random.choice(["<<", ">>", "&", "|", "^"]), random.choice(["&", "|", "^", "+"])
    right = f"({b} & 7)" if sign in ("<<", ">>") else b
    compared = random.choice(["==", "!=", "<", ">="])
    return f"(({a} {sign} {right}) {other} {texts.literal()}) {compared} {texts.number(1)}"


def _space(random: Random, given: Domains) -> Space | None:
    """A space of up to three restrictions; None where one is refused."""
    texts = Texts(random, given)
    made = [
        _bits(random, texts) if random.random() < 0.4 else texts.condition(2)
        for _ in range(random.randint(1, 3))
    ]
    try:
        space = space_of(given, made)
        space.count()
    except CkrulesError:
        return None
    return space


def _legal(space: Space) -> list[tuple[Any, ...]]:
    points = (dict(zip(space.names, p, strict=True)) for p in product(*space.domains.values()))
    return [tuple(p.values()) for p in points if all(map(At(p).holds, space.conditions))]


def _wrong(space: Space, random: Random) -> list[str]:
    """What a space answers otherwise than its restrictions do point by point."""
    legal = _legal(space)
    listed = [tuple(p.values()) for p in space]
    field = random.choice(space.names)
    at = space.names.index(field)
    values = list(space.domains[field])
    some = random.sample(values, random.randint(1, len(values)))
    checks = {
        "count": space.count() == len(legal),
        "list": sorted(map(str, listed)) == sorted(map(str, legal)),
        "index": [space.index(space[i]) for i in range(len(legal))] == [*range(len(legal))],
        "contains": all(p in space and not space.violations(p) for p in space),
        "bind": space.bind(**{field: some}).count() == sum(p[at] in some for p in legal),
        "cold bind": Space(space.codec.variables.values(), space.rules, fixed={field: some}).count()
        == sum(p[at] in some for p in legal),
    }
    return [name for name, right in checks.items() if not right]


def _differs(one: Space, other: Space) -> list[str]:
    """What `diff` of two spaces says otherwise than their lists."""
    a, b = set(_legal(one)), set(_legal(other))
    found = diff(Region(book_of(one)), Region(book_of(other)))
    counts = found.only_a.count, found.both, found.only_b.count
    right = counts == (len(a - b), len(a & b), len(b - a)) and found.equal == (a == b)
    return [] if right else [f"diff {counts}"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_spaces_are_what_brute_force_lists(chunk: int) -> None:
    """Counts, lists, numbers, members, bound fields and differences; nothing may differ."""
    random = Random(chunk + 1000 * LONG)
    compared, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(EACH):
            given = domains(random)
            made = [s for s in (_space(random, given), _space(random, given)) if s is not None]
            for space in made:
                compared += 1
                shown = f"{given} {[r.name for r in space.numbered]}"
                wrong += [f"{shown}: {what}" for what in _wrong(space, random)]
            if len(made) == 2:
                shown = f"{given} {[[r.name for r in s.numbered] for s in made]}"
                wrong += [f"{shown}: {what}" for what in _differs(*made)]
    assert wrong == []
    assert compared > EACH // 2

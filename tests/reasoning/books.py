"""Small random rule books whose whole product of candidates can be listed."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import strategies as st

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.variables import Bool, Enum, Int, domain_of
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook, Vocabulary

A = Int("a", [1, 2, 3, 4, 6], lo=0, hi=12)
B = Int("b", [0, 1, 2, 4], lo=0, hi=12)
C = Int("c", [16, 8, 32], lo=0, hi=64)
W = Enum("w", ["mem", "compv3", "off"])
F = Bool("f")
VARIABLES = (A, B, C, W, F)


def _conditions() -> st.SearchStrategy[BoolExpr]:
    numbers = st.sampled_from([A, B, C, A * B, A + B, C // A, C % B, A * 4])
    atoms = st.one_of(
        st.builds(lambda x, n: x >= n, numbers, st.integers(0, 16)),
        st.builds(lambda x, n: x <= n, numbers, st.integers(0, 16)),
        st.builds(lambda x, y: x != y, numbers, numbers),
        st.builds(lambda x, y: x % y == 0, numbers, numbers),
        st.sampled_from([W == "mem", W != "off", F, ~F]),
    )
    return st.one_of(
        atoms,
        st.builds(lambda x, y: x | y, atoms, atoms),
        st.builds(lambda x, y: x.implies(y), atoms, atoms),
    )


def book_of(conditions: list[BoolExpr]) -> RuleBook:
    """The book with one rule for each condition."""
    rules = [Rule(f"RULE{k:03}", f"rule-{k}", "compile", c) for k, c in enumerate(conditions, 1)]
    return RuleBook("toy", Vocabulary(VARIABLES), rules, check=False)


def books(most: int = 5) -> st.SearchStrategy[RuleBook]:
    """Books of one to ``most`` rules."""
    return st.lists(_conditions(), min_size=1, max_size=most).map(book_of)


def conditions() -> st.SearchStrategy[BoolExpr]:
    """Single conditions over the fields."""
    return _conditions()


def points() -> st.SearchStrategy[dict[str, Any]]:
    """Points of the fields, numbers also outside the candidates."""
    values = {
        "a": st.integers(0, 12), "b": st.integers(0, 12), "c": st.sampled_from([8, 16, 24, 32]),
        "w": st.sampled_from(["mem", "compv3", "off"]), "f": st.booleans(),
    }  # fmt: skip
    return st.fixed_dictionaries(values)


def candidates(extra: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Every combination of candidates, with a point's own values among them."""
    names = [domain_of(v).name for v in VARIABLES]
    lists = [
        tuple(
            dict.fromkeys((*domain_of(v).values, *((extra or {}).get(n, domain_of(v).values[0]),)))
        )
        for n, v in zip(names, VARIABLES, strict=True)
    ]
    return [dict(zip(names, row, strict=True)) for row in product(*lists)]


def meets(point: dict[str, Any], conditions: list[BoolExpr]) -> bool:
    """Whether the reference back end finds every condition true."""
    at = At(point)
    return all(at.holds(c) for c in conditions)

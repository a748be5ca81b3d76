"""Why, fix and lint answer about spaces as about rule books, and name the restrictions."""

from __future__ import annotations

from typing import Any

import pytest

import ckrules
from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.expr.variables import Bool, Int, Real
from ckrules.engine.restrictions import book_of
from ckrules.engine.space import Space
from ckrules.support.errors import UnknownNameError, UsageError

PARAMS: dict[str, Any] = {"a": [1, 2, 4, 8], "b": [1, 2, 3, 5], "order": [1, 2]}
RESTRICTIONS = ["a * b <= 8", lambda p: p["b"] != 3, "a >= 1"]
BAD = {"a": 8, "b": 3, "order": 1}


def _space() -> Space:
    return space_of(PARAMS, RESTRICTIONS)


def test_why_names_the_restrictions() -> None:
    found = ckrules.why(_space(), BAD)
    assert [v.rule.name for v in found.violations] == ["a * b <= 8", "b != 3"]
    assert found.violations[1].rule.sources[0].startswith(f"{__file__}:")
    assert found.core is not None
    assert found.core.sentence() == "b = 3 cannot hold under R2 (b != 3)"
    assert ckrules.why(_space(), {"a": 1, "b": 1, "order": 2}).legal
    with pytest.raises(UnknownNameError, match="did you mean 'order'"):
        ckrules.why(_space(), {"a": 1, "b": 1, "ordr": 2})


def test_why_of_bare_conditions_and_bound_variables() -> None:
    m, w, p = Int("m", [16, 32, 64]), Int("w", [1, 2, 4]), Bool("p")
    space = Space([m, w, p], [m % (w * 16) == 0]).where("p | m > 16").bind(w=[1, 4], p=False)
    found = ckrules.why(space, {"m": 16, "w": 2, "p": True})
    assert [v.rule.name for v in found.violations] == ["w in [1, 4]", "p in [False]",
                                                       "m % (w * 16) == 0"]  # fmt: skip
    empty = ckrules.why_region(space, {"m": [16]})
    assert empty.conflict is not None
    assert set(empty.conflict.codes) == {"R2", "BIND2"}


def test_fix_finds_the_nearest_points() -> None:
    space = _space()
    found = ckrules.fix(space, BAD, n=2)
    assert [f.point for f in found.fixes] == [
        {"a": 8, "b": 1, "order": 1}, {"a": 4, "b": 2, "order": 1},
    ]  # fmt: skip
    assert all(f.point in space for f in found.fixes)
    bound = space.bind(a=[4, 8])
    assert all(f.point in bound for f in ckrules.fix(bound, {**BAD, "a": 1, "b": 5}, n=3).fixes)
    stuck = ckrules.fix(space, BAD, keep=["b"])
    assert stuck.obstacle is not None
    assert stuck.obstacle.codes == ("R2",)
    with pytest.raises(UsageError, match="missing field order"):
        ckrules.fix(space, {"a": 1, "b": 1})


def test_lint_finds_what_is_wrong_with_restrictions() -> None:
    found = {(f.code, f.subject) for f in ckrules.lint(_space()).findings}
    assert found == {("LINT002", "b = 3"), ("LINT003", "R3"), ("LINT007", "order")}
    bound = ckrules.lint(_space().bind(a=[4, 8])).findings
    assert not any("BIND" in f.subject or f.subject.startswith("a ") for f in bound)


def test_the_same_restriction_twice_is_one_rule() -> None:
    space = space_of(PARAMS, ["a * b <= 8", "a * b <= 8", "b * a <= 8"])
    names = [r.name for r in book_of(space).rules]
    assert names == ["a * b <= 8", "b * a <= 8"]
    assert repr(book_of(space)) == "RuleBook('space': 3 fields, 2 rules)"


def test_questions_about_labels() -> None:
    """Values such as None and tuples could not be held: they are no words."""
    space = space_of({"block": [(16, 16), (32, 8)], "n": [None, 1, 2]}, ["n is None"])
    bad = {"block": (16, 16), "n": 1}
    found = ckrules.why(space.bind(block=(32, 8)), bad)
    assert [v.rule.name for v in found.violations] == ["block in [(32, 8)]", "n is None"]
    assert found.conflicts[1].sentence() == "n = 1 cannot hold under R1 (n is None)"
    assert ckrules.why_region(space, {"n": [1, 2]}).empty
    assert ckrules.why_region(space, {"block": [(32, 8)]}).witness == {"block": (32, 8), "n": None}
    stuck = ckrules.fix(space, bad, keep=["n"])
    assert stuck.obstacle is not None
    assert stuck.obstacle.codes == ("R1",)
    said = {(f.code, f.subject) for f in ckrules.lint(space).findings}
    assert said == {("LINT002", "n in [1, 2]"), ("LINT007", "block")}


@pytest.mark.parametrize("values", [[None, 1, 2], [1, None, 2], [True, 2, 3]])
def test_answers_about_labels_are_those_of_all_points(values: list[Any]) -> None:
    """The label None was taken for no value, and numbers among labels for other words."""
    rows = {(a, b) for k, a in enumerate(values) for j, b in enumerate(values) if (k + j) % 3 == 1}
    space = space_of({"a": values, "b": values, "r": [0.5, 1.5]}, [lambda a, b: (a, b) in rows])
    legal = {(a, b) for a, b, _ in space.to_tuples()}
    assert legal == rows
    for a in values:
        for b in values:
            point = {"a": a, "b": b, "r": 0.5}
            found = ckrules.why(space, point)
            assert found.legal == ((a, b) in rows)
            assert found.legal or "cannot hold" in found.conflicts[0].sentence()
            assert ckrules.fix(space, point).fixes[0].point in space
            assert ckrules.why_region(space, {"a": [a], "b": [b]}).empty == ((a, b) not in rows)
    assert ckrules.lint(space).undecided == ()


def test_points_beside_the_candidates_and_floats() -> None:
    """Conditions over floats were tabulated by the candidates, so that no other point met them."""
    m, r, p = Int("m", [1, 4], lo=-10, hi=20), Real("r", [0.5, 1, 2.5]), Bool("p")
    space = Space([m, r, p], [p, m <= r * 0.5])
    bad = {"m": -1, "r": 0.5, "p": False}
    assert [v.rule.name for v in ckrules.why(space, bad).violations] == ["p"]
    found = ckrules.why(space, {**bad, "m": 3, "r": 2.5})
    assert [c.sentence() for c in found.conflicts] == [
        "p = false cannot hold under R1 (p)", "m = 3 cannot hold under R2 (r * 0.5 >= m)",
    ]  # fmt: skip
    assert ckrules.why_region(space, {"m": [-1]}).witness == {"m": -1, "r": 0.5, "p": True}


@pytest.mark.parametrize("many", [4, 30])
def test_the_nearest_point_where_numbers_are_large(many: int) -> None:
    """More than 64 bits were refused, though every other answer about the space had them."""
    values = [2**20 + i for i in range(many)]
    space = space_of(dict.fromkeys("abcd", values), ["a * b * c * d % 7 == 2"])
    start = dict.fromkeys("abcd", values[0])
    (found,) = ckrules.fix(space, start).fixes
    assert found.point in space
    others = ({**start, name: value} for name in "abcd" for value in values)
    assert (len(found.changes) == 1) == any(other in space for other in others)

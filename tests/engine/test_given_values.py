"""What callers of the library give: values of numpy and of enumerations, and slips."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum as Words
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ckrules
from ckrules import (
    Bool,
    Enum,
    Int,
    Real,
    RuleBook,
    Space,
    Table,
    Vocabulary,
    isin,
    ite,
    lookup,
    rule,
)
from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.expr.variables import domain_of
from ckrules.support.errors import CkrulesError, RuleBookError, UnknownNameError, UsageError
from tests.engine.spaces import spaces

k: Any = ckrules  # whose types refuse the slips


class Dtype(StrEnum):
    FP16 = "fp16"
    FP32 = "fp32"


class Old(str, Words):  # noqa: UP042 - which older programs have
    FP16 = "fp16"


class Size(IntEnum):
    SMALL = 16
    LARGE = 32


M, W = k.Int("m", [16, 32, 64], lo=1, hi=1 << 20), k.Int("w", [1, 2, 4])
D, P, R = Bool("d"), Enum("p", ["3", "fp16"]), Real("r", [0.5, 1])
SPACE: Any = Space([M, W, D, P, R], [M * W * W <= 128])
POINT: dict[str, Any] = {"m": 16, "w": 1, "d": True, "p": "fp16", "r": 1}


class TestPlainValues:
    @pytest.mark.parametrize(
        ("variable", "plain"),
        [
            (k.Int("a", np.array([16, 32])), (16, 32)),
            (k.Int("a", list(Size), lo=np.int64(1)), (16, 32)),
            (k.Real("a", [np.float32(0.5), np.int8(2)]), (0.5, 2)),
            (k.Bool("a", [np.bool_(True)]), (True,)),
            (k.Enum("a", list(Dtype)), ("fp16", "fp32")),
            (k.Enum("a", [Old.FP16, np.str_("x")]), ("fp16", "x")),
        ],
    )
    def test_candidates(self, variable: Any, plain: tuple[Any, ...]) -> None:
        values = domain_of(variable).values
        assert values == plain
        assert list(map(type, values)) == list(map(type, plain))

    def test_expressions(self) -> None:
        word = Enum("dtype", ["fp16", "fp32"])
        assert (word == Dtype.FP16) is (word == "fp16")
        assert M + np.int32(2) is M + 2
        two: Any = np.int32(2)
        assert two * M is 2 * M
        half: Any = np.float64(0.5)
        assert half / M is 0.5 / M
        assert isin(M, np.array([16, 32])) is isin(M, 16, 32)
        assert k.ite(D, Size.SMALL, np.int64(3)) is ite(D, 16, 3)
        table = Table("bytes", "dtype", {Dtype.FP16: np.int64(2), Dtype.FP32: 4})
        assert table == Table("bytes", ("dtype",), {"fp16": 2, "fp32": 4})
        assert lookup(table, Dtype.FP16) is lookup(table, "fp16")

    def test_messages_and_answers(self) -> None:
        """Messages showed the members, and what was compiled of the rules was not Python."""
        from ckrules import why

        dtype, size = Enum("dtype", list(Dtype)), Int("size", list(Size))
        space = Space([dtype, size], [(dtype == Dtype.FP16) | (size == Size.LARGE)])
        bad: Any = {"dtype": Dtype.FP32, "size": np.int64(16)}
        assert bad not in space
        assert space.violations(bad)[0].message.startswith("dtype == 'fp16' | size == 32, but")
        assert "size = 16" in why(space, bad).core.sentence()  # type: ignore[union-attr]  # a conflict
        assert space[0] == {"dtype": "fp16", "size": 16}

    def test_points_do_not_overflow(self) -> None:
        """Numbers of numpy wrapped around: 2 ** 32 was 0, which every rule accepted."""
        a, b = Int("a", [1, 1 << 16]), Int("b", [1, 1 << 16])
        space = Space([a, b], [a * b * 4 <= 100])
        point: Any = {"a": np.int32(1 << 16), "b": np.int32(1 << 16)}
        assert point not in space
        assert len(space.violated(point)) == 1
        assert space.violations(point)[0].message.endswith("= 17179869184 is more than 100")

    def test_bind(self) -> None:
        assert SPACE.bind(m=np.array([16, 32])).domains["m"] == (16, 32)
        assert SPACE.bind(p=Dtype.FP16, d=np.bool_(False)).domains["p"] == ("fp16",)

    def test_equal_labels_of_other_types_are_other_labels(self) -> None:
        """A space of 1, None and 'x' had True for 1 after one of True, None and 'x'."""
        for one in (True, 1):
            space = space_of({"b": [one, None, "x"]}, [])
            assert [p["b"] for p in space] == [one, None, "x"]
            assert type(space[0]["b"]) is type(one)
            assert all(p in space for p in space)
            other = 1 if one is True else True
            assert {"b": other} not in space
            assert space.contains_columns({"b": [one, other]}).tolist() == [True, False]


VALUES = st.sampled_from(
    (
        *(16, 16.0, "16", "3", 3, True, False, 1, 1.0, 0.5, None, 2**70, float("nan"), b"3", ()),
        *(10**18, np.int32(16), np.float64(16), np.str_("fp16"), np.bool_(True), Dtype.FP16),
        Size.SMALL,
    )
)


@given(st.sampled_from(sorted(POINT)), VALUES, st.sampled_from([None, "a", 16, 0.5, True]))
def test_a_column_is_its_points(name: str, value: Any, beside: Any) -> None:
    """A word or None beside a number made strings of the numbers of a column."""
    point = {**POINT, name: value}
    for make in (list, tuple, lambda v: np.fromiter(v, dtype=object, count=2)):
        columns: Any = {n: make([v, beside]) for n, v in point.items()}
        assert SPACE.contains_columns(columns)[0] == (point in SPACE), make


@given(spaces(), st.data())
def test_what_the_functions_of_a_space_say_agrees(made: Any, data: Any) -> None:
    space: Any = Space(*made)
    points = list(space)
    names = st.sampled_from(space.names)
    point = {n: data.draw(st.sampled_from(space.domains[n])) for n in space.names}
    inside = point in space
    assert (
        inside == (point in points) == (not space.violated(point)) == (not space.violations(point))
    )
    assert space.bind(**point).count() == inside
    if space.names:
        columns = {n: [v] for n, v in point.items()}
        assert space.contains_columns(columns).tolist() == [inside]
        name = data.draw(names)
        assert sum(space.counts_by(name).values()) == len(points)
        assert space.bind(**{name: point[name]}).count() == space.counts_by(name)[point[name]]
    if inside:
        assert space[space.index(point)] == point
    listing = iter(space)
    next(listing, None)
    del listing  # closed early: the next one begins again
    assert list(space) == points
    assert sorted(map(str, space.sample(len(points) + 1, seed=1))) == sorted(map(str, points))


def _rule(**change: Any) -> Any:
    def small(c: Any) -> Any:
        """M is small."""
        return c.m <= 32

    given = {"code": "AB001", "name": "too-big", "kind": "compile", "source": "x.hpp: X"}
    examples = {"accepts": [{"m": 16}], "rejects": [{"m": 64}]}
    declared = {**given, **examples, **change}
    return rule(declared.pop("code"), declared.pop("name"), **declared)(small)


def _book(**change: Any) -> Any:
    return RuleBook("b", Vocabulary([M, W]), [_rule(**change)])


BOOK: Any = _book()

SLIPS: list[tuple[Callable[[], Any], str]] = [
    (lambda: k.Int("a", "12"), "'12' is not a list of values"),
    (lambda: k.Int("a", 12), "12 is not a list of values"),
    (lambda: k.Enum("dtype", "fp16"), "'fp16' is not a list of values"),
    (lambda: k.Enum("a", [["x"]]), "values must be hashable"),
    (lambda: k.Int(None, [1]), "None cannot name a variable"),
    (lambda: k.Int("a", [1], hi="9"), "every value must be an integer"),
    (lambda: k.Enum("a", ["x"], role="methd"), "did you mean 'method'"),
    (lambda: k.Space([M], ["m <= 32"]), "`m <= 32` is a text: give it to `where`"),
    (lambda: k.Space([M], [True]), "`True` is not a condition"),
    (lambda: k.Space([M], [_rule()]), "rule AB001 is only declared"),
    (lambda: k.Space([M], names={"x": 1}), "x = 1 is not an expression"),
    (lambda: k.Space([M], fixed=[("m", 1)]), "expected a mapping"),
    (lambda: k.Space(3), "variables = 3: expected a list"),
    (lambda: list(SPACE.columns(derived="waves")), "unknown derived quantity 'waves'"),
    (lambda: list(SPACE.columns(float("nan"))), "chunk = nan: expected an integer from 1"),
    (lambda: list(SPACE.sample_tables(3, 1, -1)), "chunk = -1: expected an integer from 1"),
    (lambda: SPACE.sample(2.5), "n = 2.5: expected an integer from 0"),
    (lambda: SPACE.sample(2, seed=[1]), r"seed = \[1\]: expected an integer"),
    (lambda: SPACE.shard(0.5, 2), "shard 0.5 of 2: expected two integers"),
    (lambda: SPACE.violated(None), "a point is a mapping"),
    (lambda: SPACE.violated({**POINT, "m": "16"}), "m = '16' is not an integer"),
    (lambda: SPACE.violations({**POINT, "m": 16.0}), "m = 16.0 is not an integer"),
    (lambda: SPACE.violations({**POINT, "d": 1}), "d = 1 is not true or false"),
    (lambda: SPACE.violations({**POINT, "p": "fp61"}), "did you mean 'fp16'"),
    (lambda: BOOK.violations({"m": None, "w": 1}), "m = None is not an integer"),
    (lambda: BOOK.resources({"m": "1", "w": 1}), "m = '1' is not an integer"),
    (lambda: BOOK.resources({"m": 1, "w": 1}, "lds"), "unknown quantity 'lds'"),
    (lambda: SPACE.contains_columns(3), "columns are a mapping"),
    (lambda: SPACE.contains_columns({**POINT, "m": 3}), "column m is not a list of values"),
    (lambda: SPACE.contains_columns({n: [[v]] for n, v in POINT.items()}), "single values"),
    (lambda: k.parse(3, {}), "`3` is not a string"),
    (lambda: k.parse("m", [M]), "expressions by name"),
    (lambda: k.rel("t", M), "'t' is not a table"),
    (lambda: k.Table("t", "a", [1]), "rows are not a mapping"),
    (lambda: k.Table("t", "a", {1: float("nan")}), "nan is not a finite number"),
    (lambda: k.Table("t", "a", {1: 1}, key_sorts=["in"]), "are not the sorts of the keys"),
    (lambda: k.Table.relation("t", "a", "fp16"), "'fp16' is not a list of rows"),
    (lambda: _rule(code=1), "code = 1 is not a string"),
    (lambda: _rule(source=3), "source = 3 is not a string"),
    (lambda: _rule(accepts={"m": 16}), "accepts = .*: expected a list of examples"),
    (lambda: _rule(accepts=["m"]), "'m' is not a mapping of fields"),
    (lambda: _rule(applies=True), "applies = True is not a function"),
    (lambda: _rule(since=2025.11), "version 2025.11 is not of the form 2025.11"),
    (lambda: _rule(until=""), "version '' is not of the form"),
    (lambda: _rule(says=3), "says = 3 is not a string"),
    (lambda: _book(says="{nope}"), "unknown field 'nope'"),
    (lambda: _book(says="{m"), "has no partner"),
    (lambda: _book(accepts=[]), "no accepted example$"),
    (lambda: k.RuleBook("b", k.Vocabulary([M]), [M < 3]), "`m < 3` is not a rule"),
    (lambda: k.RuleBook("b", [M], []), "is not a vocabulary"),
    (lambda: k.Region(BOOK, {"mm": 1}), "unknown field 'mm'"),
    (lambda: k.Region(BOOK, {"m": "16"}), "m = '16' is not an integer"),
    (lambda: k.Region(SPACE), "is not a rule book"),
    (lambda: SPACE.counts_by(["m"]), r"unknown field \['m'\]: known are"),
    (lambda: k.Region(BOOK, {}, (D,)), "unknown variable 'd'"),
]


@pytest.mark.parametrize(("slip", "said"), SLIPS, ids=[said for _, said in SLIPS])
def test_slips_are_said(slip: Callable[[], Any], said: str) -> None:
    with pytest.raises(CkrulesError, match=said) as caught:
        slip()
    assert isinstance(caught.value, (UsageError, RuleBookError, UnknownNameError))
    assert "\n" not in str(caught.value)


def test_one_word_is_one_of_a_list() -> None:
    """The letters of 'legal' were five profiles."""
    assert _rule(profiles="legal").template.profiles == ("legal",)
    assert Space([M, W], order="w").order == ("w", "m")


def test_a_book_lists_its_rules() -> None:
    assert list(BOOK) == list(BOOK.rules)

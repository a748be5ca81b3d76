"""Nodes: interned, immutable, sorted, and loud where Python would misread them."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.engine import expr as e
from ckrules.engine.expr import TRUE, BoolExpr, const, ite, lookup, make, named, rel
from ckrules.engine.expr.pretty import pretty
from ckrules.engine.expr.printer import to_text
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import substitute, walk
from ckrules.engine.expr.variables import LIMIT, Bool, Enum, Int, Real, domain_of, variable
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.support.errors import RuleBookError, UnknownNameError, UsageError

from .strategies import EVERYTHING

A, B = Int("a", [0, 1, 2]), Int("b", [0, 1, 2])
P, Q = Bool("p"), Bool("q")
W = Enum("w", ["mem", "compv3"])
X = Real("x", [0.5, 1.0])


class TestInterning:
    def test_equal_structure_is_one_object(self) -> None:
        assert (A + B * 2) is (Int("a", [0, 1, 2]) + B * 2)
        assert (A % B == 0) is (A % B == 0)
        assert W.isin("mem") is W.isin(["mem"])
        assert const(True) is e.TRUE

    def test_operand_order_matters(self) -> None:
        assert (A + B) is not (B + A)

    @pytest.mark.parametrize(
        ("one", "other"),
        [(1, True), (1, 1.0), (0, False), (0.0, 0), ("1", 1)],
    )
    def test_equal_values_of_other_sorts_are_other_nodes(self, one: Any, other: Any) -> None:
        assert const(one) is not const(other)

    def test_variables_of_other_domains_are_other_nodes(self) -> None:
        assert Int("a", [0, 1]) is not A
        assert Int("v", [0, 1]) is not Bool("v")

    def test_joins_are_flat_and_without_repeats(self) -> None:
        assert ((P & Q) & P) is (P & Q)
        assert e.all_of(P) is P
        assert e.all_of() is e.TRUE
        assert e.any_of() is e.FALSE
        assert (P & (Q & (A == 1))).args == (P, Q, A == 1)

    def test_ids_are_unique_when_threads_build_at_once(self) -> None:
        made: list[list[Any]] = [[] for _ in range(8)]
        start = threading.Barrier(8)

        def build(k: int) -> None:
            start.wait()
            made[k] = [A * (i % 900) + 5000 + i for i in range(1500)]

        threads = [threading.Thread(target=build, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        nodes = walk(*(n for part in made for n in part))
        assert len({n.id for n in nodes}) == len({id(n) for n in nodes})
        assert all(a is b for part in made for a, b in zip(part, made[0], strict=True))


class TestImmutability:
    @pytest.mark.parametrize("slot", [*e.Expr.__slots__, "sort", "new"])
    def test_attributes_cannot_be_set(self, slot: str) -> None:
        with pytest.raises(AttributeError, match="immutable"):
            setattr(A + B, slot, 0)

    @pytest.mark.parametrize("slot", e.Expr.__slots__)
    def test_attributes_cannot_be_deleted(self, slot: str) -> None:
        with pytest.raises(AttributeError, match="immutable"):
            delattr(A + B, slot)

    def test_domains_and_rows_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            domain_of(A).values = ()  # type: ignore[misc]
        with pytest.raises(TypeError):
            Table("t", ("n",), {1: 2}).rows[(1,)] = 3  # type: ignore[index]


class TestCopies:
    @settings(max_examples=100)
    @given(EVERYTHING.any(3))
    def test_pickle_gives_the_same_node(self, node: Any) -> None:
        assert pickle.loads(pickle.dumps(node)) is node

    def test_copies_are_the_same_node(self) -> None:
        node = (A + B == 1) & P
        assert copy.copy(node) is node
        assert copy.deepcopy([node])[0] is node

    def test_substitute(self) -> None:
        node = named("s", A + B) * 2 == A
        swapped = substitute(node, lambda n: const(7) if n is A else None)
        assert to_text(swapped) == "s * 2 == 7"
        assert swapped.support == {"b"}
        assert substitute(node, lambda n: None) is node


class TestMisuse:
    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: bool(A == 1),
            lambda: (A == 1) and P,
            lambda: P or Q,
            lambda: not P,
            lambda: 1 if P else 2,
            lambda: 0 <= A <= 2,
            lambda: A in [1, 2],
            lambda: A in (B, A + 1),
            lambda: "mem" in [W],
            lambda: bool(A),
            lambda: any([P, Q]),
            lambda: max(A, B),
        ],
    )
    def test_python_forms_that_need_the_truth(self, wrong: Any) -> None:
        with pytest.raises(UsageError, match=r"use & for and, .* implies"):
            wrong()

    @pytest.mark.parametrize(
        "wrong", [lambda: list(A), lambda: 1 in A, lambda: max(A), lambda: [*P]]
    )
    def test_expressions_are_not_lists(self, wrong: Any) -> None:
        with pytest.raises(UsageError, match="not a list"):
            wrong()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: A + "1", "not a number"),
            (lambda: A + True, "not a number"),
            (lambda: A + P, "not a number"),
            (lambda: A == W, "not a number"),
            (lambda: A < "mem", "not a number"),
            (lambda: A == None, "not a number"),  # noqa: E711
            (lambda: P & 1, "not a condition"),
            (lambda: P & A, "`a` is a number where a condition is needed.*a != 0"),
            (lambda: P == 1, "not a condition"),
            (lambda: e.implies(P, "mem"), "not a condition"),
            (lambda: W == 1, "cannot be compared"),
            (lambda: W == P, "cannot be compared"),
            (lambda: ite(P, "mem", 1), "two words or two numbers"),
            (lambda: ite(P, W, A), "two words or two numbers"),
            (lambda: ite(P, Q, A), "a condition is needed"),
            (lambda: ite(A, 1, 2), "a condition is needed"),
            (lambda: const(None), "not a number, a string"),  # type: ignore[arg-type]
            (lambda: const(float("nan")), "not a finite number"),
            (lambda: A * float("inf"), "not a finite number"),
            (lambda: A.isin(B), "constant values"),
            (lambda: A.isin(1, "mem"), "not a number"),
            (lambda: A.isin(True), "not a number"),
            (lambda: e.isin(P, 1), "a number|not a number"),
            (lambda: e.minimum(), "min of nothing"),
            (lambda: e.is_pow2(W), "not a number"),  # type: ignore[arg-type]
            (lambda: domain_of(A + 1), "not a variable"),
        ],
    )  # fmt: skip
    def test_sorts_do_not_mix(self, wrong: Any, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            wrong()

    @pytest.mark.parametrize(
        "wrong", [lambda: P < Q, lambda: W < "mem", lambda: P + 1, lambda: W + 1, lambda: A & B]
    )
    def test_operators_that_do_not_exist(self, wrong: Any) -> None:
        with pytest.raises((TypeError, UsageError)):
            wrong()

    @pytest.mark.parametrize(
        "wrong", [lambda: W == "mme", lambda: W.isin("mem", "mme"), lambda: W != "mme"]
    )
    def test_unknown_words_get_near_matches(self, wrong: Any) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'mem'"):
            wrong()


class TestIsin:
    def test_values_one_by_one_or_together(self) -> None:
        ways = [
            (1, 2),
            ([1, 2],),
            ((1, 2),),
            (range(1, 3),),
            ((v for v in (1, 2)),),
            ({1: 0, 2: 0},),
        ]
        assert {A.isin(*w) for w in ways} == {A.isin(1, 2)}
        assert W.isin("mem").data == ("mem",)
        assert A.isin(1, 1).data == (1,)

    def test_empty(self) -> None:
        assert A.isin().data == ()


class TestTables:
    def test_number_of_keys(self) -> None:
        with pytest.raises(RuleBookError, match="has the keys n; got 2 of them"):
            rel(Table.relation("t", ("n",), [1]), A, B)
        with pytest.raises(RuleBookError, match=r"row \(1,\) does not have the keys"):
            Table.relation("t", ("n", "m"), [1])

    @pytest.mark.parametrize("key", [W, P, "mem", True])
    def test_sort_of_keys(self, key: Any) -> None:
        with pytest.raises(RuleBookError, match="cannot be looked up as n, which is int"):
            lookup(Table("t", ("n",), {1: 2}), key)

    def test_numbers_of_both_kinds_are_keys(self) -> None:
        assert rel(Table.relation("t", ("n",), [0.5, 1]), A).op == "rel"
        assert rel(Table.relation("t", ("n",), [1]), X).op == "rel"

    @pytest.mark.parametrize("rows", [{1: 2, "mem": 3}, {1: 2, False: 3}, {None: 1}])
    def test_mixed_keys(self, rows: Any) -> None:
        with pytest.raises(RuleBookError, match="table t, key n"):
            Table("t", ("n",), rows)

    @pytest.mark.parametrize("rows", [{1: 2, 2: "mem"}, {1: True, 2: 2}, {1: None}])
    def test_mixed_values(self, rows: Any) -> None:
        with pytest.raises(RuleBookError, match="the values must be all"):
            Table("t", ("n",), rows)

    def test_identity_is_content(self) -> None:
        one, two = Table("t", ("n",), {1: 2, 3: 4}), Table("t", ("n",), {3: 4, 1: 2})
        assert one == two
        assert lookup(one, A) is lookup(two, A)
        assert Table("t", ("n",), {1: 2}) != Table("t", ("n",), {1: True})
        assert pickle.loads(pickle.dumps(one)) == one

    def test_flags_are_relations(self) -> None:
        table = Table("t", ("n",), {1: True, 2: False})
        assert lookup(table, A).op == "rel"
        assert lookup(table, A).data.rows == {(1,): True}

    def test_empty_table_is_never_true(self) -> None:
        empty = Table.relation("t", ("n",), [])
        assert lookup(empty, A) is rel(empty, A)
        assert Bounds().of(rel(empty, A)) == (0, 1)


class TestVariables:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: Int("a b", [1]), "cannot name a variable"),
            (lambda: Int("", [1]), "cannot name a variable"),
            (lambda: Int("a", []), "has no values"),
            (lambda: Int("a", [1, 1]), "lists 1 twice"),
            (lambda: Int("a", [1, True]), "lists True twice"),
            (lambda: Int("a", [True]), "an integer"),
            (lambda: Int("a", [0.5]), "an integer"),
            (lambda: Int("a", ["1"]), "an integer"),
            (lambda: Int("a", [1, 9], hi=8), "must lie in 1 to 8"),
            (lambda: Int("a", [1], lo=2), "must lie in"),
            (lambda: Int("a", [1], hi=LIMIT + 1), "within"),
            (lambda: Real("x", ["1.5"]), "must be a number"),
            (lambda: Real("x", [True]), "must be a number"),
            (lambda: Real("x", [float("nan")]), "must be finite"),
            (lambda: Real("x", [float("inf")]), "must be finite"),
            (lambda: Real("x", [10**400]), "must be finite"),
            (lambda: Bool("p", [0, 1]), "true or false"),
            (lambda: Enum("w", ["a", 1]), "must be a string"),
            (lambda: variable("v", [1, "a"]), "all numbers, all words"),
            (lambda: variable("v", [1, True, 2]), "lists True twice"),
        ],
    )
    def test_wrong_declarations(self, wrong: Any, message: str) -> None:
        with pytest.raises(RuleBookError, match=message):
            wrong()

    @pytest.mark.parametrize(
        ("node", "value", "message"),
        [
            (A, 3, "a = 3 is out of range: expected 0 to 2"),
            (A, -1, "a = -1 is out of range"),
            (A, True, "a = True is not an integer"),
            (A, 1.0, "a = 1.0 is not an integer"),
            (A, float("nan"), "a = nan is not an integer"),
            (A, "1", "a = '1' is not an integer"),
            (A, None, "a = None is not an integer"),
            (A, [1] * 50, r"a = \[1, .*… is not an integer"),
            pytest.param(A, 10**5000, "a = a number with more than 4,300 digits is out", id="huge"),
            (P, 1, "p = 1 is not true or false"),
            (P, "true", "p = 'true' is not true or false"),
            (W, 1, "w = 1 is not a string"),
            (X, 0.75, r"x = 0.75 is not one of 0.5, 1.0"),
            (X, float("nan"), "x = nan is not one of"),
            (X, True, "x = True is not a number"),
            (X, "0.5", "x = '0.5' is not a number"),
        ],
    )
    def test_values_that_are_refused(self, node: Any, value: Any, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            domain_of(node).accept(value)

    def test_words_get_near_matches(self) -> None:
        with pytest.raises(UnknownNameError, match="unknown w 'compv4': did you mean 'compv3'"):
            domain_of(W).accept("compv4")

    def test_values_that_are_taken(self) -> None:
        wide = Int("wide", [1, 2], lo=0, hi=100)
        assert domain_of(wide).accept(50) == 50
        assert domain_of(X).accept(1) == 1
        assert domain_of(P).accept(False) is False
        assert domain_of(W).accept("mem") == "mem"


class TestText:
    @pytest.mark.parametrize(
        ("node", "text"),
        [
            ((A + B) * 2 - A, "(a + b) * 2 - a"),
            (A - (B - 1), "a - (b - 1)"),
            (A // (B * 2) % 3, "a // (b * 2) % 3"),
            (A * -2 + (-3), "a * (-2) + (-3)"),
            (-A, "0 - a"),
            (const(-3), "-3"),
            ((P | Q) & ~(P & Q), "(p | q) & ~(p & q)"),
            (P & Q | ~P, "p & q | ~p"),
            ((A == 1) == (B <= 2), "(a == 1) == (b <= 2)"),
            (~P == Q, "(~p) == q"),
            (W.isin("mem", "compv3") & A.isin(), "w in ['mem', 'compv3'] & a in []"),
            (e.implies(P, A > 1), "implies(p, a > 1)"),
            (e.minimum(A, B, 3), "min(min(a, b), 3)"),
            (ite(P, A, 0) + 1, "(a if p else 0) + 1"),
            (named("waves", A * B) % 2 == 0, "waves % 2 == 0"),
            (lookup(Table("wave size", ("n",), {1: 2}), A + 1), "wave_size[a + 1]"),
            (A / 2 >= 0.5, "a / 2 >= 0.5"),
            (P == True, "p == true"),  # noqa: E712
            (W == "mem", "w == 'mem'"),
            (e.undef(A), "undefined"),
        ],
    )
    def test_no_more_parentheses_than_needed(self, node: Any, text: str) -> None:
        assert to_text(node) == text

    def test_depth_costs_no_stack(self) -> None:
        node: Any = A
        for i in range(5000):
            node = node + i % 3
        assert to_text(node).count("+") == 5000

    @settings(max_examples=200)
    @given(EVERYTHING.any(3))
    def test_every_expression_has_text(self, node: Any) -> None:
        assert to_text(node)
        assert repr(node) == to_text(node)


def test_long_conditions_say_no_true_and_bracket_nothing_twice() -> None:
    """Pages of rules had `true & (~((…)))`."""
    m, n = Int("tile_m", [64]), Int("tile_n", [64])
    long = ~(~((m > 1) | (n > 1)) & (m >= n))
    shown = ["~(", "  ~(tile_m > 1 | tile_n > 1)", "  & tile_m >= tile_n", ")"]
    assert pretty(long, 28) == shown
    assert pretty(make(BoolExpr, "and", (TRUE, long)), 28) == shown
    assert pretty(make(BoolExpr, "and", (TRUE, m > 1))) == ["tile_m > 1"]

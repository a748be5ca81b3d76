"""Simplification: smaller expressions that are equal at every point of the candidate values.

Everything here is a pure function of expressions. `Simplifier` binds variables, folds constants
with the semantics of `ckrules.engine.evaluate.pointwise`, and uses interval bounds over candidate
values. Floats underflow, overflow to infinity, round, and make NaN of infinities, so each rewrite
says for which numbers it is exact:

===========================================  ==================================================
constants folded by Python's own operations  all; a result that is not a finite number stays
``ite(c, x, y) op z`` to both branches       all: the same operations on the same numbers
``x + 0``, ``x * 1``, ``x * 0``, ``x // 1``  integers (`_neutral`)
``x * y != 0`` to ``x != 0 & y != 0``        integers: products of floats underflow to zero
a minimum or maximum that one side wins      integers (`_extreme`)
``max(x, y) <= z`` to ``x <= z & y <= z``    all that cannot be NaN (`_opened`)
comparisons that bounds decide               all: `Bounds.compare` knows of NaN
``x == x``                                   all but floats, of which NaN differs from itself
``x == c`` and ``x in …`` by the candidates  all: single values, compared as Python does
connectives, clauses, propagation            conditions only, whatever they compare
===========================================  ==================================================

Nothing is moved across a comparison, cancelled, distributed over a sum or put into another order:
for floats none of that is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At, is_pow2
from ckrules.engine.expr import BOOL, FALSE, TRUE, BoolExpr, Expr, Value, make
from ckrules.engine.expr.operators import ARITH, COMPARE
from ckrules.engine.expr.traversal import annotate
from ckrules.engine.rewrite.bounds import bounds_of
from ckrules.engine.rewrite.connectives import CONNECTIVES, choice, condition, nary

_DIVISIONS = frozenset(("floordiv", "mod", "truediv", "ceil_div"))
_RIGHT_NEUTRAL = {"sub": 0, "floordiv": 1, "ceil_div": 1}
_ORDERED = frozenset(("lt", "le", "gt", "ge"))


class Simplifier:
    """Rewrites expressions under bindings and candidate values.

    Args:
        bindings: Variables that have one value, by name.
        candidates: Values that the other variables can take, by name; a variable that is not
            named may take any value of its documented range.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b, v = Int("a", [4, 8]), Int("b", [1, 2]), Int("v", [0, 4])
    >>> Simplifier({"v": 4}).condition((a % v == 0) & (b < v))
    a % 4 == 0
    >>> Simplifier({"v": 0}).condition((a % v == 0) | (b >= 2))
    b >= 2
    """

    def __init__(
        self,
        bindings: Mapping[str, Value] | None = None,
        candidates: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.candidates = {n: tuple(v) for n, v in (candidates or {}).items()}
        self.bindings = dict(bindings or {})
        self.bindings |= {n: v[0] for n, v in self.candidates.items() if len(v) == 1}
        self.bounds = bounds_of(
            {n: v for n, v in self.candidates.items() if n not in self.bindings}
        )
        self._memo: dict[int, Expr] = {}
        self._defined: dict[int, Expr] = {}

    def condition(self, root: BoolExpr) -> BoolExpr:
        """The simplified form of a condition."""
        node = self.any(root)
        assert isinstance(node, BoolExpr)
        return node

    def any(self, root: Expr) -> Expr:
        """The simplified form of any expression."""
        memo = self._memo
        return annotate(root, memo, lambda n: self._step(n, tuple([memo[a.id] for a in n.args])))

    def total(self, root: Expr) -> bool:
        """True if the value is proven to be defined at every point."""
        return self.defined(root) is TRUE

    def defined(self, root: Expr) -> Expr:
        """The condition under which a simplified number or word is defined."""
        return annotate(root, self._defined, self._defined_step)

    def _defined_step(self, node: Expr) -> Expr:
        if node.sort == BOOL:
            return TRUE
        parts = [self._defined[a.id] for a in node.args]
        if node.op == "undef":
            return FALSE
        if node.op == "ite":
            return choice((node.args[0], parts[1], parts[2]))
        if node.op in _DIVISIONS and not self.bounds.never_zero(node.args[1]):
            sides = (node.args[1], _const(0))
            parts.append(self._condition(condition("ne", sides), sides))
        if node.op == "lookup":
            present = condition("rel", node.args, node.data)
            if not self._covered(present):
                parts.append(present)
        return nary("and", parts)

    def _covered(self, node: Expr) -> bool:
        """True if the table of a relation has a row for every candidate of its keys."""
        keys = []
        for a in node.args:
            if a.op == "var" and a.data.name in self.candidates:
                keys.append(self.candidates[a.data.name])
            elif a.op == "const":
                keys.append((a.data,))
            else:
                return False
        rows = node.data.rows
        return prod(map(len, keys)) <= len(rows) and all(k in rows for k in product(*keys))

    def _step(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if node.op == "const":
            return node
        if node.op == "undef":
            return FALSE if node.sort == BOOL else node
        if node.op == "var":
            name = node.data.name
            return _bound(node, self.bindings[name]) if name in self.bindings else node
        if node.op == "named":
            return args[0]
        if node.sort == BOOL:
            return self._condition(node, args)
        return self._term(node, args)

    # -- numbers and words -------------------------------------------------------------------

    def _term(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if node.op == "ite":
            return self._choice(node, args)
        if any(a.op == "undef" for a in args):
            return _undef(node)
        if all(a.op == "const" for a in args):
            return self._constant(node, args)
        if node.op in _DIVISIONS and args[1].op == "const" and args[1].data == 0:
            return _undef(node)
        if node.op in ARITH:
            for i, a in enumerate(args):
                if _is_selection(a) and args[1 - i].op == "const":
                    return self._over_choice(node, args, i)
        rebuilt = _rebuilt(node, args)
        if node.op == "lookup":
            return rebuilt
        return self._neutral(rebuilt) if node.sort == e.INT else rebuilt

    def _choice(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        cond, then, other = args
        if cond.op == "const":
            return then if cond.data else other
        return then if then is other else _rebuilt(node, args)

    def _over_choice(self, node: Expr, args: tuple[Expr, ...], which: int) -> Expr:
        """``ite(c, x, y) op z`` as ``ite(c, x op z, y op z)``."""
        cond, *branches = args[which].args
        done = [self._step(node, (*args[:which], b, *args[which + 1 :])) for b in branches]
        if node.sort == BOOL:
            return choice((cond, *done))
        out: Expr = make(type(node), "ite", (cond, *done))
        return done[0] if done[0] is done[1] else out

    def _constant(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        values = [a.data for a in args]
        if node.op == "lookup":
            row = node.data.rows.get(tuple(values))
            return _undef(node) if row is None else _const(row)
        if node.op in _DIVISIONS and values[1] == 0:
            return _undef(node)
        try:
            value = ARITH[node.op](*values)
        except OverflowError:  # an integer beyond what a float can be
            return _rebuilt(node, args)
        if isinstance(value, float) and not abs(value) < float("inf"):
            return _rebuilt(node, args)
        return _const(value)  # an integer among floats stays one, as at each point

    def _neutral(self, node: Expr) -> Expr:
        """``x + 0``, ``x * 1``, ``x // 1`` and a minimum or maximum that one side always wins."""
        a, b = node.args
        op = node.op
        if op in ("add", "mul"):
            neutral = 0 if op == "add" else 1
            if _is(a, neutral):
                return b
            if _is(b, neutral):
                return a
            if op == "mul" and (_is(a, 0) or _is(b, 0)) and self.total(a) and self.total(b):
                return _const(0)
        elif op in _RIGHT_NEUTRAL and _is(b, _RIGHT_NEUTRAL[op]):
            return a
        elif op == "mod" and _is(b, 1) and self.total(a):
            return _const(0)
        elif op in ("min", "max"):
            return self._extreme(node, a, b)
        return node

    def _extreme(self, node: Expr, a: Expr, b: Expr) -> Expr:
        if a is b:
            return a
        (alo, ahi), (blo, bhi) = self.bounds.of(a), self.bounds.of(b)
        low, high = (a, b) if ahi <= blo else (b, a) if bhi <= alo else (None, None)
        if low is None or high is None:
            return node
        kept, lost = (low, high) if node.op == "min" else (high, low)
        return kept if self.total(lost) and kept.sort == node.sort else node

    # -- conditions --------------------------------------------------------------------------

    def _condition(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if node.op in CONNECTIVES:
            return CONNECTIVES[node.op](args)
        if any(a.op == "undef" for a in args):
            return FALSE
        if all(a.op == "const" for a in args):
            return TRUE if _holds(node, [a.data for a in args]) else FALSE
        rebuilt = _rebuilt(node, args)
        if not rebuilt.support:  # of a constant that no node holds, such as infinity
            return TRUE if At({}).holds(rebuilt) else FALSE
        if node.op in COMPARE:
            opened = self._opened(node, rebuilt)
            return self._compare(rebuilt) if opened is None else opened
        if node.op == "isin":
            return self._isin(rebuilt)
        if node.op == "rel":
            return self._rel(rebuilt)
        return rebuilt

    def _rel(self, node: Expr) -> Expr:
        if not node.data.rows:
            return FALSE
        return TRUE if self._covered(node) else node

    def _opened(self, node: Expr, rebuilt: Expr) -> Expr | None:
        """A comparison of a choice or an extreme as comparisons of its parts, if it is one.

        ``max(x, y) <= z`` is ``x <= z & y <= z`` even where a part is undefined: both are false.
        An extreme of NaN is one of its sides by their order, and stays.
        """
        args = rebuilt.args
        for i, a in enumerate(args):
            if _is_selection(a):
                return self._over_choice(node, args, i)
            numbers = a.op in ("min", "max") and not any(map(self.bounds.may_be_nan, a.args))
            if numbers and node.op in _ORDERED:
                parts = [self._step(node, (*args[:i], b, *args[i + 1 :])) for b in a.args]
                if (a.op == "max") == ((node.op in ("lt", "le")) == (i == 0)):
                    return nary("and", parts)
                if all(map(self.total, a.args)):
                    return nary("or", parts)
        return None

    def _compare(self, node: Expr) -> Expr:
        a, b = node.args
        if a.sort in (e.INT, e.REAL):
            truth = self.bounds.compare(node.op, a, b)
            if truth is False:
                return FALSE  # an undefined side makes it false as well
            if truth is True:
                return nary("and", (self.defined(a), self.defined(b)))
            if node.op == "ne" and a.op == "mul" and a.sort == e.INT and _is(b, 0):
                return nary("and", [self._condition(node, (x, b)) for x in a.args])
        if node.op in ("eq", "ne"):
            if a is b and a.sort != e.REAL:  # NaN differs from itself
                return self.defined(a) if node.op == "eq" else FALSE
            for var, constant in ((a, b), (b, a)):
                if constant.op == "const" and not self._possible(var, constant.data):
                    return FALSE if node.op == "eq" else TRUE
        return node

    def _possible(self, node: Expr, value: Any) -> bool:
        """False if the node is a variable that has candidates and ``value`` is none of them."""
        if node.op != "var" or node.data.name not in self.candidates:
            return True
        return value in self.candidates[node.data.name]

    def _isin(self, node: Expr) -> Expr:
        item = node.args[0]
        kept = tuple(v for v in node.data if self._possible(item, v))
        if item.sort in (e.INT, e.REAL):
            lo, hi = self.bounds.of(item)
            kept = tuple(v for v in kept if not isinstance(v, str) and lo <= v <= hi)
        if not kept:
            return FALSE
        known = self.candidates.get(item.data.name, ()) if item.op == "var" else ()
        if known and all(v in kept for v in known):
            return TRUE
        return node if len(kept) == len(node.data) else condition("isin", (item,), kept)


def _const(value: Value) -> Expr:
    return e.const(value)


def _bound(node: Expr, value: Any) -> Expr:
    """A variable's one value as a constant; a label such as None has none."""
    return node if node.sort == e.ENUM and not isinstance(value, str) else _const(value)


def _undef(like: Expr) -> Expr:
    return e.undef(like)


def _is_selection(node: Expr) -> bool:
    """True for a choice by one variable, such as a pipeline; others would only grow."""
    return node.op == "ite" and len(node.args[0].support) == 1


def _is(node: Expr, value: int) -> bool:
    return node.op == "const" and node.sort == e.INT and bool(node.data == value)


def _rebuilt(node: Expr, args: tuple[Expr, ...]) -> Expr:
    if all(x is y for x, y in zip(args, node.args, strict=True)):
        return node
    return make(type(node), node.op, args, node.data)


def _holds(node: Expr, values: list[Any]) -> bool:
    if node.op in COMPARE:
        return bool(COMPARE[node.op](*values))
    if node.op == "isin":
        return values[0] in node.data
    if node.op == "is_pow2":
        return is_pow2(values[0])
    return tuple(values) in node.data.rows

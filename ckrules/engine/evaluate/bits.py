"""Bit-vector back end: expressions as z3 terms, in the form that SAT engines decide best.

z3's integers are unbounded, and its answer to products and remainders of several variables is
often "unknown". Every field here has a finite range, so each number gets just as many bits as its
bounds ask for, and the question becomes propositional: always decidable, and fast for the sizes
of rule books. Words are numbered. Floats have no exact counterpart, so a condition over them is
written out as a table of the variable values at which it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

import z3

from ckrules.engine.expr import BOOL, ENUM, INT, REAL, BoolExpr, Expr, Value
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import substitute, walk
from ckrules.engine.rewrite.bounds import Bounds
from ckrules.engine.rewrite.exact import relation_of
from ckrules.engine.rewrite.lower import Lowering
from ckrules.support.errors import UndecidedError, UsageError

_WIDEST = 96
_TABLE_LIMIT = 20_000
_COMPARISONS = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}


class BitTerms:
    """Algebra over z3 bit vectors (two's complement, as wide as the bounds of each node ask).

    Args:
        bounds: Tells the range of every node.
        words: Codes of enumeration words, shared by all terms that are compared.
        widest: Bits beyond which a number is refused.
    """

    def __init__(self, bounds: Bounds, words: dict[Any, int], widest: int) -> None:
        self._bounds, self.words, self._limit = bounds, words, 2**widest
        self.floats: dict[float, int] = {}
        self.variables: dict[str, Any] = {}

    def constant(self, value: Any, sort: str = "") -> Any:
        """The term of a Python value, as it stands for one of a sort."""
        if isinstance(value, bool) and sort != ENUM:
            return z3.BoolVal(value)
        code = self.code(value, sort)
        return z3.BitVecVal(code, _width(code, code))

    def code(self, value: Any, sort: str = "") -> int:
        """The integer that stands for a number or word (of a sort)."""
        if sort == ENUM or isinstance(value, str):
            return self.words.setdefault(value, len(self.words))
        if sort == REAL or isinstance(value, float):  # equality only, see `tabulate_reals`
            return self.floats.setdefault(value, len(self.floats))
        return int(value)

    def const(self, node: Expr) -> Any:
        return self.constant(node.data)

    def var(self, node: Expr) -> Any:
        name = node.data.name
        if name not in self.variables:
            self.variables[name] = self._variable(node)
        return self.variables[name]

    def _variable(self, node: Expr) -> Any:
        if node.sort == BOOL:
            return z3.Bool(node.data.name)
        if node.sort == ENUM:
            for word in node.data.values:
                self.words.setdefault(word, len(self.words))
            top = max(self.words[word] for word in node.data.values)
            return z3.BitVec(node.data.name, _width(0, top))
        if node.sort == REAL:
            top = max(self.floats.setdefault(v, len(self.floats)) for v in node.data.values)
            return z3.BitVec(node.data.name, _width(0, top))
        lo, hi = self._bounds.of(node)
        return z3.BitVec(node.data.name, _width(int(lo), int(hi)))

    def _range(self, node: Expr) -> tuple[int, int]:
        lo, hi = self._bounds.of(node)
        if node.sort == REAL or not -self._limit < lo <= hi < self._limit:
            raise UndecidedError(f"`{node}` has no bounded integer form")
        return int(lo), int(hi)

    def arith(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        x, y = node.args
        (xlo, xhi), (ylo, yhi), out = self._range(x), self._range(y), self._range(node)
        width = _width(*out)
        if op in ("add", "sub", "mul"):  # modular: only the width of the result matters
            a, b = _to(a, width), _to(b, width)
            return a + b if op == "add" else a - b if op == "sub" else a * b
        if op in ("min", "max"):
            a, b = _as_wide(a, b)
            less = a <= b
            return _to(z3.If(less, a, b) if op == "min" else z3.If(less, b, a), width)
        wide = max(_width(xlo, xhi), _width(ylo, yhi)) + (op == "ceil_div") + (ylo < 0)
        a, b = _to(a, wide), _to(b, wide)
        signed = xlo < 0 or ylo < 0
        return _to(_divide_signed(op, a, b) if signed else _divide(op, a, b), width)

    def compare(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        if z3.is_bv(a):
            a, b = _as_wide(a, b)
        return _COMPARISONS[op](a, b)

    def equals(self, a: Any, value: Any, sort: str) -> Any:
        """The condition that a term of a sort has a Python value."""
        if sort == INT and isinstance(value, float):
            if not value.is_integer():
                return z3.BoolVal(False)
            value = int(value)
        if not z3.is_bv(a):
            return a if value else z3.Not(a)
        code = self.code(value, sort)
        width = max(_size(a), _width(code, code))
        return _to(a, width) == z3.BitVecVal(code, width)

    def isin(self, a: Any, values: tuple[Any, ...], node: Expr) -> Any:
        return _any([self.equals(a, v, node.args[0].sort) for v in values])

    def is_pow2(self, a: Any, node: Expr) -> Any:
        top = self._range(node.args[0])[1]
        return _any([self.equals(a, 1 << i, INT) for i in range(max(0, top).bit_length())])

    def logic(self, op: str, args: Sequence[Any]) -> Any:
        if op in ("and", "or"):
            return _all(args) if op == "and" else _any(args)
        return {"iff": eq, "not": z3.Not, "implies": z3.Implies}[op](*args)

    def select(self, cond: Any, a: Any, b: Any, node: Expr) -> Any:
        if z3.is_bv(a):
            a, b = _as_wide(a, b)
        return z3.If(cond, a, b)

    def nonzero(self, a: Any, node: Expr) -> Any:
        return a != 0

    def number(self, value: int, like: Expr) -> Any:
        return self.constant(value)

    def truth(self, value: bool) -> Any:
        return z3.BoolVal(value)

    def rel(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        rows = self._rows(table, keys, node)
        return _any([rows(key) for key in table.rows])

    def _rows(
        self, table: Table, terms: Sequence[Any], node: Expr
    ) -> Callable[[tuple[Value, ...]], Any]:
        """The condition that terms are a row of the table; each comparison is made once."""
        same = [
            {
                value: self.equals(term, value, node.args[k].sort)
                for value in dict.fromkeys(key[k] for key in table.rows)
            }
            for k, term in enumerate(terms)
        ]
        return lambda key: _all([known[v] for known, v in zip(same, key, strict=True)])

    def lookup(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        # rows with one value share a branch; the last group needs no test of its own
        row = self._rows(table, keys, node)
        groups: dict[Any, list[Any]] = {}
        for key, value in table.rows.items():
            groups.setdefault(value, []).append(row(key))
        codes = {v: self.code(v) for v in groups}
        width = max((_width(code, code) for code in codes.values()), default=1)
        cases = [(_any(rows), z3.BitVecVal(codes[v], width)) for v, rows in groups.items()]
        if not cases:
            return z3.BitVecVal(0, 1)
        return reduce(lambda rest, case: z3.If(case[0], case[1], rest), cases[1:], cases[0][1])


def _all(terms: Sequence[Any]) -> Any:
    return _joined(z3.Z3_mk_and, terms)


def _any(terms: Sequence[Any]) -> Any:
    return _joined(z3.Z3_mk_or, terms)


def _joined(make: Callable[..., Any], terms: Sequence[Any]) -> Any:
    """Conditions in one; z3's own functions look at the sort of each, which takes longer."""
    context = z3.main_ctx()
    parts = (z3.Ast * len(terms))(*[t.ast for t in terms])
    return z3.BoolRef(make(context.ref(), len(terms), parts), context)


def _width(lo: int, hi: int) -> int:
    """Bits of a two's complement number in the range."""
    below = (-lo - 1).bit_length() if lo < 0 else 0
    return max(below, hi.bit_length() if hi > 0 else 0) + 1


def _size(term: Any) -> int:
    """Bits of a number; z3's own method makes an object of its sort, which takes longer."""
    context = term.ctx.ref()
    return int(z3.Z3_get_bv_sort_size(context, z3.Z3_get_sort(context, term.ast)))


def _to(term: Any, width: int) -> Any:
    size = _size(term)
    if size == width:
        return term
    return z3.SignExt(width - size, term) if size < width else z3.Extract(width - 1, 0, term)


def _as_wide(a: Any, b: Any) -> tuple[Any, Any]:
    """Two numbers with as many bits as the wider one has."""
    width = max(_size(a), _size(b))
    return _to(a, width), _to(b, width)


def _divide(op: str, a: Any, b: Any) -> Any:
    if op == "mod":
        return z3.URem(a, b)
    if op == "floordiv":
        return z3.UDiv(a, b)
    return z3.UDiv(a + b - 1, b)


def _divide_signed(op: str, a: Any, b: Any) -> Any:
    if op == "ceil_div":
        return -_divide_signed("floordiv", -a, b)
    rest = a % b  # bvsmod: the sign of the divisor, as in Python
    return rest if op == "mod" else (a - rest) / b


class BitEncoder:
    """Lowers conditions to z3 bit-vector formulas.

    Args:
        bounds: Ranges of the variables (default: the declared ones).
        widest: Bits beyond which a number is refused; the default is what solvers can bear.
        domains: The values of variables beside floats (default: their candidates).

    Raises:
        UndecidedError: For a condition over wider numbers, when it is lowered.
    """

    def __init__(
        self,
        bounds: Bounds | None = None,
        widest: int = _WIDEST,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.bounds, self._domains = bounds or Bounds(), domains or {}
        self.terms = BitTerms(self.bounds, {}, widest)
        self._low: Lowering[Any] = Lowering(self.terms, self.bounds.never_zero)

    def bool(self, root: BoolExpr) -> Any:
        """The z3 term of a condition."""
        return self._low.bool(tabulate_reals(root, self._domains))

    def equals(self, variable: Expr, value: Value) -> Any:
        """The condition that a variable has a value."""
        return self.terms.equals(self.terms.var(variable), value, variable.sort)

    def within(self, variable: Expr, values: Sequence[Any]) -> Any:
        """The condition that a variable has one of the values."""
        return _any([self.equals(variable, v) for v in values])

    def between(self, variable: Expr, lo: int, hi: int) -> Any:
        """The condition that an integer variable lies in a range."""
        term = self.terms.var(variable)
        low, high = (z3.BitVecVal(value, _size(term)) for value in (lo, hi))
        return z3.And(term >= low, term <= high)


def tabulate_reals(root: BoolExpr, domains: Mapping[str, Sequence[Any]]) -> BoolExpr:
    """``root`` with each smallest condition over floats written out as a relation.

    Args:
        domains: The values of variables, where these are not their candidates.

    Raises:
        UsageError: When the variables of such a condition have too many value combinations.
    """
    if all(n.sort != REAL for n in walk(root)):
        return root

    def replace(node: Expr) -> Expr | None:
        if node.sort != BOOL or not _reads_floats(node):
            return None
        found = {n.data.name: n for n in walk(node) if n.op == "var"}
        variables = [found[k] for k in sorted(found)]
        values = [domains.get(v.data.name, v.data.values) for v in variables]
        size = prod(map(len, values))
        if size > _TABLE_LIMIT:
            raise UsageError(
                f"`{node}` mixes floats and {size} value combinations: too many for z3"
            )
        return relation_of(node, variables, values)

    return cast(BoolExpr, substitute(root, replace))


def _reads_floats(node: Expr) -> bool:
    """True if a condition computes with floats, not only looks up rows by float variables."""
    stack, seen = [node], {node.id}
    while stack:
        top = stack.pop()
        keyed = top.op in ("rel", "lookup")
        for a in top.args:
            if a.sort == REAL and not (keyed and a.op == "var"):
                return True
            if a.sort != BOOL and a.id not in seen:
                seen.add(a.id)
                stack.append(a)
    return False

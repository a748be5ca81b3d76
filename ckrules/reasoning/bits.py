"""Bit-vector terms: expressions over bounded integers in the form that SAT engines decide best.

z3's integers are unbounded, and its answer to products and remainders of several variables is
often "unknown". Every field here has a finite range, so each number gets just as many bits as its
bounds ask for, and the question becomes propositional: always decidable, and fast for the sizes
of rule books.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import z3

from ckrules.engine.backends.smt import tabulate_reals
from ckrules.engine.bounds import Bounds
from ckrules.engine.errors import UndecidedError
from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Expr, Value
from ckrules.engine.lower import Lowering
from ckrules.engine.table import Table

_WIDEST = 96


class BitTerms:
    """Algebra over z3 bit vectors (two's complement, as wide as the bounds of each node ask).

    Args:
        bounds: Tells the range of every node.
        words: Codes of enumeration words, shared by all terms that are compared.
    """

    def __init__(self, bounds: Bounds, words: dict[str, int]) -> None:
        self._bounds, self.words = bounds, words
        self.floats: dict[float, int] = {}
        self.variables: dict[str, Any] = {}

    def constant(self, value: Any) -> Any:
        """The term of a Python value."""
        if isinstance(value, bool):
            return z3.BoolVal(value)
        if isinstance(value, str):
            value = self.words.setdefault(value, len(self.words))
        if isinstance(value, float):  # compared for equality only, see `tabulate_reals`
            value = self.floats.setdefault(value, len(self.floats))
        return z3.BitVecVal(value, _width(value, value))

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
        if node.sort == REAL or not -(2**_WIDEST) < lo <= hi < 2**_WIDEST:
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
            wide = max(a.size(), b.size())
            a, b = _to(a, wide), _to(b, wide)
            less = a <= b
            return _to(z3.If(less, a, b) if op == "min" else z3.If(less, b, a), width)
        wide = max(_width(xlo, xhi), _width(ylo, yhi)) + (op == "ceil_div") + (ylo < 0)
        a, b = _to(a, wide), _to(b, wide)
        signed = xlo < 0 or ylo < 0
        return _to(_divide_signed(op, a, b) if signed else _divide(op, a, b), width)

    def compare(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        if z3.is_bv(a):
            width = max(a.size(), b.size())
            a, b = _to(a, width), _to(b, width)
        if op == "eq":
            return a == b
        if op == "ne":
            return a != b
        return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op]

    def equals(self, a: Any, value: Any) -> Any:
        """The condition that a term has a Python value."""
        b = self.constant(value)
        if z3.is_bv(a):
            width = max(a.size(), b.size())
            return _to(a, width) == _to(b, width)
        return a if value else z3.Not(a)

    def isin(self, a: Any, values: tuple[Any, ...], node: Expr) -> Any:
        return z3.Or([self.equals(a, v) for v in values])

    def is_pow2(self, a: Any, node: Expr) -> Any:
        top = self._range(node.args[0])[1]
        return z3.Or([self.equals(a, 1 << i) for i in range(max(0, top).bit_length())])

    def logic(self, op: str, args: Sequence[Any]) -> Any:
        if op == "iff":
            return args[0] == args[1]
        return {"and": z3.And, "or": z3.Or, "not": z3.Not, "implies": z3.Implies}[op](*args)

    def select(self, cond: Any, a: Any, b: Any, node: Expr) -> Any:
        if z3.is_bv(a):
            width = max(a.size(), b.size())
            a, b = _to(a, width), _to(b, width)
        return z3.If(cond, a, b)

    def nonzero(self, a: Any, node: Expr) -> Any:
        return a != 0

    def number(self, value: int, like: Expr) -> Any:
        return self.constant(value)

    def truth(self, value: bool) -> Any:
        return z3.BoolVal(value)

    def rel(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        rows = self._rows(table, keys)
        return z3.Or([rows(key) for key in table.rows])

    def _rows(self, table: Table, terms: Sequence[Any]) -> Callable[[tuple[Value, ...]], Any]:
        """The condition that terms are a row of the table; each comparison is made once."""
        same = [
            {
                value: self.equals(term, value)
                for value in dict.fromkeys(key[k] for key in table.rows)
            }
            for k, term in enumerate(terms)
        ]
        return lambda key: z3.And([known[v] for known, v in zip(same, key, strict=True)])

    def lookup(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        # rows with one value share a branch; the last group needs no test of its own
        row = self._rows(table, keys)
        groups: dict[Any, list[Any]] = {}
        for key, value in table.rows.items():
            groups.setdefault(value, []).append(row(key))
        width = max((self.constant(v).size() for v in groups), default=1)
        cases = [(z3.Or(rows), _to(self.constant(v), width)) for v, rows in groups.items()]
        if not cases:
            return z3.BitVecVal(0, 1)
        return reduce(lambda rest, case: z3.If(case[0], case[1], rest), cases[1:], cases[0][1])


def _width(lo: int, hi: int) -> int:
    """Bits of a two's complement number in the range."""
    below = (-lo - 1).bit_length() if lo < 0 else 0
    return max(below, hi.bit_length() if hi > 0 else 0) + 1


def _to(term: Any, width: int) -> Any:
    size = term.size()
    if size == width:
        return term
    return z3.SignExt(width - size, term) if size < width else z3.Extract(width - 1, 0, term)


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
    """Lowers conditions to z3 bit-vector formulas."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.terms = BitTerms(self.bounds, {})
        self._low: Lowering[Any] = Lowering(self.terms, self.bounds.never_zero)

    def bool(self, root: BoolExpr) -> Any:
        """The z3 term of a condition."""
        return self._low.bool(tabulate_reals(root))

    def equals(self, variable: Expr, value: Value) -> Any:
        """The condition that a variable has a value."""
        return self.terms.equals(self.terms.var(variable), value)

    def within(self, variable: Expr, values: Sequence[Any]) -> Any:
        """The condition that a variable has one of the values."""
        return z3.Or([self.equals(variable, v) for v in values])

    def between(self, variable: Expr, lo: int, hi: int) -> Any:
        """The condition that an integer variable lies in a range."""
        term = self.terms.var(variable)
        low, high = z3.BitVecVal(lo, term.size()), z3.BitVecVal(hi, term.size())
        return z3.And(term >= low, term <= high)

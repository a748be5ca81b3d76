"""SMT back end: expressions as z3 terms over integers and Booleans.

Integer variables become z3 integers, words become integers by `word_code` of this module, and
Boolean variables z3 Booleans. Floats have no exact counterpart in z3's reals, so a condition over
them is written out as a table of the variable values at which it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import z3

from ckrules.engine.backends.pointwise import At
from ckrules.engine.bounds import Bounds
from ckrules.engine.errors import UsageError
from ckrules.engine.expr import BOOL, ENUM, REAL, BoolExpr, Expr, Value
from ckrules.engine.lower import Lowering
from ckrules.engine.table import Table
from ckrules.engine.traversal import walk
from ckrules.engine.variables import Domain

_words: dict[str, int] = {}
_TABLE_LIMIT = 20_000


def word_code(word: str) -> int:
    """The integer that stands for a word in every z3 term of this process."""
    return _words.setdefault(word, len(_words))


@contextmanager
def numbered_words() -> Iterator[dict[str, int]]:
    """Words numbered from 0 within the block, for terms that are printed and not solved.

    >>> with numbered_words() as words:
    ...     word_code("gfx942"), words
    (0, {'gfx942': 0})
    """
    global _words
    before, _words = _words, {}
    try:
        yield _words
    finally:
        _words = before


class Terms:
    """Algebra over z3 terms.

    Args:
        bounds: Proves signs, so that division needs case distinctions only where they matter.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self.variables: dict[str, tuple[Domain, Any]] = {}

    def const(self, node: Expr) -> Any:
        return term_of(node.data)

    def var(self, node: Expr) -> Any:
        domain: Domain = node.data
        if domain.name not in self.variables:
            make = {BOOL: z3.Bool, REAL: z3.Real}.get(domain.sort, z3.Int)
            self.variables[domain.name] = (domain, make(domain.name))
        return self.variables[domain.name][1]

    def arith(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        if op in ("floordiv", "mod", "ceil_div"):
            return self._divide(op, a, b, node.args[1])
        if op == "min":
            return z3.If(b < a, b, a)
        if op == "max":
            return z3.If(b > a, b, a)
        return {"add": a + b, "sub": a - b, "mul": a * b}[op]

    def _divide(self, op: str, a: Any, b: Any, divisor: Expr) -> Any:
        # z3's div rounds so that the remainder is not negative: floor division for b > 0 only
        positive = self._bounds.of(divisor)[0] >= 0
        if op == "ceil_div":
            return -(-a / b) if positive else -z3.If(b > 0, -a / b, a / -b)
        floor = a / b if positive else z3.If(b > 0, a / b, -a / -b)
        if op == "floordiv":
            return floor
        return a % b if positive else a - b * floor

    def compare(self, op: str, a: Any, b: Any, node: Expr) -> Any:
        ops = {"eq": a.__eq__, "ne": a.__ne__} if node.args[0].sort == ENUM else {
            "eq": a.__eq__, "ne": a.__ne__, "lt": a.__lt__, "le": a.__le__,
            "gt": a.__gt__, "ge": a.__ge__,
        }  # fmt: skip
        return ops[op](b)

    def isin(self, a: Any, values: tuple[Any, ...], node: Expr) -> Any:
        return z3.Or([a == term_of(v) for v in values])

    def is_pow2(self, a: Any, node: Expr) -> Any:
        top = self._bounds.of(node.args[0])[1]
        if top > 2**62:
            raise UsageError(f"`{node}` has no finite bound")
        return z3.Or([a == 2**i for i in range(int(top).bit_length() if top >= 1 else 0)])

    def logic(self, op: str, args: Sequence[Any]) -> Any:
        if op == "iff":
            return args[0] == args[1]
        return {"and": z3.And, "or": z3.Or, "not": z3.Not, "implies": z3.Implies}[op](*args)

    def select(self, cond: Any, a: Any, b: Any, node: Expr) -> Any:
        return z3.If(cond, a, b)

    def nonzero(self, a: Any, node: Expr) -> Any:
        return a != 0

    def number(self, value: int, like: Expr) -> Any:
        return z3.IntVal(value)

    def truth(self, value: bool) -> Any:
        return z3.BoolVal(value)

    def rel(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        return z3.Or([_row(key, keys) for key in table.rows])

    def lookup(self, table: Table, keys: Sequence[Any], node: Expr) -> Any:
        # where no row matches, the term takes a value of the table, so that bounds hold there too
        (_, first), *cases = table.rows.items()
        start = term_of(first)
        return reduce(lambda rest, kv: z3.If(_row(kv[0], keys), term_of(kv[1]), rest), cases, start)


def _row(key: tuple[Any, ...], terms: Sequence[Any]) -> Any:
    return z3.And([t == term_of(k) for t, k in zip(terms, key, strict=True)])


def term_of(value: Value) -> Any:
    """The z3 constant of a Python value (a float becomes the exact fraction that it is)."""
    if isinstance(value, bool):
        return z3.BoolVal(value)
    if isinstance(value, str):
        return z3.IntVal(word_code(value))
    if isinstance(value, float):
        return z3.Q(*value.as_integer_ratio())
    return z3.IntVal(value)


class Encoder:
    """Lowers expressions to z3 and remembers the variables that they use."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.terms = Terms(self.bounds)
        self._low: Lowering[Any] = Lowering(self.terms, self.bounds.never_zero)

    def bool(self, root: BoolExpr) -> Any:
        """The z3 term of a Boolean expression."""
        return self._low.bool(tabulate_reals(root))

    def number(self, root: Expr) -> tuple[Any, Any]:
        """The z3 terms of a number's value and of where it is defined (None: everywhere)."""
        return self._low.pair(root)

    def domain(self, node: Expr) -> Any:
        """The z3 constraint that a variable takes one of its candidate values."""
        term = self.terms.var(node)
        values = node.data.values
        if node.sort == BOOL:
            return z3.BoolVal(True) if len(values) == 2 else term == z3.BoolVal(values[0])
        return z3.Or([term == term_of(v) for v in values])


def tabulate_reals(root: BoolExpr) -> BoolExpr:
    """``root`` with each smallest condition over floats written out as a relation.

    Raises:
        UsageError: When the variables of such a condition have too many value combinations.
    """
    from ckrules.engine.expr import rel
    from ckrules.engine.traversal import substitute

    if all(n.sort != REAL for n in walk(root)):
        return root

    def replace(node: Expr) -> Expr | None:
        if node.sort != BOOL or all(a.sort != REAL for a in node.args):
            return None
        found = {n.data.name: n for n in walk(node) if n.op == "var"}
        variables = [found[k] for k in sorted(found)]
        size = prod(len(v.data.values) for v in variables)
        if size > _TABLE_LIMIT:
            raise UsageError(
                f"`{node}` mixes floats and {size} value combinations: too many for z3"
            )
        names = [v.data.name for v in variables]
        rows = [
            r
            for r in product(*(v.data.values for v in variables))
            if At(dict(zip(names, r, strict=True))).holds(node)
        ]
        return rel(Table.relation(str(node), names, rows), *variables)

    done: Expr = substitute(root, replace)
    assert isinstance(done, BoolExpr)
    return done


def evaluate(roots: Sequence[BoolExpr], points: Sequence[Mapping[str, Value]]) -> list[list[bool]]:
    """Truth of every root at every point, by substitution and z3's simplifier."""
    encoder = Encoder()
    terms = [encoder.bool(r) for r in roots]
    out = []
    for p in points:
        pairs = [(term, term_of(p[name])) for name, (_, term) in encoder.terms.variables.items()]
        out.append([_truth(z3.simplify(z3.substitute(t, *pairs))) for t in terms])
    return out


def _truth(term: Any) -> bool:
    if z3.is_true(term):
        return True
    if z3.is_false(term):
        return False
    solver = z3.Solver()
    solver.add(term)
    return bool(solver.check() == z3.sat)

"""A condition over whole numbers as the text of a C++ function.

For libraries that have to judge problems where there is no Python. Numbers are 128 bits wide, so
that products of sizes do not overflow. Words and reals are not written: what is fixed is set in
before (`ckrules.engine.rewrite.simplify.Simplifier`), and what is left of others is an error.
The functions call those of ``ckrules_rules.hpp``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ckrules.engine.expr import BOOL, INT, BoolExpr, Expr
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rewrite.lower import Lowering
from ckrules.support.errors import UsageError

_SIGN = {"add": "+", "sub": "-", "mul": "*"}
_FUNCTION = {"floordiv": "floor_div", "mod": "modulo", "min": "least", "max": "greatest"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LARGEST = 1 << 63  # literals of C++ end there


class _Source:
    """Algebra over C++ text; what is used again becomes a constant of its own."""

    def __init__(self, uses: Mapping[int, int], members: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self._uses, self._members = uses, members
        self._tables: dict[Table, str] = {}

    def _keep(self, text: str, sort: str, node: Any = None) -> str:
        if node is not None and self._uses.get(node.id, 2) < 2:
            return text
        name = f"t{len(self.lines)}"
        kind = "bool" if sort == BOOL else "whole"
        self.lines.append(f"const {kind} {name} = {text};")
        return name

    def const(self, node: Expr) -> str:
        return self.truth(node.data) if node.sort == BOOL else self.number(node.data, node)

    def var(self, node: Expr) -> str:
        name = node.data.name
        if node.sort not in (BOOL, INT) or name not in self._members:
            raise UsageError(f"C++ cannot say {name}")
        return self._members[name]

    def arith(self, op: str, a: str, b: str, node: Expr) -> str:
        if op in _SIGN:
            text = f"({a} {_SIGN[op]} {b})"
        elif op == "ceil_div":
            text = f"(-floor_div(-{a}, {b}))"
        elif op in _FUNCTION:
            text = f"{_FUNCTION[op]}({a}, {b})"
        else:
            raise UsageError(f"C++ cannot say {op}")
        return self._keep(text, INT, node)

    def compare(self, op: str, a: str, b: str, node: Expr) -> str:
        return self._keep(f"({a} {_COMPARE[op]} {b})", BOOL, node)

    def isin(self, a: str, values: tuple[Any, ...], node: Expr) -> str:
        a = self._keep(a, INT)
        either = [f"{a} == {self.number(v, node)}" for v in values]
        return self._keep(f"({' || '.join(either) or 'false'})", BOOL, node)

    def is_pow2(self, a: str, node: Expr) -> str:
        return self._keep(f"power_of_two({a})", BOOL, node)

    def logic(self, op: str, args: Sequence[str]) -> str:
        if op in ("and", "or"):
            sign = " && " if op == "and" else " || "
            return self._keep(f"({sign.join(args)})", BOOL)
        if op == "not":
            return self._keep(f"(!{args[0]})", BOOL)
        text = f"(!{args[0]} || {args[1]})" if op == "implies" else f"({args[0]} == {args[1]})"
        return self._keep(text, BOOL)

    def select(self, cond: str, a: str, b: str, node: Expr) -> str:
        return self._keep(f"({cond} ? {a} : {b})", node.sort)

    def nonzero(self, a: str, node: Expr) -> str:
        return self._keep(f"({a} != 0)", BOOL)

    def number(self, value: Any, like: Expr) -> str:
        if not isinstance(value, int) or abs(value) >= _LARGEST:
            raise UsageError(f"C++ cannot say {value!r}")
        return f"whole({value}LL)"

    def truth(self, value: bool) -> str:
        return "true" if value else "false"

    def rel(self, table: Table, keys: Sequence[str], node: Expr) -> str:
        if not table.rows:
            return self.truth(False)
        return self._keep(f"(find_row({self._rows(table, keys)}) != nullptr)", BOOL)

    def lookup(self, table: Table, keys: Sequence[str], node: Expr) -> str:
        if not table.rows:
            return self.number(0, node)
        return self._keep(f"last_of({self._rows(table, keys)})", INT)

    def _rows(self, table: Table, keys: Sequence[str]) -> str:
        if table not in self._tables:
            self._tables[table] = name = f"t{len(self.lines)}"
            self.lines.append(f"static const long long {name}{_initial(table)};")
        return ", ".join([self._tables[table], *(f"whole({k})" for k in keys)])


@lru_cache(maxsize=32)
def _initial(table: Table) -> str:
    """A table's size and rows as the text of C++; kernels of one rule book have the same ones."""
    rows = [(*key, value) for key, value in table.rows.items()]
    if any(type(n) not in (int, bool) or abs(n) >= _LARGEST for row in rows for n in row):
        raise UsageError(f"C++ cannot say the table {table.name}")
    texts = ("{" + ", ".join(str(int(n)) for n in row) + "}" for row in rows)
    return f"[][{len(table.keys) + 1}] = {{{', '.join(texts)}}}"


def function(name: str, condition: BoolExpr, kind: str, members: Mapping[str, str]) -> str:
    """A C++ function that says of a structure's bytes whether a condition holds.

    Args:
        condition: What it answers.
        kind: The C structure ``p`` that the bytes hold; they need not be aligned.
        members: For each variable the expression of ``p`` that has its value.

    Raises:
        UsageError: For words, reals, tables of them and variables that ``p`` does not have.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, n = Int("m", range(9)), Int("n", range(9))
    >>> print(function("fits", m % 4 + n < 8, "sizes", {"m": "p.m", "n": "p.n"}))
    static bool fits(const void* data)
    {
        using namespace ckrules_rules;
        sizes p;
        std::memcpy(&p, data, sizeof(p));
        return ((modulo(whole(p.m), whole(4LL)) + whole(p.n)) < whole(8LL));
    }
    """
    uses = Counter(a.id for node in walk(condition) for a in node.args)
    uses[condition.id] += 1
    sorts = {v.data.name: v.sort for v in walk(condition) if v.op == "var"}
    terms = {n: c if sorts.get(n) == BOOL else f"whole({c})" for n, c in members.items()}
    source = _Source(uses, terms)
    answer = Lowering(source).bool(condition)
    lines = [
        "using namespace ckrules_rules;",
        f"{kind} p;",
        "std::memcpy(&p, data, sizeof(p));",
        *source.lines,
        f"return {answer};",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"static bool {name}(const void* data)\n{{\n{body}\n}}"

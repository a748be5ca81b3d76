"""Compiled back end: expressions as one generated Python function, for many points at a time.

The source is made from nodes only, never from text that a user wrote, and its constants enter
through the function's globals, so nothing of a file's content is ever executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ckrules.engine.evaluate.pointwise import is_pow2
from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.expr.operators import SIGNS
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rewrite.lower import Lowering

_INLINE = 90  # longer source text gets a name of its own, so that nesting stays shallow


class SourceAlgebra:
    """Algebra over Python source text; repeated and long terms become local variables."""

    def __init__(self, uses: Mapping[int, int]) -> None:
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {"_pow2": is_pow2}
        self._uses = uses
        self._vars: dict[str, str] = {}

    def _keep(self, text: str, node: Any = None) -> str:
        shared = node is None or self._uses.get(getattr(node, "id", -1), 2) > 1
        if not shared and len(text) < _INLINE:
            return text
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _global(self, prefix: str, value: Any) -> str:
        name = f"_{prefix}{len(self.globals)}"
        self.globals[name] = value
        return name

    def const(self, node: Expr) -> str:
        return (
            repr(node.data) if isinstance(node.data, (int, bool)) else self._global("c", node.data)
        )

    def var(self, node: Expr) -> str:
        name = node.data.name
        if name not in self._vars:
            self._vars[name] = self._keep(f"p[{name!r}]")
        return self._vars[name]

    def arith(self, op: str, a: str, b: str, node: Expr) -> str:
        if op in SIGNS:
            text = f"({a} {SIGNS[op]} {b})"
        elif op == "ceil_div":
            text = f"(-(-{a} // {b}))"
        else:
            a, b = self._keep(a), self._keep(b)
            sign = "<" if op == "min" else ">"
            text = f"({b} if {b} {sign} {a} else {a})"
        return self._keep(text, node)

    def compare(self, op: str, a: str, b: str, node: Expr) -> str:
        return self._keep(f"({a} {SIGNS[op]} {b})", node)

    def isin(self, a: str, values: tuple[Any, ...], node: Expr) -> str:
        return self._keep(f"({a} in {self._global('s', frozenset(values))})", node)

    def is_pow2(self, a: str, node: Expr) -> str:
        return self._keep(f"_pow2({a})", node)

    def logic(self, op: str, args: Sequence[str]) -> str:
        if op in ("and", "or"):
            return self._keep("(" + f" {op} ".join(args) + ")")
        if op == "not":
            return self._keep(f"(not {args[0]})")
        text = f"(not {args[0]} or {args[1]})" if op == "implies" else f"({args[0]} == {args[1]})"
        return self._keep(text)

    def select(self, cond: str, a: str, b: str, node: Expr) -> str:
        return self._keep(f"({a} if {cond} else {b})")

    def nonzero(self, a: str, node: Expr) -> str:
        return self._keep(f"({a} != 0)")

    def number(self, value: int, like: Expr) -> str:
        return repr(value)

    def truth(self, value: bool) -> str:
        return repr(value)

    def _key(self, keys: Sequence[str]) -> str:
        return self._keep("(" + ", ".join(keys) + ",)")

    def rel(self, table: Table, keys: Sequence[str], node: Expr) -> str:
        return self._keep(f"({self._key(keys)} in {self._global('r', dict(table.rows))})")

    def lookup(self, table: Table, keys: Sequence[str], node: Expr) -> str:
        return self._keep(f"{self._global('g', dict(table.rows).get)}({self._key(keys)}, 0)")


def compile_function(
    roots: Sequence[BoolExpr], never_zero: Callable[[Expr], bool] | None = None
) -> Callable[[Mapping[str, Value]], tuple[bool, ...]]:
    """A function from a point to the truth of every root.

    Args:
        never_zero: Tells which divisors need no guard, as for `Lowering`.

    >>> from ckrules.engine.expr.variables import Int
    >>> x = Int("x", range(8))
    >>> compile_function([x % 2 == 0, 6 % x == 0])({"x": 0})
    (True, False)

    Raises:
        KeyError: When called with a point that lacks a variable.
    """
    function: Callable[[Mapping[str, Value]], tuple[bool, ...]]
    if never_zero is None:
        function = _kept(_Conditions(roots))
    else:
        function = _compiled(roots, _truth, never_zero)
    return function


class _Conditions:
    """Expressions as a key: they are the same if each is the same node."""

    def __init__(self, roots: Sequence[BoolExpr]) -> None:
        self.roots = tuple(roots)
        self._ids = tuple(r.id for r in roots)

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Conditions) and self._ids == other._ids


@lru_cache(maxsize=1024)
def _kept(conditions: _Conditions) -> Any:
    """The function of some conditions, made once: each question about a book has the same ones."""
    return _compiled(conditions.roots, _truth, None)


def _truth(value: str, defined: str | None) -> str:
    return value


def compile_values(
    roots: Sequence[Expr], never_zero: Callable[[Expr], bool] | None = None
) -> Callable[[Mapping[str, Value]], tuple[Any, ...]]:
    """A function from a point to the value of every root, None where it is undefined.

    ``never_zero`` is that of `compile_function`.

    >>> from ckrules.engine.expr.variables import Int
    >>> x = Int("x", range(8))
    >>> compile_values([x * 2, 6 % x])({"x": 0})
    (0, None)

    Raises:
        KeyError: When called with a point that lacks a variable.
    """
    function: Callable[[Mapping[str, Value]], tuple[Any, ...]] = _compiled(
        roots,
        lambda value, defined: value if defined is None else f"({value} if {defined} else None)",
        never_zero,
    )
    return function


def _compiled(
    roots: Sequence[Expr],
    result: Callable[[str, str | None], str],
    never_zero: Callable[[Expr], bool] | None,
) -> Any:
    uses = Counter(a.id for node in walk(*roots) for a in node.args)
    uses.update(r.id for r in roots)
    source = SourceAlgebra(uses)
    low: Lowering[str] = Lowering(source, never_zero)
    results = [result(*low.pair(r)) for r in roots]
    body = "\n".join(f"    {line}" for line in source.lines) or "    pass"
    text = f"def f(p):\n{body}\n    return ({', '.join(results)}{',' if results else ''})\n"
    scope: dict[str, Any] = source.globals
    exec(compile(text, "<ckrules rules>", "exec"), scope)
    return scope["f"]

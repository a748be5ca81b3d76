"""Exactness: conditions that columns of 64-bit numbers would round, written out as relations.

Columns are int64 and float64. Python's integers have no limit, and it compares an int with a
float without rounding either; where that makes a difference, a condition is evaluated with
Python's own numbers at each combination of values that its variables have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, cast

from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BOOL, BoolExpr, Expr, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import substitute, walk
from ckrules.engine.rewrite.bounds import Bounds, bounds_of
from ckrules.support.errors import UsageError

_TABLE_LIMIT = 200_000


def exact(root: BoolExpr, values: Mapping[str, Sequence[Any]]) -> BoolExpr:
    """``root`` with each smallest condition that columns would round written out as a relation.

    A condition over too many combinations of values stays as it is, and
    `ckrules.engine.evaluate.vector.check_width` refuses it.

    Args:
        values: The values of each of its variables, which are all that the result holds for.

    Raises:
        UsageError: Where an integer beyond what a float can be meets one.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, b = Int("a", [2**40 - 1, 3]), Int("b", [8193, 8192])
    >>> values = {"a": (2**40 - 1, 3), "b": (8193, 8192)}
    >>> exact(a * b < 5, values).op, exact((a * b) / 1 == a * b, values).op
    ('lt', 'rel')
    """
    if "exact" not in root.notes:
        root.notes["exact"] = _holds(root, Bounds())
    if root.notes["exact"] or _holds(root, bounds_of(values)):
        return root

    def replace(node: Expr) -> Expr | None:
        if node.sort != BOOL or all(a.sort == BOOL for a in node.args):
            return None
        variables = [n for n in walk(node) if n.op == "var"]
        size = prod(len(values[v.data.name]) for v in variables)
        if size > _TABLE_LIMIT or _holds(node, bounds_of(values)):
            return None
        return relation_of(node, variables, [values[v.data.name] for v in variables])

    return cast(BoolExpr, substitute(root, replace))


def relation_of(
    node: Expr, variables: Sequence[Expr], domains: Sequence[Sequence[Any]]
) -> BoolExpr:
    """The relation of the values of some variables at which a condition over them holds."""
    names = [v.data.name for v in variables]
    holds = compile_function([cast(BoolExpr, node)])
    try:
        rows = [r for r in product(*domains) if holds(dict(zip(names, r, strict=True)))[0]]
    except OverflowError:
        text = f"`{str(node)[:80]}` reaches an integer beyond what a float can be"
        raise UsageError(text) from None
    sorts = [v.sort for v in variables]
    return rel(Table.relation(str(node)[:80], names, rows, key_sorts=sorts), *variables)


def _holds(root: Expr, bounds: Bounds) -> bool:
    bounds.of(root)
    return bounds.too_wide is None

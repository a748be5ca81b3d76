"""Conditions that callers give: expressions, or texts in the language of ``--where``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.engine.expr import BoolExpr, Expr
from ckrules.support.errors import UsageError, unknown


def condition_over(
    given: Any, names: Mapping[str, Expr], variables: Mapping[str, Expr]
) -> BoolExpr:
    """A condition over some variables.

    Args:
        given: The condition, or its text.
        names: What texts may name.
        variables: What conditions may read.

    Raises:
        UnknownNameError: When it reads another variable.
        UsageError: For what is not a condition.

    >>> from ckrules.engine.expr.variables import Int
    >>> fields = {"m": Int("m", [16, 32])}
    >>> condition_over("m > 16", fields, fields)
    m > 16
    """
    if isinstance(given, str):
        from ckrules.engine.lang.where import parse_condition

        given = parse_condition(given, names)
    if not isinstance(given, BoolExpr):
        raise UsageError(f"`{given!r}` is not a condition")
    for name in sorted(given.support - variables.keys()):
        raise unknown("variable", name, variables)
    return given

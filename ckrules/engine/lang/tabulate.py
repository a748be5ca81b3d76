"""Parts of a restriction that have no counterpart among the nodes, written out as tables.

A part is worked out with Python's own numbers at every combination of values of the variables
that it reads, so that it has Python's answer whatever it calls.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.lang.calls import EvaluationMeter
from ckrules.engine.lang.interpret import RAISED, WORK, Interpreter, UnreadableError

_TABLE_LIMIT = 50_000  # combinations of values of one part
_ROW = 8  # operations that making a row of a table is worth
_LARGEST = 2**62
_TITLE = 80


class UnexpressedError(Exception):
    """A term that is not a number within 62 bits at some point; conditions over it may be known."""


class Tabulator:
    """Makes tables of parts of one text.

    Args:
        resolve: The field or constant that a name means.
    """

    def __init__(self, resolve: Callable[[ast.Name], Any]) -> None:
        self._resolve, self._meter = resolve, EvaluationMeter(WORK)

    def condition(self, tree: ast.expr) -> e.BoolExpr:
        """Where a part is true.

        Raises:
            UnreadableError: For a form that is not known, or too many combinations.
            TooLargeError: For numbers beyond the limits.
        """
        step = Interpreter(tree, truth=True, meter=self._meter)
        variables, points = self._points(tree, step)
        rows = [row for row, values in points if step(values)]
        if step.refusal and not step.answered:
            raise UnreadableError(tree, step.refusal)
        if not rows or len(rows) == math.prod(len(v.data.values) for v in variables):
            return e.TRUE if rows else e.FALSE
        names = [v.data.name for v in variables]
        sorts = [v.sort for v in variables]
        return e.rel(Table.relation(_title(tree), names, rows, key_sorts=sorts), *variables)

    def number(self, tree: ast.expr) -> Any:
        """A part that is a number: undefined where Python raises, and beside the candidates.

        Raises:
            UnexpressedError: If it is not a number somewhere, or none that the nodes can hold.
            UnreadableError: For a form that is not known, or too many combinations.
            TooLargeError: For numbers beyond the limits.
        """
        step = Interpreter(tree, meter=self._meter)
        variables, points = self._points(tree, step)
        rows: dict[tuple[Any, ...], Any] = {}
        errors: list[Exception] = []
        for row, names in points:
            try:
                rows[row] = _number(step(names))
            except RAISED as error:
                errors.append(error)
        if not rows and errors:
            if not variables or all(isinstance(x, TypeError) for x in errors):
                raise UnreadableError(tree, str(errors[0]))
            return e.undef(e.const(0))
        if not variables:
            return rows[()]
        keys, sorts = [v.data.name for v in variables], [v.sort for v in variables]
        return e.lookup(Table(_title(tree), keys, rows, key_sorts=sorts), *variables)

    def constant(self, tree: ast.expr) -> Any:
        """The value of a part that reads no variable; None if it reads one."""
        step = Interpreter(tree, meter=self._meter)
        variables, points = self._points(tree, step)
        if variables:
            return None
        try:
            return next(step(names) for _, names in points)
        except RAISED as error:
            raise UnreadableError(tree, str(error)) from None

    def _points(
        self, tree: ast.expr, step: Interpreter
    ) -> tuple[list[e.Expr], Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]]:
        """The variables that a part depends on, and its names' values at each combination."""
        fields = {n: self._resolve(place) for n, place in step.names.items()}
        derived = {n: f for n, f in fields.items() if isinstance(f, e.Expr)}
        plain = {n: f for n, f in fields.items() if n not in derived}
        variables = [n for n in walk(*derived.values()) if n.op == "var"]
        domains = [v.data.values for v in variables]
        size = math.prod(map(len, domains))
        self._meter.left -= size * (_ROW + sum(1 for _ in ast.walk(tree)))
        if size > _TABLE_LIMIT or self._meter.left < 0:
            limit = f"at most {_TABLE_LIMIT:,} are"
            if size <= _TABLE_LIMIT:
                limit = "all parts of the text together have too many"
            problem = f"must be worked out for {size:,} combinations of values: {limit}"
            raise UnreadableError(tree, f"`{_title(tree)}` {problem}")

        def points() -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
            names = [v.data.name for v in variables]
            simple = all(f.op == "var" and f.data.name == n for n, f in derived.items())
            for row in product(*domains):
                point = dict(zip(names, row, strict=True))
                if simple:
                    yield row, point | plain
                    continue
                at = At(point)
                values = {n: at.value(f) for n, f in derived.items()}
                if None not in values.values():
                    yield row, values | plain

        return variables, points()


def _title(tree: ast.expr) -> str:
    text = ast.unparse(tree)
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise UnexpressedError(value)

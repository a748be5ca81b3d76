"""Restrictions of other tuners: Kernel Tuner's dictionaries, strings and lambdas as a space.

Strings are parsed, never evaluated. A lambda or function is read through its source text; it may
take the parameters by name, or one dictionary. Values that it closes over become constants.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ckrules.engine import python_text  # noqa: F401 - loaded here, not with the first text
from ckrules.engine.errors import UsageError
from ckrules.engine.expr import BoolExpr
from ckrules.engine.parse import parse_condition
from ckrules.engine.space import Space
from ckrules.engine.variables import variable

Restriction = str | Callable[..., Any]


def space_of(
    tune_params: Mapping[str, Sequence[Any]],
    restrictions: Iterable[Restriction] | Restriction | None = None,
) -> Space:
    """The space of Kernel Tuner's ``tune_params`` and ``restrictions``.

    Args:
        tune_params: Values by parameter name.
        restrictions: Texts such as ``"block_size_x * block_size_y <= 1024"``, or functions of the
            parameters (by name) or of one dictionary of them.

    A remainder or division by zero makes the comparison around it false.

    Raises:
        UsageError: For a restriction that is no condition over the parameters.

    >>> params = {"block_size_x": [16, 32, 64], "tile_size": [1, 2, 3]}
    >>> space_of(params, ["block_size_x * tile_size <= 64", lambda p: p["tile_size"] != 3]).count()
    5
    """
    nodes = {name: variable(name, values) for name, values in tune_params.items()}
    if restrictions is None:
        restrictions = ()
    elif isinstance(restrictions, str) or callable(restrictions):
        restrictions = (restrictions,)
    return Space(nodes.values(), [_condition(r, nodes) for r in restrictions])


def _condition(restriction: Restriction, nodes: Mapping[str, Any]) -> BoolExpr:
    if isinstance(restriction, str):
        return parse_condition(restriction, nodes, python=True)
    if not callable(restriction):
        raise UsageError(f"a restriction is a text or a function, not {restriction!r}")
    return parse_condition(source_of(restriction), nodes, python=True)


def source_of(function: Callable[..., Any]) -> str:
    """The condition that a lambda or a function of one ``return`` states, as text.

    >>> source_of(lambda p: p["a"] % p["b"] == 0)
    'a % b == 0'
    """
    name = getattr(function, "__name__", "the function")
    arguments, body = _body(function, name)
    constants = _constants(function)
    whole = arguments[0] if len(arguments) == 1 else ""
    return ast.unparse(_Inline(whole, constants).visit(body))


def _body(function: Callable[..., Any], name: str) -> tuple[list[str], ast.expr]:
    """Argument names and returned expression, from the source text."""
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        raise _unreadable(name) from None
    node = _node_of(function, tree)
    if node is None:
        raise _unreadable(name)
    arguments = [a.arg for a in node.args.args]
    if isinstance(node, ast.Lambda):
        return arguments, node.body
    last = node.body[-1]
    plain = [s for s in node.body[:-1] if not isinstance(s, ast.Expr)]  # a docstring may precede
    if not isinstance(last, ast.Return) or last.value is None or plain:
        raise UsageError(f"{name} must consist of one return: give the restriction as text")
    return arguments, last.value


def _node_of(function: Callable[..., Any], tree: ast.AST) -> Any:
    """The lambda or definition that the function was made from, found by its position."""
    code: Any = getattr(function, "__code__", None)
    spots = [(line, col) for line, _, col, _ in code.co_positions() if line and col] if code else []
    best: Any = None
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Lambda, ast.FunctionDef)):
            continue
        begin = node.lineno, node.col_offset
        end = node.end_lineno or 0, node.end_col_offset or 0
        if spots and all(begin <= spot <= end for spot in spots):
            best = node  # inner nodes come later in the walk
    return best


def _unreadable(name: str) -> UsageError:
    return UsageError(f"the source of {name} cannot be read: give the restriction as text")


def _constants(function: Callable[..., Any]) -> dict[str, Any]:
    """Numbers, words and lists of them that the function reads from around it."""
    found = inspect.getclosurevars(function)
    known = {**found.globals, **found.nonlocals}
    plain = (bool, int, float, str)
    return {
        n: v
        for n, v in known.items()
        if isinstance(v, plain)
        or (isinstance(v, (list, tuple, set)) and all(isinstance(x, plain) for x in v))
    }


class _Inline(ast.NodeTransformer):
    """``p["name"]`` as ``name``, and constants in place of the names that stand for them."""

    def __init__(self, whole: str, constants: Mapping[str, Any]) -> None:
        self._whole, self._constants = whole, constants

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        mine = isinstance(node.value, ast.Name) and node.value.id == self._whole
        if mine and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return ast.Name(node.slice.value, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._constants:
            return node
        value = self._constants[node.id]
        text = repr(list(value) if isinstance(value, (set, tuple)) else value)
        return ast.parse(text, mode="eval").body

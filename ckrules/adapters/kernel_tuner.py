"""Kernel Tuner: dictionaries of parameters, and restrictions as strings or functions, as a space.

Strings are parsed, never evaluated. A lambda or function is read through its source text; it may
take the parameters by name, or one dictionary. Values that it closes over become constants. A
function that cannot be read is called at every combination of the parameters that it takes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ckrules.adapters.functions import UnreadError, arguments_of, name_of, plain, read, tree_of
from ckrules.engine.expr import FALSE, TRUE, BoolExpr, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import labels, variable
from ckrules.engine.lang.python import LimitError, parse_restriction
from ckrules.engine.lang.reader import ExpressionError
from ckrules.engine.rules.restriction import restriction
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError
from ckrules.support.plain_values import mapping, several

Restriction = str | Callable[..., Any]

_CALLS = 50_000  # of a function that cannot be read
_RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


def space_of(
    tune_params: Mapping[str, Sequence[Any]],
    restrictions: Iterable[Restriction] | Restriction | None = None,
) -> Space:
    """The space of Kernel Tuner's ``tune_params`` and ``restrictions``.

    Args:
        tune_params: Values by parameter name. Numbers of numpy become the Python numbers that
            they are equal to.
        restrictions: Texts such as ``"block_size_x * block_size_y <= 1024"``, or functions of the
            parameters (by name) or of one dictionary of them.

    A restriction holds where Python calls its value true. Where Python raises an error, such as a
    remainder by zero, the comparison around it is false.

    Raises:
        UsageError: For a restriction that is not a condition over the parameters, that reaches
            numbers beyond the limits, or that would have to be tabulated for too many points.

    >>> params = {"block_size_x": [16, 32, 64], "tile_size": [1, 2, 3]}
    >>> space_of(params, ["block_size_x * tile_size <= 64", lambda p: p["tile_size"] != 3]).count()
    5
    """
    given = mapping("tune_params", tune_params).items()
    nodes = {n: _parameter(n, [plain(v) for v in several(str(n), plain(vs))]) for n, vs in given}
    if restrictions is None:
        restrictions = ()
    elif callable(restrictions):
        restrictions = (restrictions,)
    listed = several("restrictions", restrictions)
    rules = [restriction(n, _condition(r, nodes), *_said(r)) for n, r in enumerate(listed, 1)]
    return Space(nodes.values(), rules)


def _said(given: Restriction) -> tuple[str, str]:
    """What answers call a restriction, and where it stands."""
    if isinstance(given, str):
        return given, ""
    code: Any = getattr(given, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else ""
    name = getattr(given, "__name__", "<lambda>")
    return ("" if name == "<lambda>" else name), place


def _parameter(name: str, values: list[Any]) -> Any:
    sorts = {"number" if type(v) in (int, float) else type(v).__name__ for v in values}
    known = len(sorts) < 2 and sorts <= {"number", "str", "bool"}
    return variable(name, values) if known else labels(name, values)


def _condition(restriction: Restriction, nodes: Mapping[str, Any]) -> BoolExpr:
    if isinstance(restriction, str):
        return parse_restriction(restriction, nodes)
    if not callable(restriction):
        raise UsageError(f"a restriction is a text or a function, not {restriction!r}")
    whole = _whole(restriction, nodes)
    try:
        found = read(restriction, whole, list(nodes))
        return parse_restriction(found.text, {**found.constants, **nodes})
    except LimitError:
        raise
    except (UnreadError, ExpressionError) as error:
        return _called(restriction, whole, nodes, error)


def source_of(function: Callable[..., Any], parameters: Sequence[str] = ()) -> str:
    """What a lambda or function returns, as text over its arguments or dictionary's keys.

    >>> source_of(lambda p: p["a"] % p["b"] == 0)
    'a % b == 0'
    """
    names = dict.fromkeys(parameters)
    arguments = list(arguments_of(function))
    if len(arguments) > 1:
        names |= dict.fromkeys(arguments)
    return read(function, _whole(function, names), list(names)).text


def _whole(function: Callable[..., Any], nodes: Mapping[str, Any]) -> str:
    """The argument that is a dictionary of all parameters, if there is one."""
    needed = [
        n for n, default in arguments_of(function).items() if default is inspect.Parameter.empty
    ]
    if len(needed) != 1 or (needed[0] in nodes and not _is_indexed(function, needed[0])):
        return ""
    return needed[0]


def _is_indexed(function: Callable[..., Any], name: str) -> bool:
    """True if an argument that has a parameter's name is used as a dictionary."""
    try:
        tree = tree_of(function)
    except UnreadError:
        return False
    return any(
        isinstance(n.value, ast.Name)
        and n.value.id == name
        and (
            hasattr(dict, n.attr)
            if isinstance(n, ast.Attribute)
            else isinstance(n.slice, ast.Constant) and isinstance(n.slice.value, str)
        )
        for n in ast.walk(tree)
        if isinstance(n, (ast.Attribute, ast.Subscript))
    )


def _called(
    function: Callable[..., Any], whole: str, nodes: Mapping[str, Any], reason: UsageError
) -> BoolExpr:
    """The points at which a function returns something true, found by calling it."""
    names = _read_keys(function, whole, nodes) if whole else _taken(function, nodes)
    variables = [nodes[n] for n in names]
    domains = [v.data.values for v in variables]
    size = prod(map(len, domains))
    if size > _CALLS:
        raise UsageError(
            f"{reason}; {name_of(function)} would have to be called for {size:,} combinations of "
            f"values, more than {_CALLS:,}: give the restriction as text"
        )
    rows, raised = [], 0
    for row in product(*domains):
        point = dict(zip(names, row, strict=True))
        try:
            if function(point) if whole else function(**point):
                rows.append(row)
        except _RAISED:
            raised += 1
    if raised == size:
        only = list(arguments_of(function))
        if not whole and len(only) == 1:  # perhaps a dictionary that is called like a parameter
            return _called(function, only[0], nodes, reason)
        raise UsageError(f"{reason}: give the restriction as text")
    if len(rows) in (0, size):
        return TRUE if rows else FALSE
    sorts = [v.sort for v in variables]
    return rel(Table.relation(name_of(function), names, rows, key_sorts=sorts), *variables)


def _taken(function: Callable[..., Any], nodes: Mapping[str, Any]) -> list[str]:
    return [n for n in arguments_of(function) if n in nodes]


def _read_keys(function: Callable[..., Any], whole: str, nodes: Mapping[str, Any]) -> list[str]:
    """The parameters that a function takes out of its dictionary, all if that is not plain."""
    try:
        tree = tree_of(function)
    except UnreadError:
        return list(nodes)
    uses = sum(isinstance(n, ast.Name) and n.id == whole for n in ast.walk(tree))
    keys = [
        n.slice.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id == whole
        and isinstance(n.slice, ast.Constant)
    ]
    return [n for n in nodes if n in keys] if len(keys) == uses else list(nodes)

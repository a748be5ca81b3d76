"""Python functions as restriction texts: read from their source, never changed or run.

A lambda, or a function of assignments, ``if`` and ``return``, is one expression of its arguments.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.lang.calls import FUNCTIONS
from ckrules.support.errors import UsageError
from ckrules.support.syntax import module_tree

_MODULES = {"math": "math", "np": "numpy", "numpy": "numpy"}
_SIZE = 5_000  # nodes of the syntax tree of one expression


class UnreadError(UsageError):
    """A function that cannot be said as one expression."""


@dataclass
class FunctionText:
    """A function as text: constants are values that it reads from around it, by name."""

    text: str
    constants: dict[str, Any] = field(default_factory=dict)


def plain(value: Any) -> Any:
    """A value of numpy as the Python value that it is equal to; others as they are."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value


def name_of(function: Callable[..., Any]) -> str:
    """What messages call a function."""
    return str(getattr(function, "__name__", "the function"))


def arguments_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The names of the arguments, with their defaults (`inspect.Parameter.empty` for none).

    Raises:
        UnreadError: For arguments that cannot be given by name.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise UnreadError(f"the arguments of {name_of(function)} are not known") from None
    for p in found:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise UnreadError(f"{name_of(function)} takes any arguments: name them")
    return {p.name: p.default for p in found}


def tree_of(function: Callable[..., Any]) -> ast.Lambda | ast.FunctionDef:
    """The syntax tree of a function, found by its position in its file.

    Raises:
        UnreadError: If there is no source, or more than one function fits.
    """
    try:
        lines, _ = inspect.findsource(function)
        tree = module_tree("".join(lines))
    except (OSError, TypeError, SyntaxError):
        raise UnreadError(f"the source of {name_of(function)} cannot be read") from None
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
    if best is None or (isinstance(best, ast.FunctionDef) and best.decorator_list):
        raise UnreadError(f"the source of {name_of(function)} cannot be read")
    found: ast.Lambda | ast.FunctionDef = best
    return found


def read(function: Callable[..., Any], whole: str, parameters: Sequence[str]) -> FunctionText:
    """What a function returns, as one expression.

    Args:
        function: A lambda or function.
        whole: The argument that is a dictionary of all parameters; empty for none.
        parameters: Names that the expression may read.

    Raises:
        UnreadError: If it cannot be said as one expression.

    >>> def fits(p):
    ...     size = p["a"] * 4
    ...     if p["b"] == 1:
    ...         return True
    ...     return size <= 64
    >>> read(fits, "p", ["a", "b"]).text  # doctest: +SKIP
    'True if b == 1 else a * 4 <= 64'
    """
    tree = tree_of(function)
    constants = _around(function, parameters)
    inline = _Inline(whole, parameters, constants)
    known: dict[str, ast.expr] = {}
    for name, default in arguments_of(function).items():
        if name != whole and name not in parameters:
            if default is inspect.Parameter.empty:
                raise UnreadError(f"{name_of(function)} takes {name!r}, which is not a parameter")
            known[name] = _value(inline.constant(name, plain(default)))
    try:
        if isinstance(tree, ast.Lambda):
            body = inline(tree.body, known)
        else:
            body = _Statements(inline, name_of(function)).value(tree.body, known)
        return FunctionText(ast.unparse(body), inline.kept)
    except RecursionError:
        raise UnreadError(f"{name_of(function)} is nested too deeply") from None


def _around(function: Callable[..., Any], parameters: Sequence[str]) -> dict[str, Any]:
    """What the function reads from around it, by name."""
    found = inspect.getclosurevars(function)
    known = {**found.globals, **found.nonlocals}
    for name, value in known.items():
        expected = getattr(math, name, getattr(builtins, name, None))
        module = _MODULES.get(name)
        other = name in FUNCTIONS and value is not expected
        if other or (module and getattr(value, "__name__", "") != module):
            raise UnreadError(f"{name} in {name_of(function)} is not Python's own")
    return {n: plain(v) for n, v in known.items() if n not in FUNCTIONS and n not in _MODULES}


def _value(value: Any) -> ast.expr:
    return value if isinstance(value, ast.expr) else ast.Constant(value)


class _Inline(ast.NodeTransformer):
    """``p["name"]`` as ``name``, and constants in place of the names that stand for them."""

    def __init__(self, whole: str, parameters: Sequence[str], around: Mapping[str, Any]) -> None:
        self._whole, self._parameters, self._around = whole, parameters, around
        self._known: Mapping[str, ast.expr] = {}
        self._size = 0
        self.kept: dict[str, Any] = {}

    def __call__(self, node: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr:
        self._known = known
        made: ast.expr = self.visit(copy.deepcopy(node))
        self._size += sum(1 for _ in ast.walk(made))
        if self._size > _SIZE:
            raise UnreadError("the function is too long")
        return made

    def constant(self, name: str, value: Any) -> ast.expr:
        """A value in place: a number or word itself, others under a name of their own."""
        if isinstance(value, (bool, int, str)) or value is None:
            return ast.Constant(value)
        if isinstance(value, float) and math.isfinite(value):
            return ast.Constant(value)
        while name in self._parameters:
            name += "_"
        self.kept[name] = value
        return ast.Name(name, ast.Load())

    def _is_whole(self, node: ast.AST) -> bool:
        mine = isinstance(node, ast.Name) and node.id == self._whole
        return mine and self._whole not in self._known

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if self._is_whole(node.value) and isinstance(key, str) and key.isidentifier():
            return ast.Name(key, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """``"name" in p`` is known."""
        inside = len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))
        if inside and self._is_whole(node.comparators[0]) and isinstance(node.left, ast.Constant):
            found = node.left.value in self._parameters
            return ast.Constant(found == isinstance(node.ops[0], ast.In))
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``p.get("name", 1)``."""
        get = node.func
        mine = isinstance(get, ast.Attribute) and get.attr == "get" and self._is_whole(get.value)
        if mine and 1 <= len(node.args) <= 2 and isinstance(node.args[0], ast.Constant):
            name = str(node.args[0].value)
            if name in self._parameters:
                return ast.Name(name, ast.Load())
            rest: list[ast.expr] = [self.visit(a) for a in node.args[1:]]
            return rest[0] if rest else ast.Constant(None)
        if isinstance(get, ast.Name) and get.id not in self._known:
            node.args = [self.visit(a) for a in node.args]
            return node
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._known:
            return self._known[node.id]
        if node.id in self._parameters and node.id not in self._around:
            return node
        if node.id in self._around:
            return self.constant(node.id, self._around[node.id])
        return node


class _Statements:
    """A function's body as one expression."""

    def __init__(self, inline: _Inline, name: str) -> None:
        self._inline, self._name = inline, name

    def value(self, body: Sequence[ast.stmt], known: Mapping[str, ast.expr]) -> ast.expr:
        """What the statements return where names are known to be expressions."""
        local = dict(known)
        for k, statement in enumerate(body):
            rest = body[k + 1 :]
            if isinstance(statement, ast.Return):
                return self._inline(statement.value or ast.Constant(None), local)
            if isinstance(statement, ast.If):
                test = self._inline(statement.test, local)
                then = self.value([*statement.body, *rest], local)
                return ast.IfExp(test, then, self.value([*statement.orelse, *rest], local))
            silent = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not silent and not isinstance(statement, ast.Pass):
                local |= self._assigned(statement, local)
        return ast.Constant(None)

    def _assigned(self, statement: ast.stmt, local: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
        """The names that a statement gives a meaning."""
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(statement, ast.Assign):
            pairs = [(t, statement.value) for t in statement.targets]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            before = ast.Name(statement.target.id, ast.Load())
            pairs = [(statement.target, ast.BinOp(before, statement.op, statement.value))]
        out: dict[str, ast.expr] = {}
        for target, value in pairs:
            targets, values = [target], [value]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                targets, values = target.elts, value.elts
            if len(targets) != len(values) or not all(isinstance(t, ast.Name) for t in targets):
                pairs = []
                break
            made = [self._inline(v, local) for v in values]
            out |= {t.id: v for t, v in zip(targets, made, strict=True) if isinstance(t, ast.Name)}
        if not pairs:
            kind = type(statement).__name__
            raise UnreadError(f"{self._name} has a statement that is not read: {kind}")
        return out

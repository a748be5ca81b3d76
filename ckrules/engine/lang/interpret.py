"""Python's values of an expression, worked out from its syntax tree by this module alone.

A tree becomes nested functions, which are called at many points; nothing is compiled by Python,
and only the operators and functions of `ckrules.engine.lang.calls` are ever carried out.

Where Python raises an error, the smallest condition around it is false, as everywhere in the
engine: a comparison, or a number whose truth is asked for.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.engine.expr.operators import COMPARE, OF_PYTHON
from ckrules.engine.lang.calls import CONSTANTS, FUNCTIONS, OPERATORS, EvaluationMeter
from ckrules.support.syntax import expression_tree

#: Operations for all parts of a text.
WORK = 10_000_000
Names = Mapping[str, Any]
Step = Callable[[Names], Any]

#: What Python raises where an expression has no value.
RAISED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def _among(a: Any, b: Any) -> bool:
    if isinstance(b, (int, float)):
        raise TypeError("a list of values is needed after `in`")
    return a in b


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    **{name: COMPARE[op] for name, op in OF_PYTHON.items() if op in COMPARE},
    "In": _among,
    "NotIn": lambda a, b: not _among(a, b),
    "Is": operator.is_,
    "IsNot": operator.is_not,
}


class UnreadableError(Exception):
    """A form that is not carried out; ``node`` is where it stands."""

    def __init__(self, node: ast.AST, problem: str) -> None:
        self.node = node
        super().__init__(problem)


class Interpreter:
    """The value of an expression at any point.

    Args:
        truth: Ask for its truth instead.
        meter: The work that it may take, shared with other parts of the same text.

    Raises:
        UnreadableError: For a form or function that is not known.

    >>> value = Interpreter(ast.parse("1 << b if a % b else -a", mode="eval").body)
    >>> value({"a": 5, "b": 3}), value({"a": 5, "b": 0})
    (8, -5)
    """

    def __init__(
        self, tree: ast.AST, *, truth: bool = False, meter: EvaluationMeter | None = None
    ) -> None:
        self._meter = meter or EvaluationMeter(WORK)
        #: Whether any condition had an answer, and what Python last said where one had none.
        self.answered, self.refusal = False, ""
        #: The names that it reads, with a place of each.
        self.names: dict[str, ast.Name] = {}
        self._step = self._truth(tree) if truth else self._read(tree)

    def __call__(self, names: Names) -> Any:
        """The value where names have these values.

        Raises:
            TooLargeError: Beyond the limits of `ckrules.engine.lang.calls`.
            ArithmeticError, AttributeError, LookupError, TypeError, ValueError: As Python.
        """
        return self._step(names)

    def _truth(self, node: ast.AST) -> Step:
        """The truth of an expression, false where Python raises."""
        step = self._read(node)
        if isinstance(node, (ast.Compare, ast.Constant)):
            return step

        def truth(names: Names) -> bool:
            try:
                found = bool(step(names))
            except RAISED as error:
                return self._refused(error)
            self.answered = True
            return found

        return truth

    def _refused(self, error: Exception) -> bool:
        if isinstance(error, TypeError):
            self.refusal = str(error)
        else:
            self.answered = True
        return False

    def _read(self, node: ast.AST) -> Step:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnreadableError(node, f"{type(node).__name__} is not allowed in a restriction")
        step: Step = method(node)
        return step

    def _constant(self, node: ast.Constant) -> Step:
        value = node.value
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise UnreadableError(node, f"{value!r} is not a number, a word or a Boolean")
        return lambda names: value

    def _name(self, node: ast.Name) -> Step:
        self.names.setdefault(node.id, node)
        return operator.itemgetter(node.id)

    def _attribute(self, node: ast.Attribute) -> Step:
        value = CONSTANTS.get(dotted(node))
        if value is None:
            raise UnreadableError(node, f"`{ast.unparse(node)[:60]}` is not a value")
        return lambda names: value

    def _binop(self, node: ast.BinOp) -> Step:
        function = OPERATORS.get(type(node.op).__name__)
        if function is None:
            raise UnreadableError(node, f"the operator {type(node.op).__name__} is not allowed")
        left, right = self._read(node.left), self._read(node.right)
        weighed = self._meter.weighed
        return lambda names: weighed(function(left(names), right(names)))

    def _unaryop(self, node: ast.UnaryOp) -> Step:
        if isinstance(node.op, ast.Not):
            truth = self._truth(node.operand)
            return lambda names: not truth(names)
        inner = self._read(node.operand)
        if isinstance(node.op, ast.Invert):
            return lambda names: ~_plain(inner(names))
        sign = operator.neg if isinstance(node.op, ast.USub) else operator.pos
        return lambda names: sign(inner(names))

    def _boolop(self, node: ast.BoolOp) -> Step:
        """``x and y`` is x where x is not true; ``or`` goes on where Python raises."""
        *before, last = [self._read(v) for v in node.values]
        both = isinstance(node.op, ast.And)

        def value(names: Names) -> Any:
            for step in before:
                try:
                    found = step(names)
                    if bool(found) is not both:
                        return found
                except RAISED:
                    if both:
                        raise
            return last(names)

        return value

    def _ifexp(self, node: ast.IfExp) -> Step:
        test, then, other = self._truth(node.test), self._read(node.body), self._read(node.orelse)
        return lambda names: then(names) if test(names) else other(names)

    def _compare(self, node: ast.Compare) -> Step:
        sides = [self._read(s) for s in (node.left, *node.comparators)]
        for op, side in zip(node.ops, node.comparators, strict=True):
            none = isinstance(side, ast.Constant) and side.value is None
            if isinstance(op, (ast.Is, ast.IsNot)) and not none:
                raise UnreadableError(node, "`is` compares objects: write ==")
        signs = [_COMPARE[type(op).__name__] for op in node.ops]

        def holds(names: Names) -> bool:
            try:
                left = sides[0](names)
                for sign, side in zip(signs, sides[1:], strict=True):
                    right = side(names)
                    if not sign(left, right):
                        self.answered = True
                        return False
                    left = right
            except RAISED as error:
                return self._refused(error)
            self.answered = True
            return True

        return holds

    def _tuple(self, node: ast.Tuple | ast.List) -> Step:
        make = tuple if isinstance(node, ast.Tuple) else list
        parts = [self._read(x) for x in node.elts]
        return lambda names: make(part(names) for part in parts)

    _list = _tuple

    def _set(self, node: ast.Set) -> Step:
        parts = [self._read(x) for x in node.elts]
        return lambda names: {part(names) for part in parts}

    def _subscript(self, node: ast.Subscript) -> Step:
        whole, place = self._read(node.value), self._read(node.slice)
        return lambda names: whole(names)[place(names)]

    def _call(self, node: ast.Call) -> Step:
        name = dotted(node.func)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise UnreadableError(node, f"{name or 'a function'} takes plain arguments only")
        if name in _FORMS and len(node.args) == len(_FORMS[name].args.args):
            return self._form(_FORMS[name], node.args)
        function = FUNCTIONS.get(name)
        if function is None:
            raise UnreadableError(node, f"unknown function {name or 'call'!r}")
        args = [self._read(a) for a in node.args]
        call = self._meter.call
        return lambda names: call(function, [a(names) for a in args])

    def _form(self, form: ast.Lambda, given: list[ast.expr]) -> Step:
        """A function by its body, which asks for each argument once, where it needs it."""
        args = {a.arg: self._read(v) for a, v in zip(form.args.args, given, strict=True)}
        outer, self.names = self.names, {}
        body = self._read(form.body)
        self.names = outer
        return lambda names: body(_Asked(args, names))


class _Asked(dict[str, Any]):
    """Arguments that are worked out when they are first asked for."""

    def __init__(self, steps: Mapping[str, Step], names: Names) -> None:
        self._steps, self._names = steps, names

    def __missing__(self, name: str) -> Any:
        self[name] = value = self._steps[name](self._names)
        return value


def _form(text: str) -> ast.Lambda:
    tree = expression_tree(text).body
    assert isinstance(tree, ast.Lambda)
    return tree


#: The functions of `ckrules.engine.lang.functions` that Python does not have, in its words.
_FORMS: dict[str, ast.Lambda] = {
    "ceil_div": _form("lambda a, b: -(-a // b)"),
    "divides": _form("lambda a, b: b % a == 0"),
    "iff": _form("lambda a, b: (not a) == (not b)"),
    "implies": _form("lambda a, b: not (a and not b)"),
    "is_pow2": _form("lambda a: a > 0 and float(a) == a // 1 and int(a) & (int(a) - 1) == 0"),
    "ite": _form("lambda c, a, b: a if c else b"),
    "round_up": _form("lambda a, b: -(-a // b) * b"),
}


def dotted(node: ast.AST) -> str:
    """The name of a function: ``floor``, or with its module ``math.floor``."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value

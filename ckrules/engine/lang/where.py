"""Expressions from text: the language of ``--where``.

Text is read with Python's own expression grammar. ``&``, ``|`` and ``~`` mean and, or, not and
bind like those words, so ``pipeline == 'mem' & tile_m >= 64`` needs no parentheses.
"""

from __future__ import annotations

import io
import tokenize
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckrules.engine.expr import INT, REAL, BoolExpr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.lang.reader import ExpressionError, ExpressionReader, Origin, checked, truth_of
from ckrules.support.errors import NeverTrueWarning, UsageError

_WORDS = {"&": "and", "|": "or", "~": "not"}


def parse(text: str, fields: Mapping[str, Any]) -> Any:
    """The expression that ``text`` says, over the given fields.

    Args:
        text: For example ``"tile_m >= 64 & pipeline in ['mem', 'compv3']"``.
        fields: Nodes by name (variables and derived quantities).

    Raises:
        ExpressionError: With the column of what is wrong and the nearest known name.
        UsageError: For what is not a string, and fields that are not nodes by name.

    >>> from ckrules.engine.expr.variables import Int
    >>> parse("a % 2 == 0 and 1 <= a <= 6", {"a": Int("a", range(8))})
    a % 2 == 0 & a >= 1 & a <= 6
    """
    if not isinstance(text, str):
        raise UsageError(f"`{text!r}` is not a string")
    if not isinstance(fields, Mapping):
        raise UsageError("the fields of a text are expressions by name")
    source, origin = _words_for_operators(checked(text))
    return ExpressionReader(text, source, fields, origin).expression()


def parse_condition(text: str, fields: Mapping[str, Any]) -> BoolExpr:
    """`parse` for a text that must be a condition.

    Raises:
        ExpressionError: Also when the text is a number or a word.
    """
    node = parse(text, fields)
    truth = truth_of(node) if isinstance(node, (bool, BoolExpr)) else None
    if truth is None:
        raise ExpressionError("a condition is needed, such as `tile_m >= 64`", text, 1)
    return truth


def warn_of_strangers(conditions: Iterable[BoolExpr], values: Mapping[str, Sequence[Any]]) -> None:
    """Warn of each number that a field is compared with but never is, with the nearest it is.

    Args:
        conditions: Conditions that a user wrote.
        values: What each field can be.

    >>> from ckrules.engine.expr.variables import Int
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warn_of_strangers([63 == Int("tile_m", [32, 64])], {"tile_m": (32, 64)})
    >>> str(seen[0].message)
    'tile_m is never 63; nearest 64'
    """
    for node in walk(*conditions):
        if node.op not in ("eq", "ne", "isin"):
            continue
        item, other = node.args[0], node.args[-1]
        if other.op == "var":
            item, other = other, item
        if item.op != "var" or item.sort not in (INT, REAL):
            continue
        listed = node.data if node.op == "isin" else [other.data] if other.op == "const" else []
        known = values.get(item.data.name) or item.data.values
        for value in listed:
            if value not in known:
                close = min(known, key=lambda v: (abs(v - value), v))
                text = f"{item.data.name} is never {value!r}; nearest {close!r}"
                warnings.warn(text, NeverTrueWarning, stacklevel=3)


def _words_for_operators(flat: str) -> tuple[str, Origin]:
    """``flat`` with & | ~ spelled out, and where each changed piece came from."""
    out: list[str] = []
    origin: Origin = [(0, 0)]
    done = length = 0
    last = ""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(flat).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        tokens = []  # ast.parse will report it with a place
    for token in tokens:
        word = _WORDS.get(token.string) if token.type == tokenize.OP else None
        if word is None:
            continue
        start, end = token.start[1], token.end[1]
        if start == done and token.string == last and last != "~":  # && and || as in C
            done, last = end, ""
            origin.append((length, end))
            continue
        last = token.string
        piece = flat[done:start] + f" {word} "
        out.append(piece)
        length += len(piece)
        done = end
        origin.append((length, end))
    out.append(flat[done:])
    return "".join(out), origin

"""Python's syntax trees, made by one thread at a time.

CPython 3.11 counts the depth of trees in one place for all threads, and two that parse at once end
with a SystemError (python/cpython#106905).
"""

from __future__ import annotations

import ast
from threading import RLock

_ALONE = RLock()


def module_tree(source: str | bytes) -> ast.Module:
    """The syntax tree of a module's code.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: As `ast.parse`.
    """
    with _ALONE:
        return ast.parse(source)


def expression_tree(source: str) -> ast.Expression:
    """The syntax tree of an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: As `ast.parse`.

    >>> type(expression_tree("1 + 2").body).__name__
    'BinOp'
    """
    with _ALONE:
        return ast.parse(source, mode="eval")

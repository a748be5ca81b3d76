"""The operators of numbers: how each is written, and what it makes of two of Python's numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

#: Arithmetic and comparisons as Python, C and this project write them, by operation.
SIGNS: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip

ARITH: Mapping[str, Callable[[Any, Any], Any]] = {
    **{op: getattr(operator, op) for op in list(SIGNS)[:6]},
    "ceil_div": lambda a, b: -(-a // b),
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
}
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    op: getattr(operator, op) for op in list(SIGNS)[6:]
}

#: The operation of a node of Python's syntax trees, by the node's name.
OF_PYTHON: Mapping[str, str] = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "FloorDiv": "floordiv", "Mod": "mod",
    "Div": "truediv", "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge",
}  # fmt: skip

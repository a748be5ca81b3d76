"""Functions that conditions as text may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckrules.engine import expr as e

#: Number of arguments (None: one or more) and function, by name.
CALLS: dict[str, tuple[int | None, Callable[..., Any]]] = {
    "min": (None, e.minimum), "max": (None, e.maximum), "ceil_div": (2, e.ceil_div),
    "divides": (2, e.divides), "is_pow2": (1, e.is_pow2), "implies": (2, e.implies),
    "ite": (3, e.ite), "round_up": (2, e.round_up),
    "iff": (2, lambda a, b: e.all_of(a) == e.all_of(b)),
}  # fmt: skip

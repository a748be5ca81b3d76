"""Back ends: each module here evaluates the same expressions in its own way.

A back end is a module with an `evaluate` function of the form of `Evaluate`; a new file is found by
itself, and `tests/engine/test_backends.py` then holds it against all the others.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Protocol

from ckrules.engine.expr import BoolExpr, Value

Point = Mapping[str, Value]


class Evaluate(Protocol):
    """Truth of every root at every point: one list per point, one Boolean per root."""

    def __call__(self, roots: Sequence[BoolExpr], points: Sequence[Point]) -> list[list[bool]]: ...


def names() -> list[str]:
    """The back ends that exist, sorted.

    >>> names()
    ['compiled', 'pointwise', 'smt', 'vector']
    """
    return sorted(m.name for m in pkgutil.iter_modules(__path__))


def evaluate(name: str) -> Evaluate:
    """The `evaluate` function of a back end, imported now and not before."""
    found: Evaluate = importlib.import_module(f"{__name__}.{name}").evaluate
    return found

"""What is said of kernels that a command takes as they are, legal or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point


def illegal(points: Sequence[Point], books: Books) -> str:
    """How many of some kernels break a rule of severity error; empty: none does."""
    from ckrules.engine.rules.batch import BatchChecker

    checkers: dict[str, BatchChecker] = {}
    broken = []
    for point in points:
        variant = str(point["variant"])
        if variant not in checkers:
            checkers[variant] = BatchChecker(books.of(variant))
        if any(v.rule.severity == "error" for v in checkers[variant](point)):
            broken.append(point)
    if not broken:
        return ""
    some = f"{len(broken):,} of {count(len(points), 'kernel')}"
    return f"note: illegal, as ckrules check says: {some}"

"""Verdicts on streams of points: compiled rules, and each message made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ckrules.engine.backends.compiled import compile_function
from ckrules.engine.backends.pointwise import At
from ckrules.engine.expr import Value
from ckrules.engine.rules import Violation, violation

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook

_FEW = 8  # points that are judged without compiling the rules first
_KEPT = 1 << 16


class Judge:
    """Answers `RuleBook.violations` for many points.

    A violation is a function of the fields that its rule reads, so equal faults are explained
    once.

    >>> from ckrules.constraints import book
    >>> forward = book("forward")
    >>> judge = Judge(forward)
    >>> judge({**forward.vocabulary.baseline, "tile_m": 96})[0].message
    'tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64'
    """

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._seen = 0
        self._function: Callable[[Mapping[str, Value]], tuple[bool, ...]] | None = None
        self._fields: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[Value, ...], Violation | None] = {}

    def __call__(self, point: Mapping[str, Value]) -> list[Violation]:
        """Every rule that the point breaks, in the order of the codes."""
        if self._function is None:
            self._seen += 1
            if self._seen <= _FEW:
                return self._book.violations(point)
            self._function = compile_function([r.condition for r in self._book.rules])
        verdicts = self._function(point)
        if all(verdicts):
            return []
        return self._explained(point, [i for i, ok in enumerate(verdicts) if not ok])

    def _explained(self, point: Mapping[str, Value], broken: list[int]) -> list[Violation]:
        at: At | None = None
        out = []
        for i in broken:
            rule = self._book.rules[i]
            if i not in self._fields:
                self._fields[i] = rule.told_fields()
            key = (i, *(point[f] for f in self._fields[i]))
            if key not in self._known:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                at = at or At(point)
                self._known[key] = violation(rule, at, point)
            found = self._known[key]
            if found is not None:
                out.append(found)
        return out

"""Repairs of one field, found by trying its candidates: what the help lines of ``check`` say.

Nothing here needs a solver; repairs of several fields are `ckrules.reasoning`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.engine.backends.compiled import compile_function
from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.engine.text import literal
from ckrules.engine.variables import domain_of

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.engine.rules import Rule

#: Fields that say which kernel is wanted; no repair changes them.
PURPOSE = ("variant", "arch", "dtype", "ndim")
#: Fields that a repair in place may change: neither the geometry nor the way of the computation.
FEATURES = (
    "layout", "vector_a", "vector_b", "vector_c", "pad_m", "pad_n", "pad_k",
    "double_smem_buffer", "num_wave_groups", "num_groups_to_merge", "specialization", "two_stage",
    "explicit_gemm", "split_image", "streamk", "streamk_persistent", "in_vec", "out_vec",
)  # fmt: skip
_FIX = re.compile(r"^Fix:\s*(.+?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)
_KEPT = 1 << 14


@dataclass(frozen=True, slots=True)
class Change:
    """A field's other value, and whether the configuration is legal with it."""

    field: str
    value: Value
    legal: bool

    def __str__(self) -> str:
        shown = self.value if isinstance(self.value, str) else literal(self.value)
        tail = (
            "makes the configuration legal" if self.legal else "mends this and breaks no other rule"
        )
        return f"{self.field} = {shown} {tail}"


class Repairs:
    """Repairs by the rules of one book.

    >>> from ckrules.constraints import book
    >>> forward = book("forward")
    >>> point = {**forward.vocabulary.baseline, "tile_m": 96}
    >>> str(Repairs(forward).nearest(point, forward["TILE001"], {"TILE001"}))
    'tile_m = 64 makes the configuration legal'
    """

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._codes = [r.code for r in book.rules]
        self._all: Callable[[Mapping[str, Value]], tuple[bool, ...]] | None = None
        self._one: dict[str, Callable[[Mapping[str, Value]], tuple[bool, ...]]] = {}
        self._known: dict[tuple[Any, ...], Change | None] = {}

    def nearest(
        self, point: Mapping[str, Value], rule: Rule, broken: Iterable[str]
    ) -> Change | None:
        """The change of one field that mends the rule and breaks no rule that held.

        Changes that make the point legal come first, then those of the fewest steps.
        """
        lost = frozenset(broken)
        key = (rule.code, *point.values())
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = self._nearest(point, rule, lost)
        return self._known[key]

    def _nearest(
        self, point: Mapping[str, Value], rule: Rule, lost: frozenset[str]
    ) -> Change | None:
        if rule.code not in self._one:
            self._one[rule.code] = compile_function([rule.condition])
        mends = self._one[rule.code]
        best: tuple[tuple[bool, int, int], Change] | None = None
        for order, name in enumerate(rule.told_fields()):
            if name in PURPOSE or name not in self._book.fields:
                continue
            for steps, value in self._candidates(name, point[name]):
                other = {**point, name: value}
                if not mends(other)[0]:
                    continue
                still = self._broken(other)
                if still <= lost:
                    found = (bool(still), steps, order), Change(name, value, not still)
                    if best is None or found[0] < best[0]:
                        best = found
                    if not still:
                        break
        return None if best is None else best[1]

    def safe(self, point: Mapping[str, Value], broken: Iterable[str]) -> list[Change]:
        """Changes of features that leave no choice: each is the only one that mends its rule.

        A rule that several values of features would mend, or only another geometry, stays broken.
        """
        wanted = set(broken)
        made: list[Change] = []
        now = dict(point)
        for rule in self._book.rules:
            if rule.code not in wanted:
                continue
            lost = frozenset(self._broken(now))
            found = [
                Change(name, value, not still)
                for name in rule.told_fields()
                if name in FEATURES and rule.code in lost
                for _, value in self._candidates(name, now[name])
                if (still := self._broken({**now, name: value})) < lost and rule.code not in still
            ]
            if len(found) == 1:
                made += found
                now[found[0].field] = found[0].value
        return made

    def _broken(self, point: Mapping[str, Value]) -> set[str]:
        if self._all is None:
            self._all = compile_function([r.condition for r in self._book.rules])
        return {c for c, ok in zip(self._codes, self._all(point), strict=True) if not ok}

    def _candidates(self, name: str, own: Value) -> list[tuple[int, Value]]:
        """Other values with their steps from the point's own, nearest first."""
        domain = domain_of(self._book.fields[name])
        if domain.sort in (BOOL, ENUM):
            return [(1, v) for v in domain.values if v != own]
        values = sorted({*domain.values, own})
        at = values.index(own)
        steps = [(abs(i - at), v) for i, v in enumerate(values) if v != own]
        return sorted(steps, key=lambda pair: pair[0])


def advice(rule: Rule) -> str:
    """What the rule's page says about fixing it, in one line."""
    found = _FIX.search(rule.doc)
    return " ".join(found[1].split()).rstrip(".") if found else ""

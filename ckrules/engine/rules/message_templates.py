"""What rules say about a point that breaks them: sentences with places for its numbers.

A rule declares one sentence, or one for each condition that it joins with and; the sentences of
the conditions that are false are said. A place is an expression over fields and derived
quantities, or a group of fields:

    {pipeline}                       its value: compv4
    {wave_m * warp_tile_m=}          how it comes about: wave_m * warp_tile_m = 2 * 32 = 64
    {warp_tile}                      the fields of a group: 32x32x8
    {table lds_capacity}             the row of a table, or what a relation holds: only 16x16x16
    {fault}                          the rule's condition by itself: filter_h = 3, expected 1
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, BoolExpr, Expr
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import table_text
from ckrules.engine.rules.derivation import shown, worked
from ckrules.engine.rules.messages import conjuncts, fault
from ckrules.support.errors import CkrulesError, RuleBookError, unknown

_PLACE = re.compile(r"\{([^{}]*)\}")

#: What one place shows at a point, and the fields that it reads.
_Show = tuple[Callable[[At], str], frozenset[str]]


class Sentences:
    """The sentences of one rule over one vocabulary, read when they are first said.

    Args:
        texts: One sentence, or one a condition.
        vocabulary: What places may name.
        conditions: The condition of the rule, then its guard: their tables can be named.

    Raises:
        RuleBookError: When something is said, for a place that means nothing, one that reads
            another field than the rule, or another number of sentences than conditions.
    """

    def __init__(
        self, code: str, texts: Sequence[str], vocabulary: Any, conditions: Sequence[BoolExpr]
    ) -> None:
        self._code, self._texts, self._vocabulary = code, tuple(texts), vocabulary
        self._conditions = tuple(conditions)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._code, self._texts, self._vocabulary, self._conditions)

    def say(self, at: At) -> str:
        """What is said at a point that breaks the rule."""
        parts = conjuncts(self._conditions[0])
        if len(self._texts) == 1:
            return self._said(0, at)
        if len(self._texts) != len(parts):
            raise RuleBookError(
                f"rule {self._code}: {len(self._texts)} sentences for {len(parts)} conditions"
            )
        false = [i for i, part in enumerate(parts) if not at.holds(part)]
        return "; ".join(dict.fromkeys(self._said(i, at) for i in false))

    def check(self, fields: Sequence[str]) -> None:
        """Reads every place; ``fields`` are those that a message of the rule may read.

        Raises:
            RuleBookError: As for the class.
        """
        parts = len(conjuncts(self._conditions[0]))
        if len(self._texts) not in (1, parts):
            raise RuleBookError(
                f"rule {self._code}: {len(self._texts)} sentences for {parts} conditions"
            )
        for pieces in self._pieces:
            for piece in pieces:
                if not isinstance(piece, str) and piece[1] - set(fields):
                    other = sorted(piece[1] - set(fields))[0]
                    raise RuleBookError(
                        f"rule {self._code}: its sentence shows {other}, which it does not read"
                    )

    def _said(self, index: int, at: At) -> str:
        return "".join(p if isinstance(p, str) else p[0](at) for p in self._pieces[index])

    @cached_property
    def _pieces(self) -> list[list[str | _Show]]:
        try:
            return [self._read(text) for text in self._texts]
        except RuleBookError:
            raise
        except CkrulesError as error:
            raise RuleBookError(f"rule {self._code}: sentence: {error}") from None

    def _read(self, text: str) -> list[str | _Show]:
        pieces: list[str | _Show] = []
        for i, piece in enumerate(_PLACE.split(text)):
            if not i % 2 and ("{" in piece or "}" in piece):
                raise RuleBookError(f"rule {self._code}: a brace of {text!r} has no partner")
            pieces.append(self._place(piece.strip()) if i % 2 else piece)
        return pieces

    def _place(self, text: str) -> _Show:
        if text == "fault":
            whole = self._conditions[0]
            return (lambda at: fault(whole, at)), whole.support
        if text.startswith("table "):
            return self._table(text.removeprefix("table ").strip())
        group = [v for v in self._vocabulary.variables.values() if domain_of(v).group == text]
        if group:
            support = frozenset(domain_of(v).name for v in group)
            return (lambda at: "x".join(shown(at.value(v)) for v in group)), support
        from ckrules.engine.lang.where import parse

        names: Mapping[str, Expr] = self._vocabulary.names()
        node = parse(text.removesuffix("="), names)
        if not isinstance(node, Expr):
            raise RuleBookError(f"rule {self._code}: sentence: {{{text}}} is not an expression")
        if text.endswith("="):
            return (lambda at: worked(node, at)), node.support
        if node.sort == BOOL:
            return (lambda at: shown(at.holds(node))), node.support
        return (lambda at: _value(node, at)), node.support

    def _table(self, name: str) -> _Show:
        found = {n.data.name: n for n in walk(*self._conditions) if n.op in ("rel", "lookup")}
        node = found.get(name)
        if node is None:
            raise unknown("table", name, found)
        if node.op == "lookup":
            return (lambda at: _value(node, at)), node.support
        return (lambda at: table_text.held(node, at)), node.support


def _value(node: Expr, at: At) -> str:
    value = at.value(node)
    return "undefined" if value is None else shown(value)

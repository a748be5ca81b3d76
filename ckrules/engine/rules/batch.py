"""Verdicts on streams of points: compiled rules, and each message made once.

A message is made by asking for the values of expressions, one after the other. Which question
comes next depends on the answers so far, so the messages of a rule are the leaves of a tree of
questions: a point whose answers lead to a leaf has that message, whatever its other fields are.

Points that agree in the words most read (GPU, pipeline, type and so on) are of one sort. A sort
that many points have gets its conditions and questions made smaller by these words.

This is for lists of a million names, which take 0.12 ms each (2 minutes of one core, with as many
violations); messages remembered by the fields that they read, beside conditions of the same sorts,
take 0.18 ms. Below some 10,000 points it gains nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any

from ckrules.engine.evaluate.compiled import compile_function, compile_values
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import ENUM, TRUE, Expr, Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules.rule import Rule
from ckrules.engine.rules.violation import Violation, violation

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook

_KEPT = 1 << 13  # messages of a rule
_MANY = 300  # points of a sort, before its conditions are made smaller
_SORTS = 256
_WORDS = 4  # that make a sort
_NEXT, _FOUND = object(), object()
_QUESTIONS = 200  # a rule that asks more has its messages made again


class BatchChecker:
    """Answers `RuleBook.violations` for many points.

    Equal faults are explained once.

    Args:
        in_range: Whether all points have values within the ranges of their fields, as what
            readers yield has; much can then be left out of the conditions.

    >>> from ckrules.constraints import book
    >>> forward = book("forward")
    >>> check = BatchChecker(forward)
    >>> check({**forward.vocabulary.baseline, "tile_m": 96})[0].message.partition(":")[0]
    'the waves do not cover the tile along M'
    """

    def __init__(self, book: RuleBook, *, in_range: bool = False) -> None:
        self._book = book
        self._function: Callable[[Mapping[str, Value]], tuple[bool, ...]] | None = None
        self._messages = [_Messages(r) for r in book.rules]
        self._words = _words(book) if in_range else ()
        self._sorts: dict[tuple[Value, ...], _Sort] = {}
        self._counts: Counter[tuple[Value, ...]] = Counter()

    def __call__(self, point: Mapping[str, Value]) -> list[Violation]:
        """Every rule that the point breaks, in the order of the codes."""
        if self._function is None:
            self._function = self._book.verdicts
            if self._function is None:
                return self._book.broken(point)
        if self._words:
            words = tuple([point[n] for n in self._words])
            found = self._sorts.get(words) or self._sort(words)
            if found is not None:
                return found(point)
        verdicts = self._function(point)
        if all(verdicts):
            return []
        broken = (self._messages[i](point) for i, ok in enumerate(verdicts) if not ok)
        return [v for v in broken if v is not None]

    def _sort(self, words: tuple[Value, ...]) -> _Sort | None:
        """The sort of points with these words, once there have been many of them."""
        if len(self._counts) >= _KEPT:
            self._counts.clear()
        self._counts[words] += 1
        if self._counts[words] < _MANY or len(self._sorts) >= _SORTS:
            return None
        made = _Sort(self._messages, dict(zip(self._words, words, strict=True)))
        self._sorts[words] = made
        return made


def _words(book: RuleBook) -> tuple[str, ...]:
    """The fields with words that most rules read.

    Few, so that points of many kinds are of few sorts: a condition gains little from the rest.
    """
    read = Counter(n for r in book.rules for n in sorted(r.condition.support))
    words = [n for n, _ in read.most_common() if domain_of(book.fields[n]).sort == ENUM]
    return tuple(sorted(words[:_WORDS]))


class _Sort:
    """The rules for points that agree in their words."""

    def __init__(self, messages: list[_Messages], words: Mapping[str, Value]) -> None:
        simple = Simplifier(words)
        left = [(m, simple.condition(m.rule.condition)) for m in messages]
        left = [(m, condition) for m, condition in left if condition is not TRUE]
        self._function = compile_function([c for _, c in left], simple.bounds.never_zero)
        self._answered = [_Answered(m, simple) for m, _ in left]

    def __call__(self, point: Mapping[str, Value]) -> list[Violation]:
        broken = map(not_, self._function(point))
        found = [answered(point) for answered in compress(self._answered, broken)]
        return [v for v in found if v is not None]


class _Answered:
    """The violations of one rule for points of one sort, by all answers at once."""

    def __init__(self, messages: _Messages, simple: Simplifier) -> None:
        self._messages, self._simple, self._fields = messages, simple, messages.fields
        self._asked = 0
        self._answers: Callable[[Mapping[str, Value]], tuple[Any, ...]] = lambda point: ()
        self._known: dict[tuple[Any, ...], Violation] = {}

    def __call__(self, point: Mapping[str, Value]) -> Violation | None:
        """How the point breaks the rule."""
        answers = self._answers(point)
        found = self._known.get(answers)
        if found is not None:
            return Violation(found.rule, point, self._fields, found.message, found.named)
        made, asked = self._messages(point), self._messages.asked
        if self._asked < len(asked) <= _QUESTIONS:
            self._asked, self._known = len(asked), {}
            smaller = [self._simple.any(a) for a in asked]
            open_ = [a for a in smaller if a.op != "const"]
            self._answers = compile_values(open_, self._simple.bounds.never_zero)
        elif self._asked == len(asked) and (leaf := self._messages.leaf(point)) is not None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[answers] = leaf
        return made


class _Messages:
    """The violations of one rule, made once for points that answer all questions alike."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.fields = rule, rule.message_fields()
        #: Every question so far.
        self.asked: list[Expr] = []
        self._numbers: dict[int, int] = {}
        self._answers: Callable[[Mapping[str, Value]], tuple[Any, ...]] = lambda point: ()
        self._compiled = 0
        self._kept = 0
        self._tree: dict[Any, Any] = {}  # answer by answer; under _NEXT, what is asked next

    def __call__(self, point: Mapping[str, Value]) -> Violation | None:
        """How the point breaks the rule."""
        found = self.leaf(point)
        return self._made(point) if found is None else self.at(point, found)

    def leaf(self, point: Mapping[str, Value]) -> Violation | None:
        """What was found for the first point with the same answers; None if there was none."""
        answers, tree = self._answers(point), self._tree
        known = len(answers)
        while (asked := tree.get(_NEXT, known)) < known:
            below = tree.get(answers[asked])
            if below is None:
                break
            tree = below
        return tree.get(_FOUND)

    def at(self, point: Mapping[str, Value], found: Violation) -> Violation:
        """What was found for another point, with the values of this one."""
        return Violation(found.rule, point, self.fields, found.message, found.named)

    def _made(self, point: Mapping[str, Value]) -> Violation | None:
        at = _Asked(point)
        found = violation(self.rule, at, point)
        if found is None or self._compiled > _QUESTIONS:
            return found
        if any(isinstance(answer, float) for _, answer in at.answers):
            return found  # 1.0 and 1 are one key, and not one text
        if self._kept >= _KEPT:
            self._tree, self._kept = {}, 0
        self._kept += 1
        tree = self._tree
        for question, answer in at.answers:
            if question.id not in self._numbers:
                self._numbers[question.id] = len(self.asked)
                self.asked.append(question)
            tree[_NEXT] = self._numbers[question.id]
            tree = tree.setdefault(answer, {})
        tree[_FOUND] = found
        if len(self.asked) > self._compiled:
            self._compiled = len(self.asked)
            if self._compiled <= _QUESTIONS:
                self._answers = compile_values(self.asked)
        return found


class _Asked(At):
    """Values at a point, each remembered with the first question for it, in order."""

    def __init__(self, point: Mapping[str, Value]) -> None:
        super().__init__(point)
        self._known: dict[int, Any] = {}
        self.answers: list[tuple[Expr, Any]] = []

    def value(self, node: Expr) -> Any:
        if node.id not in self._known:
            self._known[node.id] = super().value(node)
            self.answers.append((node, self._known[node.id]))
        return self._known[node.id]

    def holds(self, node: Expr) -> bool:
        return bool(self.value(node))

"""Differences: which points are legal on one side and not on the other, counted exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.region import Region
from ckrules.engine.rules.violation import message
from ckrules.engine.space import Space
from ckrules.reasoning.sides import Aligned, Alignment, align, region_of
from ckrules.support.errors import UndecidedError
from ckrules.support.plain_values import several


@dataclass(frozen=True, slots=True)
class Responsible:
    """A rule of one side that rejects points which the other side accepts.

    ``count`` is the number of such points; several rules may reject the same one.
    """

    rule: Rule
    example: Point
    message: str
    count: int

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "code": self.rule.code,
            "name": self.rule.name,
            "message": self.message,
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """Points that are legal on one side only: how many, one of them, and the rules against it."""

    title: str
    count: int
    witness: Point | None
    rules: tuple[Responsible, ...]

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "side": self.title,
            "count": self.count,
            "witness": self.witness,
            "rejected_by": [r.to_dict() for r in self.rules],
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """What two sides accept: only the first, both, only the second.

    The counts are exact, so ``equal`` is a proof for all points of the compared fields.
    """

    only_a: Part
    both: int
    only_b: Part
    dropped: tuple[str, ...]
    fields: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """True if both sides accept the same points."""
        return not self.only_a.count and not self.only_b.count

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "equal": self.equal,
            "only_a": self.only_a.to_dict(),
            "both": self.both,
            "only_b": self.only_b.to_dict(),
            "without_fields": list(self.dropped),
        }


#: How often `diff` calls ``told``.
STEPS = 4


def diff(
    a: RuleBook | Region, b: RuleBook | Region, *, told: Callable[[int], None] = lambda _: None
) -> Difference:
    """The points that are legal on one of two sides only, with the rules responsible.

    Args:
        a, b: The sides, rule books or parts of them; fields that they hold to different values
            are left out of the points.
        told: Called with 1 after the sides are counted, what they share, and what each has alone.

    Raises:
        UsageError: If the sides have different fields.
        UndecidedError: If the back ends disagree about a witness.

    >>> from ckrules.engine.rules.book import RuleBook, Vocabulary
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("m", range(10))])
    >>> low = Rule("AB001", "too-big", "compile", words.m < 6)
    >>> high = Rule("AB002", "too-small", "compile", words.m > 2)
    >>> sides = [Region(RuleBook(r.code, words, [r], check=False)) for r in (low, high)]
    >>> found = diff(*sides)
    >>> found.only_a.count, found.both, found.only_b.count
    (3, 3, 4)
    >>> found.only_a.rules[0].message
    'm = 0 is not more than 2'
    """
    aligned = align([region_of(a), region_of(b)])
    first, second = (aligned.space(k) for k in (0, 1))
    counts = [first.count(), second.count()]
    told(1)
    left, right = aligned.sides
    if left.clauses().keys() == right.clauses().keys():
        both = counts[0]
    else:
        both = aligned.space(0, 1).count()
    told(1)
    parts = []
    for own, other, space, count in (
        (left, right, first, counts[0]), (right, left, second, counts[1]),
    ):  # fmt: skip
        parts.append(_part(own, other, space, count - both, count))
        told(1)
    names = tuple(aligned.variables)
    return Difference(parts[0], both, parts[1], aligned.dropped, names)


def _part(own: Aligned, other: Aligned, space: Space, count: int, total: int) -> Part:
    if not count:
        return Part(own.title, 0, None, ())
    known = own.clauses()
    responsible: list[Responsible] = []
    for r, condition in other.rules:
        new = _new(condition, known)
        broken = [space.where(~c) for c in new]
        if len(new) == 1:  # a condition has a value everywhere: what breaks it is the rest
            number = broken[0].count()
        else:
            number = total - space.where(*new).count() if new else 0
        if not number:
            continue
        example = min((s[0] for s in broken if s.count()), key=space.index)
        _check(example, own, other, condition)
        said = message(r, At({**example, **other.dropped}))
        responsible.append(Responsible(r, example, said, number))
    if responsible:
        return Part(own.title, count, responsible[0].example, tuple(responsible))
    # left out without a rule: by candidates, held fields or further conditions
    witness = space.where(~all_of(*other.extra))[0]
    _check(witness, own, other, all_of(*other.extra))
    return Part(own.title, count, witness, ())


def _new(condition: BoolExpr, known: Mapping[int, BoolExpr]) -> list[BoolExpr]:
    """The parts of a condition that are not conditions of the other side anyway."""
    return [p for p in clauses(condition) if p.id not in known]


def _check(point: Point, own: Aligned, other: Aligned, refused: BoolExpr) -> None:
    """The pointwise back end's word on a witness."""
    at = At(point)
    if not all(at.holds(c) for c in own.conditions) or at.holds(refused):
        raise UndecidedError(f"the witness against {other.title} does not hold")


def portable(book_sides: Sequence[RuleBook | Region]) -> tuple[Space, Alignment]:
    """The space of the points that are legal on every side, of rule books or parts of them.

    Raises:
        UsageError: If there are no sides, or the sides have different fields.

    >>> from ckrules.engine.rules.book import RuleBook, Vocabulary
    >>> from ckrules.engine.expr.variables import Enum, Int
    >>> words = Vocabulary([Enum("gpu", ["a", "b"]), Int("m", [1, 2, 3])])
    >>> r = Rule("AB001", "too-big", "compile", (words.gpu == "a").implies(words.m < 3))
    >>> book = RuleBook("toy", words, [r], check=False)
    >>> space, _ = portable([Region(book, {"gpu": g}) for g in ("a", "b")])
    >>> list(space)
    [{'m': 1}, {'m': 2}]
    """
    sides = [region_of(side) for side in several("sides", book_sides)]
    aligned = align(sides)
    return aligned.space(*range(len(sides))), aligned

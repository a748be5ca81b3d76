"""Kernels to run: legal ones in which any two features meet, and ones that break a single rule.

Spaces are exact, so what breaks one rule and no other is a space like any other and is drawn from.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ckrules.certify.features import covering, pairs_of
from ckrules.certify.sizes import in_turn, kind_by_kind, tells_kinds
from ckrules.engine.covering import PairCoverage, Pairs
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space
from ckrules.kernels.config import Config
from ckrules.support.errors import UsageError

Point = dict[str, Value]
Fixed = dict[str, tuple[str, ...]]

KINDS = ("wrong-result", "launch")
"""The kinds of rules that running a kernel can confirm or refute."""

#: Points of a space that are looked at for each one that is kept.
_SURPLUS = 300
_MOST = 20_000
_POWER = 2


@dataclass
class Drawn:
    """What was drawn.

    Args:
        points: The configurations, the legal ones first.
        alone: How many configurations of the space break only this rule, by code: those with none
            cannot be drawn here.
        legal: How many of the points break no rule.
        pairs: The pairs of features that legal configurations have; None: there are none.
        seen: Legal configurations that were run before.
    """

    points: list[Point] = field(default_factory=list)
    alone: dict[str, int] = field(default_factory=dict)
    legal: int = 0
    pairs: Pairs | None = field(default=None, compare=False)
    seen: tuple[Point, ...] = ()

    def coverage(self, used: Callable[[Point], bool]) -> PairCoverage:
        """Which pairs of features occur in the legal points that are used, or were seen before."""
        points = (*self.seen, *filter(used, self.points[: self.legal]))
        return PairCoverage(0, ()) if self.pairs is None else self.pairs.coverage(points)


def draw(
    book: RuleBook,
    fixed: Mapping[str, Sequence[Value]],
    n: int,
    seed: int,
    where: Sequence[str] = (),
    broken: float = 1 / 3,
    kinds: Sequence[str] = KINDS,
    usable: Callable[[Point], bool] | None = None,
    seen: Iterable[Point] = (),
) -> Drawn:
    """Configurations to run, of which a share breaks one rule of some kinds each, in turn.

    The first legal ones have as many pairs of features as so many can; once every pair occurs each
    combination of words (pipeline, dtype, epilogue …) gives its share. Among configurations that
    are alike in this one is drawn the rarer the larger its block tile is: with a quarter of the
    weight for twice the volume, since it takes twice the time and more.

    Args:
        fixed: Fields that are not free, such as the GPU.
        seed: The same seed gives the same configurations.
        where: Conditions of ``--where``.
        broken: The share that breaks a rule.
        kinds: The kinds of these rules.
        usable: Whether a configuration can be asked about; by default, of those that break a rule,
            whether a name says it.
        seen: Legal configurations that were run before: the pairs of these need not occur again.

    Raises:
        UsageError: If nothing can be drawn.
    """
    dice, found = random.Random(seed), Drawn(seen=tuple(seen))
    every = list(book.rules)
    wanted = round(n * broken)
    targets = [r for r in every if r.kind in kinds and r.severity == "error"]
    found.alone, against = breaking_one(
        book, targets, fixed, wanted, seed, where, usable=usable or _named, dice=dice
    )
    legal = book.space_of(every, fixed).where(*where)
    kept = usable or (lambda _: True)
    first = _paired(found, legal, book, n - len(against), seed, dice, kept)
    found.points, found.legal = first + against, len(first)
    if not found.points:
        raise nothing_to_draw(book.space_of(every, fixed), fixed, where)
    return found


def breaking_one(
    book: RuleBook,
    targets: Iterable[Rule],
    fixed: Mapping[str, Sequence[Value]],
    n: int,
    seed: int,
    where: Sequence[str] = (),
    *,
    usable: Callable[[Point], bool] | None = None,
    dice: random.Random | None = None,
) -> tuple[dict[str, int], list[Point]]:
    """Configurations that break one of some rules each and meet all others, in turn.

    The others are warnings, too: what does nothing has no kernel of its own, and often no name.

    Returns:
        How many there are of each rule, by its code, and those that were drawn.
    """
    dice = dice or random.Random(seed)
    numbers: dict[str, int] = {}
    pools: list[Iterator[Point]] = []
    for target in targets:
        space = _alone(book, target, fixed).where(*where)
        numbers[target.code] = len(space)
        if n and len(space):
            pools.append(filter(usable, spread(space, book, n, seed, dice)))
    dice.shuffle(pools)  # else few draws would always be of the first codes
    return numbers, list(itertools.islice(in_turn(pools), n))


def nothing_to_draw(
    space: Space, fixed: Mapping[str, Sequence[Value]], where: Sequence[str]
) -> UsageError:
    """What is told where no configuration meets the conditions.

    Args:
        space: The legal configurations, whatever the conditions.
        fixed: Fields that are not free.
        where: Conditions of ``--where``.
    """
    kept = ", ".join(f"{name} = {'/'.join(map(str, v))}" for name, v in fixed.items())
    many = f"; {len(space):,} are legal without --where" if where and len(space) else ""
    return UsageError(f"no configuration to draw from: {kept}{many}")


def _paired(
    found: Drawn,
    space: Space,
    book: RuleBook,
    n: int,
    seed: int,
    dice: random.Random,
    kept: Callable[[Point], bool],
) -> list[Point]:
    """Different legal points: until all pairs of features occur for these, then of each kind."""
    if n <= 0 or not len(space):
        return []
    found.pairs = pairs_of(book, space)
    pairs = covering(found.pairs, book, seed, dice, found.seen)
    points = list(itertools.islice(filter(kept, pairs), n))
    more = filter(kept, spread(space, book, n, seed, dice)) if len(points) < n else ()
    return [*points, *(p for p in more if p not in points)][:n]


def _named(point: Point) -> bool:
    """Whether a name says the point: files are called by it."""
    return Config(point).name is not None


def _alone(book: RuleBook, target: Rule, fixed: Mapping[str, Sequence[Value]]) -> Space:
    """The space of what breaks one rule and meets the others."""
    others = (r for r in book.rules if r is not target)
    return book.space_of([*others, ~target.condition], fixed)


def spread(space: Space, book: RuleBook, n: int, seed: int, dice: random.Random) -> list[Point]:
    """Different points of a space: each kind of kernel in turn, the small ones rather."""
    if n <= 0 or not len(space):
        return []
    domains = map(domain_of, book.fields.values())
    words = [d.name for d in domains if tells_kinds(d)]
    unique = {tuple(p.items()): dict(p) for p in space.sample(_surplus(space, n), seed=seed)}
    return list(itertools.islice(kind_by_kind(unique.values(), words, book, dice, _POWER), n))


def _surplus(space: Space, n: int) -> int:
    return min(len(space), max(n, min(_MOST, _SURPLUS * n)))


def shares(variants: Sequence[str], arch: str, n: int) -> Iterator[tuple[Fixed, int]]:
    """The fields of each variant that are not free, and how many of the draws are its own."""
    for i, v in enumerate(variants):
        if share := n // len(variants) + (i < n % len(variants)):
            yield {"variant": (v,), "arch": (arch,)}, share

"""Configurations to ask the compiler about: legal ones, and ones just beyond a rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence

from ckrules.certify.draws import breaking_one, nothing_to_draw
from ckrules.certify.sizes import kind_by_kind, tells_kinds
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BOOL, ENUM, INT, Value
from ckrules.engine.expr.variables import Domain, Role, domain_of
from ckrules.engine.lang.where import parse_condition
from ckrules.engine.rules.book import RuleBook

Point = dict[str, Value]
_TRIES = 800
#: Other legal points that are tried where a rule's boundary is not found near the first.
_BASES = 4
#: Legal points drawn for each one that is kept, so that rare combinations are among them.
_SURPLUS = 20
#: Of twice the volume of a block tile a kernel has half the weight.
_POWER = 1


class Sampler:
    """Draws points of a rule book, reproducibly.

    Args:
        fixed: Fields that are never changed, such as the GPU.
        seed: The same seed gives the same points.
        where: Conditions that every drawn point meets, in the language of ``--where``.
        judged: The fields that the compiler is shown; None: all. Rules over others hold for every
            point, because the compiler cannot confirm them.

    Raises:
        UsageError: For a condition that cannot be read.
    """

    def __init__(
        self,
        book: RuleBook,
        fixed: Mapping[str, Sequence[Value]],
        seed: int,
        where: Sequence[str] = (),
        judged: Collection[str] | None = None,
    ) -> None:
        self.book, self.seed, self.where = book, seed, tuple(where)
        self.random = random.Random(seed)
        self.fixed = {k: tuple(v) for k, v in fixed.items()}
        shown = {*(book.fields if judged is None else judged), *fixed}
        rules = [r for r in book.rules if r.kind == "compile"]
        self.rules = [r for r in rules if r.condition.support <= shown]
        self._verdicts = compile_function([r.condition for r in self.rules])
        names = book.vocabulary.names()
        asked = [parse_condition(text, names) for text in where]
        others = [r.condition for r in rules if r not in self.rules]
        self._inside = compile_function([*asked, *others])
        domains = {name: domain_of(node) for name, node in book.fields.items()}
        self.values = {name: self.fixed.get(name, d.values) for name, d in domains.items()}
        self.free = [n for n, v in self.values.items() if len(v) > 1]
        own = [domains[n] for n in self.free if n not in fixed]
        self.unusual = {d.name: unusual(d) for d in own}
        methods = [d.name for d in own if d.sort == ENUM and d.role is Role.METHOD]
        self._methods = [(name, value) for name in methods for value in self.values[name]]
        self._strata = [d.name for d in own if self._is_stratum(d)]

    def _is_stratum(self, domain: Domain) -> bool:
        """Whether the field's values make kinds of kernels: its method, its types, main switches.

        A switch is one that several rules read; what one rule says of a field is found at that
        rule's boundary.
        """
        if domain.sort == BOOL:
            return sum(domain.name in r.condition.support for r in self.rules) > 1
        return tells_kinds(domain)

    def legal(self, n: int) -> list[Point]:
        """Points that break no rule: uniform draws, of which each kind of kernel gives its share.

        The kinds are the combinations of method, types and main switches; a plain uniform draw
        would be nearly all of the few kinds that ask least of a tile. Within a kind a kernel of
        twice the tile's volume has half the weight.

        Raises:
            UsageError: If the space is empty.
        """
        space = self.book.space(**{k: list(v) for k, v in self.fixed.items()})
        drawn = [dict(p) for p in space.where(*self.where).sample(_SURPLUS * n, seed=self.seed)]
        if not drawn:
            raise nothing_to_draw(space, self.fixed, self.where)
        rows = kind_by_kind(drawn, self._strata, self.book, self.random, _POWER)
        return list(itertools.islice(rows, n))

    def single(self, n: int) -> list[Point]:
        """Points that break one judged rule and meet all others, rule by rule in turn."""
        return breaking_one(self.book, self.rules, self.fixed, n, self.seed, self.where)[1]

    def broken(self, point: Mapping[str, Value]) -> list[int]:
        """The numbers of the judged rules that a point breaks."""
        return [i for i, ok in enumerate(self._verdicts(point)) if not ok]

    def inside(self, point: Mapping[str, Value]) -> bool:
        """True if a point meets the conditions and the rules that are not judged."""
        return all(self._inside(point))

    def mutated(self, point: Mapping[str, Value], fields: int) -> Point:
        """The point with some random fields changed to other candidates."""
        out = dict(point)
        for name in self.random.sample(self.free, fields):
            odd = self.unusual.get(name, ())
            out[name] = self.random.choice(
                odd if odd and self.random.random() < 0.2 else self.values[name]
            )
        return out

    def beyond(self, base: Mapping[str, Value], target: int) -> Point | None:
        """A point near ``base`` that breaks rule ``target`` and as few others as possible."""
        best: tuple[int, Point] | None = None
        for _ in range(_TRIES):
            point = self.mutated(base, self.random.choice((1, 1, 2, 2, 3)))
            broken = self.broken(point)
            beyond = target in broken and self.inside(point)
            if beyond and (best is None or len(broken) < best[0]):
                best = (len(broken), point)
                if len(broken) == 1:
                    break
        return best[1] if best else None

    def boundary(self, n: int) -> Iterator[Point]:
        """Points on both sides of each rule's boundary, rule by rule in turn."""
        bases = self.legal(max(64, n))
        targets = list(range(len(self.rules)))
        self.random.shuffle(targets)
        count = 0
        for turn in range(8 * n):
            if count >= n:
                return
            base = self.random.choice(bases)
            if turn % 2:  # the legal side: a legal neighbour, however far
                point: Point | None = self._still_legal(base)
            else:
                target = targets[turn // 2 % len(targets)]
                near = (base, *self.random.sample(bases, _BASES))
                point = next(filter(None, (self.beyond(b, target) for b in near)), None)
            if point is not None:
                count += 1
                yield point

    def _of_other_method(self, base: Point) -> Point:
        """A point of some method, such as a pipeline, on the compiler's side of every boundary.

        Legal kernels have few methods, because some only compile; ``base`` where none is near.
        """
        if not self._methods:
            return base
        name, value = self.random.choice(self._methods)
        turned = {**base, name: value}
        for _ in range(_TRIES):
            point = {**self.mutated(turned, self.random.choice((1, 2, 3))), name: value}
            if not self.broken(point) and self.inside(point):
                return point
        return base

    def _still_legal(self, base: Point) -> Point:
        """A point some steps away from ``base`` on the compiler's side of every boundary.

        Only rules of kind ``compile`` hold it back, so that it leaves what is legal otherwise.
        """
        point, steps = self._of_other_method(base), self.random.randint(1, 4)
        for _ in range(_TRIES):
            step = self.mutated(point, self.random.choice((1, 2, 3)))
            if step != point and not self.broken(step) and self.inside(step):
                point, steps = step, steps - 1
                if steps == 0:
                    break
        return point


def unusual(domain: Domain) -> tuple[int, ...]:
    """Values that no space lists and rules judge all the same: between and beyond the candidates.

    Between two neighbours these are the middle and the quarter; beyond the ends one half and two
    thirds of the least candidate, one and a half times and twice the greatest.

    >>> from ckrules.engine.expr.variables import Int
    >>> unusual(domain_of(Int("vector_a", [1, 2, 4, 8], lo=1, hi=15)))
    (3, 5, 6, 12)
    """
    if domain.sort != INT or domain.role is Role.PURPOSE:
        return ()
    known = sorted(domain.values)
    found = {known[0] // 2, 2 * known[0] // 3, 3 * known[-1] // 2, 2 * known[-1]}
    for low, high in itertools.pairwise(known):
        found |= {(low + high) // 2, low + (high - low) // 4}
    return tuple(sorted(v for v in found - set(known) if domain.lo <= v <= domain.hi))


def mixed(sampler: Sampler, n: int) -> list[Point]:
    """A third of the points uniform over the legal space, the rest around the rules' boundaries."""
    uniform = sampler.legal(max(1, n // 3))
    points = [*uniform, *sampler.boundary(n - len(uniform))]
    unique = {tuple(p.items()): p for p in points}
    return list(unique.values())[:n]

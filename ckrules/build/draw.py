"""Configurations to ask the compiler about: legal ones, and ones just beyond a rule."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from ckrules.engine.backends.compiled import compile_function
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import UsageError
from ckrules.engine.expr import Value
from ckrules.engine.variables import domain_of

Point = dict[str, Value]
_TRIES = 400


class Drawer:
    """Draws points of a rule book, reproducibly.

    Args:
        book: The rules; only those of kind ``compile`` decide what is beyond the boundary.
        fixed: Fields that are never changed, such as the GPU.
        seed: The same seed gives the same points.
    """

    def __init__(self, book: RuleBook, fixed: Mapping[str, Sequence[Value]], seed: int) -> None:
        self.book, self.seed = book, seed
        self.random = random.Random(seed)
        self.rules = [r for r in book.rules if r.kind == "compile"]
        self._verdicts = compile_function([r.condition for r in self.rules])
        self.fixed = {k: tuple(v) for k, v in fixed.items()}
        self.values = {
            name: self.fixed.get(name, domain_of(node).values) for name, node in book.fields.items()
        }
        self.free = [n for n, v in self.values.items() if len(v) > 1]

    def legal(self, n: int) -> list[Point]:
        """Points that break no rule, uniformly over the space.

        Raises:
            UsageError: If the space is empty.
        """
        space = self.book.space(**{k: list(v) for k, v in self.fixed.items()})
        found = list(space.sample(n, seed=self.seed))
        if not found:
            raise UsageError("no legal configuration to draw from")
        return found

    def broken(self, point: Mapping[str, Value]) -> list[int]:
        """The numbers of the compile rules that a point breaks."""
        return [i for i, ok in enumerate(self._verdicts(point)) if not ok]

    def mutated(self, point: Mapping[str, Value], fields: int) -> Point:
        """The point with some random fields changed to other candidates."""
        out = dict(point)
        for name in self.random.sample(self.free, fields):
            out[name] = self.random.choice(self.values[name])
        if "ndim" in out and "layout" in out:  # one fact in two fields
            out["layout"] = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}[int(out["ndim"])]
        return out

    def beyond(self, base: Mapping[str, Value], target: int) -> Point | None:
        """A point near ``base`` that breaks rule ``target`` and as few others as possible."""
        best: tuple[int, Point] | None = None
        for _ in range(_TRIES):
            point = self.mutated(base, self.random.choice((1, 1, 2, 2, 3)))
            broken = self.broken(point)
            if target in broken and (best is None or len(broken) < best[0]):
                best = (len(broken), point)
                if len(broken) == 1:
                    break
        return best[1] if best else None

    def boundary(self, n: int) -> Iterator[Point]:
        """Points on both sides of each rule's boundary, rule by rule in turn."""
        bases = self.legal(max(64, n))
        targets = list(range(len(self.rules)))
        self.random.shuffle(targets)
        made = 0
        for turn in range(8 * n):
            if made >= n:
                return
            base = self.random.choice(bases)
            if turn % 2:  # the legal side: a legal neighbour, however far
                point: Point | None = self._still_legal(base)
            else:
                point = self.beyond(base, targets[turn // 2 % len(targets)])
            if point is not None:
                made += 1
                yield point

    def _still_legal(self, base: Point) -> Point:
        for _ in range(_TRIES):
            point = self.mutated(base, self.random.choice((1, 2, 3)))
            if point != base and not self.broken(point):
                return point
        return base


def mixed(drawer: Drawer, n: int) -> list[Point]:
    """A third of the points uniform over the legal space, the rest around the rules' boundaries."""
    uniform = drawer.legal(max(1, n // 3))
    points = [*uniform, *drawer.boundary(n - len(uniform))]
    unique = {tuple(p.items()): p for p in points}
    return list(unique.values())[:n]

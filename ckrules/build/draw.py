"""Configurations to ask the compiler about: legal ones, and ones just beyond a rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from ckrules.engine.backends.compiled import compile_function
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import UsageError
from ckrules.engine.expr import Value
from ckrules.engine.parse import parse_condition
from ckrules.engine.variables import domain_of

Point = dict[str, Value]
_TRIES = 800
#: Other legal points that are tried where a rule's boundary is not found near the first.
_BASES = 4
#: Legal points drawn for each one that is kept, so that rare combinations are among them.
_SURPLUS = 20
#: Fields whose combinations the legal points take in turn.
_STRATA = ("pipeline", "epilogue", "dtype", "double_smem_buffer")
#: Values that no space lists and `check` accepts all the same.
_UNUSUAL: Mapping[str, tuple[int, ...]] = {
    **{f"tile_{d}": (12, 24, 40, 72, 100, 144, 288) for d in "mnk"},
    **{f"warp_tile_{d}": (8, 12, 24, 48) for d in "mn"},
    "warp_tile_k": (2, 12, 24, 48),
    **{f"vector_{d}": (3, 5, 6, 12, 24, 32, 64) for d in "abc"},
    "num_wave_groups": (3, 4, 8),
    "num_groups_to_merge": (3, 6, 12, 128),
}


class Drawer:
    """Draws points of a rule book, reproducibly.

    Args:
        book: The rules; only those of kind ``compile`` decide what is beyond the boundary.
        fixed: Fields that are never changed, such as the GPU.
        seed: The same seed gives the same points.
        where: Conditions that every drawn point meets, in the language of ``--where``.

    Raises:
        UsageError: For a condition that is none.
    """

    def __init__(
        self,
        book: RuleBook,
        fixed: Mapping[str, Sequence[Value]],
        seed: int,
        where: Sequence[str] = (),
    ) -> None:
        self.book, self.seed, self.where = book, seed, tuple(where)
        names = book.vocabulary.names()
        self._inside = compile_function([parse_condition(text, names) for text in where])
        self.random = random.Random(seed)
        self.rules = [r for r in book.rules if r.kind == "compile"]
        self._verdicts = compile_function([r.condition for r in self.rules])
        self.fixed = {k: tuple(v) for k, v in fixed.items()}
        self.values = {
            name: self.fixed.get(name, domain_of(node).values) for name, node in book.fields.items()
        }
        self.free = [n for n, v in self.values.items() if len(v) > 1]
        self.unusual = {
            n: tuple(
                x for x in v if domain_of(book.fields[n]).lo <= x <= domain_of(book.fields[n]).hi
            )
            for n, v in _UNUSUAL.items()
            if n in self.free and n not in self.fixed
        }

    def legal(self, n: int) -> list[Point]:
        """Points that break no rule: uniform draws, of which each kind of kernel gives its share.

        The kinds are the combinations of pipeline, epilogue, dtype and buffers; a plain uniform
        draw would be nearly all of the few kinds that ask least of a tile.

        Raises:
            UsageError: If the space is empty.
        """
        space = self.book.space(**{k: list(v) for k, v in self.fixed.items()}).where(*self.where)
        kinds: dict[tuple[Value, ...], list[Point]] = {}
        for point in space.sample(_SURPLUS * n, seed=self.seed):
            kind = tuple(point[k] for k in _STRATA if k in point)
            kinds.setdefault(kind, []).append(dict(point))
        if not kinds:
            raise UsageError("no legal configuration to draw from")
        rows = [kinds[k] for k in sorted(kinds, key=str)]
        self.random.shuffle(rows)
        turns = (row[i] for i in range(max(map(len, rows))) for row in rows if i < len(row))
        return list(itertools.islice(turns, n))

    def broken(self, point: Mapping[str, Value]) -> list[int]:
        """The numbers of the compile rules that a point breaks."""
        return [i for i, ok in enumerate(self._verdicts(point)) if not ok]

    def inside(self, point: Mapping[str, Value]) -> bool:
        """True if a point meets the conditions that were asked for."""
        return all(self._inside(point))

    def mutated(self, point: Mapping[str, Value], fields: int) -> Point:
        """The point with some random fields changed to other candidates."""
        out = dict(point)
        for name in self.random.sample(self.free, fields):
            odd = self.unusual.get(name, ())
            out[name] = self.random.choice(
                odd if odd and self.random.random() < 0.2 else self.values[name]
            )
        if "ndim" in out and "layout" in out:  # one fact in two fields
            out["layout"] = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}[int(out["ndim"])]
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
        made = 0
        for turn in range(8 * n):
            if made >= n:
                return
            base = self.random.choice(bases)
            if turn % 2:  # the legal side: a legal neighbour, however far
                point: Point | None = self._still_legal(base)
            else:
                target = targets[turn // 2 % len(targets)]
                near = (base, *self.random.sample(bases, _BASES))
                point = next(filter(None, (self.beyond(b, target) for b in near)), None)
            if point is not None:
                made += 1
                yield point

    def _still_legal(self, base: Point) -> Point:
        """A point some steps away from ``base`` on the compiler's side of every boundary.

        Only rules of kind ``compile`` hold it back, so that it leaves what is legal otherwise.
        """
        point, steps = base, self.random.randint(1, 4)
        for _ in range(_TRIES):
            step = self.mutated(point, self.random.choice((1, 2, 3)))
            if step != point and not self.broken(step) and self.inside(step):
                point, steps = step, steps - 1
                if steps == 0:
                    break
        return point


def mixed(drawer: Drawer, n: int) -> list[Point]:
    """A third of the points uniform over the legal space, the rest around the rules' boundaries."""
    uniform = drawer.legal(max(1, n // 3))
    points = [*uniform, *drawer.boundary(n - len(uniform))]
    unique = {tuple(p.items()): p for p in points}
    return list(unique.values())[:n]

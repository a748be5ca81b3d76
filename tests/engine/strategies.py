"""Strategies for expressions of every node kind and for points to evaluate them at.

Every expression is well sorted. Domains contain zero and negative numbers, tables lack rows, and
partial terms nest, since undefinedness is what back ends get wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ckrules.engine import expr as e
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Real, domain_of

SMALL = Int("small", [0, 1, 2, 3], lo=-3, hi=5)
SIGNED = Int("signed", [-4, -1, 0, 2], lo=-7, hi=7)
NATURAL = Int("natural", [1, 2, 4, 8, 16])
ALWAYS_NEGATIVE = Int("always_negative", [-3, -1])
FLAG = Bool("flag")
OTHER = Bool("other")
ONLY = Bool("only", [True])
WORD = Enum("word", ["mem", "compv3", "it's"])
KIND = Enum("kind", ["compv3", "off"])
HALF = Real("half", [-1.5, 0.0, 0.25, 3.0])
THIRD = Real("third", [0.1, 2.0])

VARIABLES: dict[str, e.Expr] = {
    domain_of(v).name: v
    for v in (SMALL, SIGNED, NATURAL, ALWAYS_NEGATIVE, FLAG, OTHER, ONLY, WORD, KIND, HALF, THIRD)
}

#: What must not be mixed up: a missing row, an absent key value, zero as a value.
NUMBERS = Table("numbers", ("n",), {0: 3, 1: 0, 2: -2, 5: 7})
WORDS = Table("words", ("word", "n"), {("mem", 0): "mem", ("compv3", 1): "off", ("off", 2): "mem"})
FLAGS = Table("flags", ("word", "flag"), {("mem", True): True, ("compv3", False): False})
FLOATS = Table("floats", ("n",), {0: 0.5, 2: -0.25, 3: 0.0})
BY_FLOAT = Table("by_float", ("x",), {0.25: 1, 3.0: 2, -1.5: 0})
PAIRS = Table.relation("pairs", ("a", "b"), [(0, 0), (1, 2), (2, 1), (-1, 2)])
EMPTY = Table.relation("empty", ("a",), [])

_LITERALS = st.integers(-5, 9)
_FLOATS = st.sampled_from([-2.0, -0.5, 0.0, 0.1, 1.0, 2.5])


def points(*, candidates: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Points of `VARIABLES`, also outside the candidates of the whole numbers."""
    values = {}
    for name, node in VARIABLES.items():
        d = domain_of(node)
        ranged = d.sort == e.INT and not candidates
        values[name] = st.integers(d.lo, d.hi) if ranged else st.sampled_from(d.values)
    return st.fixed_dictionaries(values)


class Strategies:
    """Expressions by sort and depth.

    Args:
        reals: Whether floats, and ``/``, occur.
        tables: Whether `lookup` and `rel` occur.
        partial: Whether terms may be undefined.
        undefined: Whether terms occur that are undefined everywhere.
        constants: Whether a whole operand may be a constant (on the left as well).
        names: Whether parts get names.
    """

    def __init__(
        self,
        *,
        reals: bool = True,
        tables: bool = True,
        partial: bool = True,
        undefined: bool = True,
        constants: bool = True,
        names: bool = True,
    ) -> None:
        self.reals, self.tables, self.partial = reals, tables, partial
        self.undefined = undefined and partial
        self.constants, self.names = constants, names
        self._made: dict[tuple[str, int], st.SearchStrategy[Any]] = {}

    def conditions(self, depth: int = 3) -> st.SearchStrategy[e.BoolExpr]:
        """Conditions nested at most so deep."""
        return self._get("bool", depth, self._conditions)

    def numbers(self, depth: int = 3) -> st.SearchStrategy[e.IntExpr]:
        """Numbers nested at most so deep: whole ones, and floats unless left out."""
        whole = self.integers(depth)
        return st.one_of(whole, self.floats(depth)) if self.reals else whole

    def integers(self, depth: int = 3) -> st.SearchStrategy[e.IntExpr]:
        """Whole numbers nested at most so deep."""
        return self._get("int", depth, self._integers)

    def floats(self, depth: int = 3) -> st.SearchStrategy[e.RealExpr]:
        """Floats nested at most so deep."""
        return self._get("real", depth, self._floats)

    def words(self, depth: int = 3) -> st.SearchStrategy[e.EnumExpr]:
        """Words nested at most so deep."""
        return self._get("enum", depth, self._words)

    def any(self, depth: int = 3) -> st.SearchStrategy[e.Expr]:
        """Expressions of any sort."""
        kinds = [self.conditions(depth), self.numbers(depth), self.words(depth)]
        return st.one_of(kinds)

    # -- by sort -----------------------------------------------------------------------------

    def _get(self, sort: str, depth: int, make: Callable[[int], Any]) -> st.SearchStrategy[Any]:
        if (sort, depth) not in self._made:
            self._made[sort, depth] = st.deferred(lambda: make(depth))
        return self._made[sort, depth]

    def _named(self, made: st.SearchStrategy[Any]) -> list[st.SearchStrategy[Any]]:
        return [made.map(lambda x: e.named(f"q{x.id}", x))] if self.names else []

    def _conditions(self, depth: int) -> st.SearchStrategy[Any]:
        leaf = st.sampled_from([FLAG, OTHER, ONLY])
        if depth == 0:
            return leaf
        b, n, w = self.conditions(depth - 1), self.numbers(depth - 1), self.words(depth - 1)
        right = st.one_of(n, _LITERALS)
        word_right = st.one_of(w, st.just("compv3")) if self.constants else w
        kinds = [
            leaf,
            *(st.builds(op, n, right) for op in _COMPARISONS),
            st.builds(lambda x, y: x % y == 0, self.integers(depth - 1), self._divisor(depth - 1)),
            st.builds(_word_equal, w, word_right),
            st.builds(_word_differs, w, word_right),
            st.builds(e.isin, n, st.lists(_LITERALS, max_size=3)),
            st.builds(_word_in, w, st.integers(0, 3)),
            st.builds(e.is_pow2, n),
            st.builds(lambda *xs: e.all_of(*xs), b, b, b),
            st.builds(lambda x, y: x & y, b, b),
            st.builds(lambda *xs: e.any_of(*xs), b, b, b),
            st.builds(lambda x, y: x | y, b, b),
            st.builds(lambda x: ~x, b),
            st.builds(e.implies, b, b),
            st.builds(lambda x, y: x == y, b, b),
            st.builds(lambda x, y: x != y, b, b),
            st.builds(e.ite, b, b, b),
            *self._named(b),
        ]
        if self.constants:
            kinds += [st.sampled_from([e.TRUE, e.FALSE])]
        if self.undefined:
            kinds += [st.just(e.undef(FLAG))]
        if self.tables:
            n = self.integers(depth - 1)
            kinds += [
                st.builds(lambda x, y: e.rel(PAIRS, x, y), n, n),
                st.builds(lambda x: e.rel(EMPTY, x), n),
                st.builds(lambda x, y: e.rel(FLAGS, x, y), w, b),
                st.builds(lambda x, y: e.lookup(FLAGS, x, y), w, b),
                st.builds(lambda x, y: e.lookup(FLAGS, x, y, default=True), w, b),
            ]
        return st.one_of(kinds)

    def _divisor(self, depth: int) -> st.SearchStrategy[Any]:
        if self.partial:
            return st.one_of(self.integers(depth), st.sampled_from([SMALL, SIGNED]))
        return st.sampled_from([NATURAL, ALWAYS_NEGATIVE, 1, 3, -2])

    def _integers(self, depth: int) -> st.SearchStrategy[Any]:
        leaf: Any = st.sampled_from([SMALL, SIGNED, NATURAL, ALWAYS_NEGATIVE])
        if self.constants:
            leaf = st.one_of(leaf, _LITERALS.map(e.const))
        if depth == 0:
            return leaf
        b, n, d = self.conditions(depth - 1), self.integers(depth - 1), self._divisor(depth - 1)
        right = st.one_of(n, _LITERALS)
        kinds = [
            leaf,
            *(st.builds(op, n, right) for op in _ARITHMETIC),
            st.builds(lambda x, y: x - y, _LITERALS, n),
            st.builds(lambda x: -x, n),
            *(st.builds(op, n, d) for op in _DIVISIONS),
            st.builds(e.minimum, n, right, n),
            st.builds(e.maximum, n, right, n),
            st.builds(e.ite, b, n, right),
            *self._named(n),
        ]
        if self.partial:
            kinds += [
                st.builds(lambda x, y: x // y, _LITERALS, n),
                st.builds(lambda x, y: x % y, _LITERALS, n),
            ]
            if self.undefined:
                kinds += [st.just(e.undef(SMALL))]
            if self.tables:
                kinds += [st.builds(lambda x: e.lookup(NUMBERS, x), n)]
        if self.tables:
            kinds += [st.builds(lambda x: e.lookup(NUMBERS, x, default=4), n)]
        return st.one_of(kinds)

    def _floats(self, depth: int) -> st.SearchStrategy[Any]:
        leaf: Any = st.sampled_from([HALF, THIRD])
        if self.constants:
            leaf = st.one_of(leaf, _FLOATS.map(e.const))
        if depth == 0:
            return leaf
        b, n, x = self.conditions(depth - 1), self.integers(depth - 1), self.floats(depth - 1)
        right = st.one_of(x, n, _FLOATS)
        kinds = [
            leaf,
            *(st.builds(op, x, right) for op in _ARITHMETIC),
            st.builds(e.minimum, x, right),
            st.builds(e.maximum, right, x),
            st.builds(e.ite, b, x, n),
            *self._named(x),
        ]
        if self.partial:
            kinds += [
                st.builds(lambda a, c: a / c, st.one_of(n, x), st.one_of(n, x)),
                *(st.builds(op, x, right) for op in _DIVISIONS),
            ]
            if self.undefined:
                kinds += [st.just(e.undef(HALF))]
            if self.tables:
                kinds += [
                    st.builds(lambda a: e.lookup(FLOATS, a), n),
                    st.builds(lambda a: e.lookup(BY_FLOAT, a), x),
                ]
        return st.one_of(kinds)

    def _words(self, depth: int) -> st.SearchStrategy[Any]:
        leaf = st.sampled_from([WORD, KIND])
        if depth == 0:
            return leaf
        b, w = self.conditions(depth - 1), self.words(depth - 1)
        kinds = [leaf, st.builds(e.ite, b, w, w), *self._named(w)]
        if self.constants:
            kinds += [st.builds(e.ite, b, w, st.sampled_from(["mem", "off"]))]
        if self.undefined:
            kinds += [st.just(e.undef(WORD))]
        if self.partial and self.tables:
            n = self.integers(depth - 1)
            kinds += [st.builds(lambda x, y: e.lookup(WORDS, x, y), w, n)]
        return st.one_of(kinds)


_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x == y, lambda x, y: x != y, lambda x, y: x < y,
    lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y,
)  # fmt: skip
_ARITHMETIC: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
)  # fmt: skip
_DIVISIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x // y, lambda x, y: x % y, e.ceil_div,
)  # fmt: skip


def _fits(word: e.EnumExpr, other: Any) -> bool:
    return isinstance(other, e.Expr) or not word.symbols or other in word.symbols


def _word_equal(word: e.EnumExpr, other: Any) -> e.BoolExpr:
    return word == (other if _fits(word, other) else word.symbols[0])


def _word_differs(word: e.EnumExpr, other: Any) -> e.BoolExpr:
    return word != (other if _fits(word, other) else word.symbols[0])


def _word_in(word: e.EnumExpr, size: int) -> e.BoolExpr:
    return word.isin(word.symbols[:size])


EVERYTHING = Strategies()

"""Values of fields that make no difference: which points are one and the same to who uses them.

A vocabulary declares such fields (`Vocabulary.alike`). Each says by which effects two values can be
told apart; where all effects are equal, the points are. Of each set of such points the one with the
first values is canonical, and `canonical` gives the conditions that it alone meets, so that counts,
samples and streams of a space keep one point of each set.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as part
from itertools import chain, combinations, islice
from math import prod
from typing import Any

from ckrules.engine.evaluate.compiled import compile_values
from ckrules.engine.expr import FALSE, TRUE, BoolExpr, Expr, Value, all_of, any_of, implies, isin
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rewrite.connectives import nary, negation
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules.rule import version_key
from ckrules.support.errors import UsageError

_TIED = 2_000  # combinations of values of fields that conditions read together


@dataclass(frozen=True)
class Alike:
    """Values of one field are alike where its effects are equal.

    Args:
        name: A few words joined by hyphens.
        effects: What the value is used for; points that differ in the field alone, and have the
            same value of each effect, are the same.
        applies: Where that is claimed; it must hold for both values.
        sources: Where the claim was read.
        doc: The fact in a sentence.
    """

    name: str
    field: str
    effects: tuple[Expr, ...]
    applies: BoolExpr = TRUE
    sources: tuple[str, ...] = ()
    doc: str = ""

    def same(self, value: Any, other: Any) -> BoolExpr:
        """Where two values of the field are alike, as a condition on the other fields.

        >>> from ckrules.engine.expr import minimum
        >>> from ckrules.engine.expr.variables import Int
        >>> v, has = Int("vector", [1, 2, 4]), Int("has", [1, 2])
        >>> Alike("narrowed", "vector", (minimum(v, has),)).same(4, 2)
        true
        """
        bound = (Simplifier({self.field: v}) for v in (value, other))
        one, two = bound
        applies = [s.condition(self.applies) for s in (one, two)]
        pairs = ((one.any(e), two.any(e)) for e in self.effects)
        return all_of(*applies, *(_equal(a, b) for a, b in pairs))


def _equal(a: Expr, b: Expr) -> BoolExpr:
    if a is b:
        return TRUE
    if isinstance(a, BoolExpr) and isinstance(b, BoolExpr):
        return (a & b) | (~a & ~b)
    node: BoolExpr = a == b  # type: ignore[assignment]  # expressions compare to expressions
    return node


@dataclass(frozen=True)
class AlikeDef:
    """A declaration, which becomes an `Alike` of each vocabulary that it is true of."""

    name: str
    field: str
    function: Callable[[Any], Sequence[Expr]] = part(repr=False)
    applies: Callable[[Any], BoolExpr] | None = part(default=None, repr=False)
    since: str = "0"
    until: str | None = None
    sources: tuple[str, ...] = ()

    def build(self, words: Any) -> Alike:
        """The claim over a vocabulary's fields."""
        applies = TRUE if self.applies is None else self.applies(words)
        doc = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        effects = tuple(self.function(words))
        return Alike(self.name, self.field, effects, applies, self.sources, " ".join(doc.split()))

    def valid_for(self, version: str) -> bool:
        """Whether it is claimed of a version: from ``since`` on, and before ``until``."""
        at = version_key(version)
        begun = version_key(self.since) <= at
        return begun and (self.until is None or at < version_key(self.until))


def alike(
    name: str,
    field: str,
    *,
    source: str | Sequence[str],
    applies: Callable[[Any], BoolExpr] | None = None,
    since: str = "0",
    until: str | None = None,
) -> Callable[[Callable[[Any], Sequence[Expr]]], AlikeDef]:
    """Declares that a field's values are alike where what the function returns is equal."""
    sources = (source,) if isinstance(source, str) else tuple(source)
    return lambda function: AlikeDef(name, field, function, applies, since, until, sources)


def claims(declared: Iterable[AlikeDef], words: Any, version: str) -> tuple[Alike, ...]:
    """The claims that are made of a version, over a vocabulary."""
    return tuple(d.build(words) for d in declared if d.valid_for(version))


def canonical(
    known: Sequence[Alike],
    variables: Mapping[str, Expr],
    domains: Mapping[str, Sequence[Any]],
    where: Iterable[BoolExpr] = (),
) -> tuple[BoolExpr, ...]:
    """The conditions that of each set of points that are the same only the first one meets.

    The first has of each field the first value of all that are alike, in the order of the domain.

    Args:
        known: What is claimed.
        variables: The fields by name.
        domains: The values that each can have.
        where: Conditions on all points; the first is the first of those that meet them.

    Raises:
        UsageError: Where conditions read too many values of alike fields together.

    >>> from ckrules.engine.expr import minimum
    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> v, has = Int("vector", [1, 2, 4]), Int("has", [1, 2])
    >>> space = Space([v, has])
    >>> narrowed = Alike("narrowed", "vector", (minimum(v, has),))
    >>> first = canonical([narrowed], {"vector": v}, space.domains)
    >>> space.count(), space.where(*first).count()
    (6, 3)
    >>> first = canonical([narrowed], {"vector": v}, space.domains, [v > 1])
    >>> [tuple(p.values()) for p in space.where(v > 1, *first)]
    [(2, 1), (2, 2)]
    """
    sets = _Sets(known, variables, domains)
    return tuple(c for names, kept in _groups(sets.fields, where) for c in sets.first(names, kept))


def _groups(
    fields: Sequence[str], where: Iterable[BoolExpr]
) -> list[tuple[list[str], list[BoolExpr]]]:
    """The fields, those together that a condition reads, with the conditions that read them."""
    groups: list[tuple[list[str], list[BoolExpr]]] = [([f], []) for f in fields]
    for condition in clauses(all_of(*where)):
        touched = [g for g in groups if condition.support & set(g[0])]
        if touched:
            names = [f for f in fields if any(f in g[0] for g in touched)]
            kept = [c for g in touched for c in g[1]]
            groups = [g for g in groups if g not in touched] + [(names, [*kept, condition])]
    return groups


class _Sets:
    """Which values of which fields are alike, as conditions on the point."""

    def __init__(
        self,
        known: Sequence[Alike],
        variables: Mapping[str, Expr],
        domains: Mapping[str, Sequence[Any]],
    ) -> None:
        self.fields = list(dict.fromkeys(claim.field for claim in known))
        self._known, self._variables, self._domains = known, variables, domains
        self._same: dict[tuple[str, Any, Any], BoolExpr] = {}

    def first(self, names: Sequence[str], where: Sequence[BoolExpr]) -> Iterator[BoolExpr]:
        """Conditions that no point alike in these fields that meets ``where`` comes before."""
        sizes = [len(self._domains[n]) for n in names]
        if where and prod(sizes) * max(sizes) > _TIED:
            text = ", ".join(names)
            raise UsageError(f"--distinct: conditions tie {text} together: fix some of them")
        kept = all_of(*where)
        for i, name in enumerate(names):
            later: dict[Any, list[BoolExpr]] = {}
            for before, value in combinations(self._domains[name], 2):
                same = self._alike(name, value, before)
                if same is not FALSE:
                    also = self._reached(names[i + 1 :], {name: before}, kept)
                    later.setdefault(value, []).append(all_of(same, also))
            for value, found in later.items():
                if (any_same := nary("or", found)) is not FALSE:
                    yield implies(_is(self._variables[name], value), negation(any_same))

    def _alike(self, name: str, value: Any, other: Any) -> BoolExpr:
        """Where two values of a field are alike, by any claim."""
        if (name, value, other) not in self._same:
            own = [claim for claim in self._known if claim.field == name]
            self._same[name, value, other] = any_of(*(c.same(value, other) for c in own))
        return self._same[name, value, other]

    def _reached(
        self, names: Sequence[str], chosen: Mapping[str, Any], where: BoolExpr
    ) -> BoolExpr:
        """Where some values of fields, alike to the point's, meet ``where`` with those chosen."""
        if where is TRUE:
            return TRUE
        if not names:
            return Simplifier(chosen).condition(where)
        name, *rest = names
        node, found = self._variables[name], list[BoolExpr]()
        for value in self._domains[name]:
            same = [_is(node, value)]
            for other in self._domains[name]:
                if other != value:
                    alike = Simplifier(chosen).condition(self._alike(name, other, value))
                    same.append(nary("and", [_is(node, other), alike]))
            after = self._reached(rest, {**chosen, name: value}, where)
            found.append(nary("and", [nary("or", same), after]))
        return nary("or", found)


def _is(node: Expr, value: Any) -> BoolExpr:
    if isinstance(node, BoolExpr):
        return node if value else ~node
    return isin(node, [value])


def keys(
    known: Sequence[Alike],
) -> Callable[[Mapping[str, Value]], tuple[tuple[str, Any], ...]]:
    """What a point has in common with those that are the same, and with no other one.

    >>> from ckrules.engine.expr import minimum
    >>> from ckrules.engine.expr.variables import Int
    >>> v, has = Int("vector", [1, 2, 4]), Int("has", [1, 2])
    >>> key = keys([Alike("narrowed", "vector", (minimum(v, has),))])
    >>> key({"vector": 4, "has": 2}) == key({"vector": 2, "has": 2})
    True
    """
    roots = [(claim.applies, *claim.effects) for claim in known]
    values = compile_values([*chain.from_iterable(roots)])

    def made(point: Mapping[str, Value]) -> tuple[tuple[str, Any], ...]:
        found: dict[str, Any] = dict(point)
        answers = iter(values(point))
        for claim, own in zip(known, roots, strict=True):
            applies, *effects = islice(answers, len(own))
            if applies:
                found[claim.field] = (claim.name, *effects)
        return tuple(sorted(found.items()))

    return made


def representatives(
    known: Sequence[Alike], variables: Mapping[str, Expr], points: Iterable[Mapping[str, Value]]
) -> list[int]:
    """The places of points of which each is the first of those listed that are the same.

    >>> from ckrules.engine.expr import minimum
    >>> from ckrules.engine.expr.variables import Int
    >>> v, has = Int("vector", [1, 2, 4]), Int("has", [1, 2])
    >>> narrowed = Alike("narrowed", "vector", (minimum(v, has),))
    >>> points = [{"vector": 4, "has": 2}, {"vector": 1, "has": 2}, {"vector": 2, "has": 2}]
    >>> representatives([narrowed], {"vector": v}, points)
    [1, 2]
    """
    fields = dict.fromkeys(claim.field for claim in known)
    places = {f: {v: i for i, v in enumerate(domain_of(variables[f]).values)} for f in fields}
    best: dict[Any, tuple[list[tuple[bool, Any]], int]] = {}
    keyed = keys(known)
    for i, point in enumerate(points):
        # Values beyond the candidates come behind them, in their own order.
        order = [(point[f] not in places[f], places[f].get(point[f], point[f])) for f in fields]
        same = keyed(point)
        if same not in best or (order, i) < best[same]:
            best[same] = (order, i)
    return sorted(i for _, i in best.values())


def required(known: Sequence[Alike], what: str) -> Sequence[Alike]:
    """The claims, of which there must be some.

    Raises:
        UsageError: If nothing is known of what is alike.
    """
    if not known:
        raise UsageError(
            f"nothing is known of {what} that make the same code: leave out --distinct"
        )
    return known

"""What a catalog lists for some values of fields, at a stage and under conditions, in its order."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.constraints.catalogs.stages import STAGES, Staged
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import FALSE, BoolExpr
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.lang.where import parse_condition
from ckrules.engine.rules import Rule
from ckrules.engine.rules.alike import representatives
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.region import Region
from ckrules.kernels.books import Books
from ckrules.kernels.families import families, family_of, variants
from ckrules.kernels.library import available
from ckrules.kernels.selection import accepted, select
from ckrules.support.errors import CkrulesError, UsageError, unknown

Point = Mapping[str, Any]


class CatalogListing:
    """The points that a catalog lists within a selection.

    Kernels of other families are listed with the variants that the file names, as upstream does,
    or alone when their own variant is asked for.

    Args:
        books: Reads the names of GPUs.
        given: Words by field; a field of the catalog's keys without words has all its values.
        where: Conditions as text.
        stage: One of `STAGES`.
        distinct: Whether only one of the points that make the same code is kept.

    Raises:
        UnknownNameError: For an unknown stage, field or value, with near matches.
    """

    def __init__(
        self,
        catalog: Catalog,
        books: Books,
        given: Mapping[str, Sequence[str]],
        where: Sequence[str] = (),
        stage: str = "listed",
        *,
        distinct: bool = False,
    ) -> None:
        if stage not in STAGES:
            raise unknown("stage", stage, STAGES)
        self.catalog, self.stage = catalog, stage
        self._books, self._given, self._where = books, given, where
        self._distinct = distinct
        self._values = {k: self._asked(k) for k in catalog.keys}
        self._refuse_words()
        self._staged: dict[str, Staged] = {}

    def _asked(self, key: str) -> list[Any]:
        """The values of a key that are asked for (all of them where none is)."""
        words = self._given.get(key)
        if key == "variant":
            known = variants()
            for word in words or ():
                if word not in known:
                    raise unknown("variant", word, known)
            if words and not any(self.catalog.keys_with(word) for word in words):
                text = f"{self.catalog.name} lists kernels of {self.catalog.family.name}"
                raise UsageError(f"{text}, none of {', '.join(words)}")
            return list(dict.fromkeys(words or self.catalog.family.variants))
        if words is None:
            return list(domain_of(self.catalog.book().fields[key]).values)
        return self._meant(self.catalog.family.name, key)

    @cached_property
    def _known(self) -> list[str]:
        """The families that are asked for, or those that the file has where no variant is."""
        guests = (str(p["variant"]) for p in self.catalog.guests())
        asked = self._given.get("variant") or (*self.catalog.family.variants, *guests)
        return list(dict.fromkeys(family_of(v).name for v in asked))

    def _refuse_words(self) -> None:
        """Complains of a word that means nothing to any of the families."""
        for key in self._given.keys() - {"variant"}:
            for word in self._given[key]:
                if not any(self._meant(name, key, [word]) for name in self._known):
                    self._accepted(self._known[0], key, word)  # which says what it knows

    def _meant(self, name: str, key: str, words: Sequence[str] | None = None) -> list[Any]:
        """The values that words mean to a family, which need not know all of them."""
        found: dict[Any, None] = {}
        for word in self._given[key] if words is None else words:
            with suppress(CkrulesError):
                found[self._accepted(name, key, word)] = None
        return list(found)

    def _accepted(self, name: str, key: str, word: str) -> Any:
        return accepted(self._books, families()[name], self.book(name), key, word)

    @cached_property
    def listed(self) -> list[Point]:
        """The points that meet every condition, before any stage."""
        wanted = self._values["variant"]
        keys = dict.fromkeys(k for v in wanted for k in self.catalog.keys_with(v))
        found: list[Point] = []
        for key in itertools.product(keys, *(self._values[k] for k in self.catalog.keys[1:])):
            listed = self.catalog.listed(*key)
            found += [p for p in listed if key[0] in wanted or p["variant"] in wanted]
        said = [k for k in self.catalog.keys[1:] if k in self._given]
        for name, guests in self.by_family(self.catalog.guests()):  # in its family's own words
            asked = {k: self._meant(name, k) for k in said}
            asked |= {"variant": wanted} if "variant" in self._given else {}
            found += [p for p in guests if all(p.get(k) in v for k, v in asked.items())]
        return [p for p in found if self._meets(p)]

    @cached_property
    def points(self) -> list[Point]:
        """The points that survive the stage too."""
        found = self.at(self.stage).points
        return self._one_of_each(found) if self._distinct else found

    def _one_of_each(self, points: list[Point]) -> list[Point]:
        """One point of each set that makes the same code, as far as that is known."""
        kept: list[tuple[int, Point]] = []
        families = [family_of(str(p["variant"])).name for p in points]
        for name in dict.fromkeys(families):
            own = [
                (i, p) for i, (p, f) in enumerate(zip(points, families, strict=True)) if f == name
            ]
            words = self.book(name).vocabulary
            places = representatives(words.alike, words.variables, (p for _, p in own))
            kept += [own[i] for i in places]
        return [p for _, p in sorted(kept, key=lambda pair: pair[0])]

    def at(self, stage: str) -> Staged:
        """What a stage leaves of the listed points, and why it takes the others."""
        if stage not in self._staged:
            self._staged[stage] = self.catalog.stage(self.listed, stage)
        return self._staged[stage]

    def rule(self, stage: str, code: str) -> Rule:
        """The rule of a stage that has this code."""
        for family in dict.fromkeys(family_of(str(p["variant"])) for p in self.listed):
            book = self.catalog.stage_book(stage, family.variants[0])
            if code in {r.code for r in book.rules}:
                return book[code]
        raise unknown("rule", code, ())

    @cached_property
    def region(self) -> Region:
        """The points as a region: the catalog's rules and those of the stage.

        It has one family: that of the variants asked for, or else the first of the catalog that
        knows the words.

        Raises:
            UsageError: If variants of several families are asked for.
        """
        name = self._family
        given = {
            k: w if k == "variant" else self._meant(name, k) or w for k, w in self._given.items()
        }
        chosen = select(self._books, given, self._where, name)
        held = {k: list(v) for k, v in chosen.fixed.items()}
        asked = [str(v) for v in held.pop("variant")]
        space = self.catalog.space(asked, stage=self.stage, **held)
        words = self.catalog.book(asked[0]).vocabulary
        rules = [r for r in space.rules if isinstance(r, Rule)]
        other = [r for r in space.rules if not isinstance(r, Rule)]
        left = {n: d for n, d in space.domains.items() if d != domain_of(words.variables[n]).values}
        book = RuleBook(f"catalog {self.catalog.name}", words, rules, check=False)
        extra = [r if isinstance(r, BoolExpr) else r.condition for r in other]
        if not all(left.values()):  # a value that no kernel of the list has
            extra.append(FALSE)
        fewer = {n: d for n, d in left.items() if d}
        content = frozenset(fewer.keys() - chosen.fixed.keys())
        return Region(book, fewer, (*extra, *chosen.where), content=content)

    @property
    def _family(self) -> str:
        """The family of the region; select() refuses variants of several."""
        said = self._given.keys() - {"variant"}
        fitting = (n for n in self._known if all(self._meant(n, k) for k in said))
        return next(fitting, self._known[0])

    @property
    def guests(self) -> int:
        """How many of the points are of another family than the region."""
        return sum(family_of(str(p["variant"])).name != self._family for p in self.points)

    def _meets(self, point: Point) -> bool:
        conditions = self._conditions[family_of(str(point["variant"])).name]
        if conditions is None:
            return False
        at = At(point)
        return all(at.holds(c) for c in conditions)

    @cached_property
    def _conditions(self) -> dict[str, list[BoolExpr] | None]:
        """The filters by family; None where a family that nobody named lacks a field of them."""
        named = self._known if "variant" in self._given else []
        out: dict[str, list[BoolExpr] | None] = {n: self._filters(n) for n in sorted(named)}
        faults: dict[str, CkrulesError] = {}
        for name in families().keys() - out.keys():
            out[name] = None
            if available(families()[name], self._books.ck):
                try:
                    out[name] = self._filters(name)
                except CkrulesError as error:
                    faults[name] = error
        if faults.keys() >= set(self._known):
            raise faults[self._known[0]]
        return out

    def _filters(self, name: str) -> list[BoolExpr]:
        names = self.book(name).vocabulary.names()
        filters = [parse_condition(text, names) for text in self._where]
        for key in self._given.keys() - set(self.catalog.keys):
            values = [f"{key} == {v!r}" for v in self._meant(name, key)]
            filters.append(parse_condition(" | ".join(values), names) if values else FALSE)
        return filters

    def book(self, name: str) -> RuleBook:
        """The catalog's rules for a family."""
        return self.catalog.book(families()[name].variants[0])

    def count(self, by: Sequence[str]) -> tuple[int, list[tuple[tuple[Any, ...], int]]]:
        """The number of points, and by the values of fields; some families may lack one."""
        known = {k: f for name in families() for k, f in self.book(name).vocabulary.names().items()}
        for field in by:
            if field not in known:
                raise unknown("field", field, known)
        groups = Counter(tuple(self._value(p, f) for f in by) for p in self.points)
        listed = {f: domain_of(known[f]).values for f in by if known[f].op == "var"}
        places = {f: {v: i for i, v in enumerate(values)} for f, values in listed.items()}

        def order(entry: tuple[tuple[Any, ...], int]) -> list[tuple[Any, str]]:
            return [(_place(places.get(f), v), str(v)) for f, v in zip(by, entry[0], strict=True)]

        return len(self.points), sorted(groups.items(), key=order)

    def _value(self, point: Point, field: str) -> Any:
        """The value of a field or derived quantity; a dash where the point's family has none."""
        if field in point:
            return point[field]
        words = self.book(family_of(str(point["variant"])).name).vocabulary.quantities
        return At(point).value(words[field]) if field in words else "-"

    def by_family(self, points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
        """Points by family, in order of first appearance."""
        found: dict[str, list[Point]] = {}
        for point in points:
            found.setdefault(family_of(str(point["variant"])).name, []).append(point)
        return list(found.items())


def _place(places: Mapping[Any, int] | None, value: Any) -> float:
    """What orders the values of a field: their places, or for a quantity themselves."""
    if places is not None:
        return places.get(value, math.inf)
    return value if isinstance(value, (int, float)) else math.inf

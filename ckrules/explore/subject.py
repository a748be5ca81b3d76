"""What is explored: a part of a space, compiled once, and counts in it under any choice.

Counts are exact but under conditions that are too hard to count: these are estimated from drawn
points, which the counts say.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from ckrules.engine.codec import Point
from ckrules.engine.diagram.facets import Facets, ListedFacets, facets
from ckrules.engine.drawn import DrawnCounts, DrawnFacets
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules.region import Region
from ckrules.engine.space import Space
from ckrules.explore.choice import FieldChoice
from ckrules.kernels.books import Books
from ckrules.support.errors import HardSpaceWarning, NeverTrueWarning, UsageError
from ckrules.support.recent import Recent
from ckrules.support.visible import visible

_KEPT = 8  # conditions whose compiled parts are kept


@dataclass(frozen=True)
class Counted:
    """The number of points under a choice, and for each value of each field what it would leave.

    The counts of a field are with the choices of all other fields; None is a count that is not
    known, of few points or none.
    """

    total: int
    by: Mapping[str, Mapping[Value, int | None]]
    remarks: tuple[str, ...] = ()
    exact: bool = True


@dataclass(frozen=True)
class _Part:
    space: Space
    facets: Facets | ListedFacets | DrawnFacets
    remarks: tuple[str, ...]


class Subject:
    """A part of a space with its rules.

    Args:
        books: The rule books that it comes from; None for a space whose points are not kernels.
        title: The part in words.
        options: The options of the command line that ask for it, each with its values.
        results: A results database, if there is one.

    >>> from ckrules.kernels.selection import select
    >>> given = {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "filter": 3}
    >>> subject = Subject(select(Books(), given), Books(), "depthwise")
    >>> counted = subject.counted(FieldChoice({"stride_h": (1,)}))
    >>> counted.total == counted.by["stride_h"][1] == subject.space.bind(stride_h=1).count()
    True
    """

    def __init__(
        self,
        region: Region,
        books: Books | None,
        title: str,
        options: Mapping[str, Sequence[str]] = MappingProxyType({}),
        results: Path | None = None,
    ) -> None:
        self.region, self.title, self._books = region, visible(title), books
        self.options, self.results = options, results
        self.space = region.space
        self._lock = threading.Lock()
        self._parts: Recent[str, _Part] = Recent(_KEPT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HardSpaceWarning)  # few points are listed quickly
            self._whole = _Part(self.space, facets(self.space.compile()), ())

    @property
    def kernels(self) -> bool:
        """Whether the points are kernels, which have names, predictions and pages."""
        return self._books is not None

    @property
    def books(self) -> Books:
        """The rule books.

        Raises:
            UsageError: For points that are not kernels.
        """
        if self._books is None:
            raise UsageError("the points of this space are not kernels")
        return self._books

    @cached_property
    def domains(self) -> Mapping[str, tuple[Domain, Sequence[Value]]]:
        """Each field, and the values that it has in the space, in declared order."""
        own = self.space.domains
        return {n: (domain_of(v), own[n]) for n, v in self.region.book.fields.items()}

    @property
    def fixed(self) -> Mapping[str, Value]:
        """The fields of one value."""
        return {n: values[0] for n, (_, values) in self.domains.items() if len(values) == 1}

    @cached_property
    def whole(self) -> Counted:
        """The counts where nothing is chosen."""
        return self._counted(FieldChoice())

    def counted(self, choice: FieldChoice) -> Counted:
        """The counts under a choice.

        Raises:
            ExpressionError: If the condition is none.
        """
        return self.whole if choice.empty else self._counted(choice)

    def _counted(self, choice: FieldChoice) -> Counted:
        part, codes = self._part(choice.where), self._codes(choice)
        total: int
        found: Mapping[str, Sequence[int | None]]
        if exact := not isinstance(part.facets, DrawnFacets):
            total, found = part.facets.under(codes)
            remarks = part.remarks
        else:
            drawn = part.facets.under(codes)
            total, found, remarks = drawn.total, drawn.by, (*part.remarks, _estimated(drawn))
        by = {
            name: dict(zip(values, found[name], strict=True))
            for name, (_, values) in self.domains.items()
        }
        return Counted(total, by, remarks, exact)

    def exact(self, choice: FieldChoice) -> bool:
        """Whether the points under a choice can be counted and listed."""
        return not isinstance(self._part(choice.where).facets, DrawnFacets)

    def sample(self, choice: FieldChoice, n: int, seed: int) -> Sequence[Point]:
        """At most so many points under a choice, drawn uniformly."""
        found = self._part(choice.where).facets
        if isinstance(found, DrawnFacets):
            return found.points(self._codes(choice), n, seed)
        return self.space_of(choice).sample(n, seed=seed)

    def _codes(self, choice: FieldChoice) -> dict[str, list[int]]:
        place = {n: {v: i for i, v in enumerate(self.domains[n][1])} for n in choice.chosen}
        return {n: [place[n][v] for v in values] for n, values in choice.chosen.items()}

    def space_of(self, choice: FieldChoice) -> Space:
        """The points under a choice.

        Raises:
            ExpressionError: If the condition is none.
        """
        space = self._part(choice.where).space
        return space.bind(**choice.chosen) if choice.chosen else space

    def region_of(self, choice: FieldChoice) -> Region:
        """The part of the rule book's space that a choice leaves."""
        from ckrules.kernels.selection import conditions

        region = self.region
        added = conditions(region.book, [choice.where]) if choice.where else ()
        fixed = {**region.fixed, **choice.chosen}
        return Region(region.book, fixed, (*region.where, *added), region.title, region.first)

    def _part(self, where: str) -> _Part:
        if not where:
            return self._whole
        with self._lock:
            if (known := self._parts.get(where)) is not None:
                return known
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                space = self.space.where(where)
                found = self._facets(space)
            remarks = [str(w.message) for w in seen if issubclass(w.category, NeverTrueWarning)]
            made = self._parts[where] = _Part(space, found, tuple(dict.fromkeys(remarks)))
            return made

    def _facets(self, space: Space) -> Facets | ListedFacets | DrawnFacets:
        """The counts of a part of the space; estimates where it is not compiled as a whole."""
        compiled = space.compile()
        if compiled.whole or not self.space.compile().whole:
            return facets(compiled)
        return DrawnFacets(self.space, space.conditions[len(self.space.conditions) :])


def _estimated(drawn: DrawnCounts) -> str:
    """What a page says of counts that are estimated."""
    said = f"This condition is too hard to count: {drawn.met:,} of {drawn.drawn:,} kernels drawn"
    if not drawn.met:
        return f"{said} meet it, so that there are few or none."
    return (
        f"{said} meet it. All numbers are estimated from these, the total to within "
        f"{100 * drawn.spread:.1g} %; of a value without a number there are few kernels or none."
    )

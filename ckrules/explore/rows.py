"""The rows of the page: a field each, with its values, their counts and where a click leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain, Role
from ckrules.explore.choice import FieldChoice
from ckrules.explore.subject import Counted, Subject
from ckrules.support.tables import word

SECTIONS = {
    Role.PURPOSE: "What is computed",
    Role.METHOD: "How",
    Role.GEOMETRY: "Sizes",
    Role.FEATURE: "Features",
}


@dataclass(frozen=True)
class Chip:
    """One value of a field.

    ``count`` is None where it is not known, ``share`` the count as a part of the largest of the
    field. ``link`` leads to the choice with it toggled; of one that no kernel has, to the reason.
    """

    id: str
    word: str
    count: int | None
    chosen: bool
    link: str
    share: float = 0.0
    exact: bool = True
    """False of an estimated count."""

    @property
    def none(self) -> bool:
        """Whether no kernel has it under the choice."""
        return self.count == 0

    @property
    def why(self) -> bool:
        """Whether a click asks why there is none."""
        return self.none and not self.chosen


@dataclass(frozen=True)
class FieldRow:
    """One field."""

    name: str
    doc: str
    chips: tuple[Chip, ...]
    never: tuple[Chip, ...]
    """The values that no kernel of the space has, whatever is chosen."""
    clear: str | None
    """Where the field is let go; None where nothing of it is chosen."""
    others: tuple[Chip, ...] = ()
    """Values that are shown when asked for."""


@dataclass(frozen=True)
class FieldSection:
    """The fields of one role."""

    title: str
    rows: tuple[FieldRow, ...]


def sections(subject: Subject, choice: FieldChoice, counted: Counted) -> Iterator[FieldSection]:
    """The fields that have several values, by what they are for."""
    whole = subject.whole.by
    for role, title in SECTIONS.items():
        rows = tuple(
            _row(domain, counted, whole[name], choice)
            for name, (domain, values) in subject.domains.items()
            if domain.role is role and (len(values) > 1 or name in choice.chosen)
        )
        if rows:
            yield FieldSection(title, rows)


def _row(
    domain: Domain, counted: Counted, whole: Mapping[Value, int | None], choice: FieldChoice
) -> FieldRow:
    chosen, counts = choice.chosen.get(domain.name, ()), counted.by[domain.name]
    most = max((n for n in counts.values() if n), default=1)
    chips = {
        v: _chip(domain.name, v, n, v in chosen, choice, (n or 0) / most, counted.exact)
        for v, n in counts.items()
    }
    some = tuple(chip for v, chip in chips.items() if whole[v] or chip.chosen)
    never = tuple(chip for v, chip in chips.items() if not (whole[v] or chip.chosen))
    clear = at("/", choice.held(domain.name, ())) if chosen else None
    return FieldRow(domain.name, domain.doc, some, never, clear)


def _chip(
    name: str, value: Value, count: int | None, chosen: bool, choice: FieldChoice, share: float,
    exact: bool,
) -> Chip:  # fmt: skip
    shown = word(value)
    if count != 0 or chosen:
        link = at("/", choice.toggled(name, value))
    else:
        link = at("/why", choice, field=name, value=shown)
    return Chip(f"{name}-{shown}", shown, count, chosen, link, round(share, 4), exact)


def at(path: str, choice: FieldChoice, **more: str) -> str:
    """The address of a page under a choice.

    >>> at("/why", FieldChoice({"pipeline": ("mem",)}), field="tile_m", value="64")
    '/why?pipeline=mem&field=tile_m&value=64'
    """
    query = choice.query(**more)
    return f"{path}?{query}" if query else path

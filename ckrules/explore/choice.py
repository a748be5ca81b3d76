"""What has been chosen on the page: values of fields and a condition. All of it is in the URL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from urllib.parse import urlencode

from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain
from ckrules.kernels.selection import read_value
from ckrules.support.errors import CkrulesError, UsageError, unknown
from ckrules.support.tables import word

WHERE = "where"
#: Keys of the query that are none of a field.
OWN = (
    WHERE,
    "token",
    "field",
    "value",
    "list",
    "n",
    "seed",
    "seen",
    "stop",
    "k",
    "form",
    "of",
    "cursor",
    "problem",
)
_FIELD = "field."  # before a field whose name is one of these
_LONGEST = 20_000  # characters of a query


@dataclass(frozen=True)
class FieldChoice:
    """Values that fields are held to, a condition, and which kernels are meant at all.

    Args:
        chosen: The values of each field that is held.
        scope: What is another than at the start: see `ckrules.explore.site`.

    >>> choice = FieldChoice({"pipeline": ("mem",)}, "tile_m >= 64")
    >>> choice.toggled("pipeline", "compv3").query()
    'pipeline=mem&pipeline=compv3&where=tile_m+%3E%3D+64'
    >>> choice.toggled("pipeline", "mem").chosen
    {}
    """

    chosen: Mapping[str, tuple[Value, ...]] = field(default_factory=lambda: MappingProxyType({}))
    where: str = ""
    scope: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def toggled(self, name: str, value: Value) -> FieldChoice:
        """With the value chosen too, or no longer where it was."""
        now = self.chosen.get(name, ())
        values = tuple(v for v in now if v != value) if value in now else (*now, value)
        return self.held(name, values)

    def held(self, name: str, values: Sequence[Value]) -> FieldChoice:
        """With a field held to other values; to none of them means that it is free."""
        chosen = {k: v for k, v in self.chosen.items() if k != name}
        if values:
            chosen = {k: self.chosen.get(k, ()) for k in dict.fromkeys((*self.chosen, name))}
            chosen[name] = tuple(values)
        return replace(self, chosen=chosen)

    def asking(self, where: str) -> FieldChoice:
        """With another condition."""
        return replace(self, where=where)

    def within(self, scope: Mapping[str, str]) -> FieldChoice:
        """The same choice of other kernels."""
        return replace(self, scope=scope)

    def cleared(self) -> FieldChoice:
        """With nothing chosen of the same kernels."""
        return FieldChoice(scope=self.scope)

    def pairs(self) -> list[tuple[str, str]]:
        """The keys and values of the query."""
        found = list(self.scope.items())
        found += [(_key(name), word(v)) for name, values in self.chosen.items() for v in values]
        return [*found, (WHERE, self.where)] if self.where else found

    def query(self, **more: str) -> str:
        """The query that says it, with further keys."""
        return urlencode([*self.pairs(), *more.items()])

    @property
    def empty(self) -> bool:
        """Whether nothing is chosen, of whichever kernels."""
        return not self.chosen and not self.where


def read(
    pairs: Iterable[tuple[str, str]], domains: Mapping[str, tuple[Domain, Sequence[Value]]]
) -> tuple[FieldChoice, list[str]]:
    """The choice that a query says, and what is wrong in it, which is left out.

    Args:
        pairs: Keys and values of the query.
        domains: Each field, and the values that there are on the page.
    """
    chosen: dict[str, dict[Value, None]] = {}
    where, faults, length = "", list[str](), 0
    for name, text in pairs:
        length += len(name) + len(text)
        if length > _LONGEST:
            faults.append(f"the address is longer than {_LONGEST:,} characters: the rest is left")
            break
        if name == WHERE:
            where = text.strip()
        elif name not in OWN:
            field_name = name.removeprefix(_FIELD) if name[len(_FIELD) :] in OWN else name
            try:
                chosen.setdefault(field_name, {})[_value(field_name, text, domains)] = None
            except CkrulesError as error:
                faults.append(str(error))
    held = {name: tuple(values) for name, values in chosen.items() if values}
    return FieldChoice(held, where), faults


def _key(name: str) -> str:
    return f"{_FIELD}{name}" if name in OWN else name


def _value(name: str, text: str, domains: Mapping[str, tuple[Domain, Sequence[Value]]]) -> Value:
    if name not in domains:
        raise unknown("field", name[:80], domains)
    domain, values = domains[name]
    value = next((v for v in values if word(v) == text), None)
    if value is not None:
        return value
    asked = domain.accept(read_value(domain, text[:80]))
    raise UsageError(f"{name} = {word(asked)} is not in this space")

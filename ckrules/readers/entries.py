"""What a reader yields: configurations with their place, and problems with theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ckrules.engine.expr import Value
from ckrules.kernels.config import (
    Config,
    ConfigError,
    config_from_mapping,
    config_from_parsed,
    read_exactly,
    read_name,
)
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import naming_of
from ckrules.kernels.schema import FieldError
from ckrules.readers.census import Census

if TYPE_CHECKING:
    from ckrules.kernels.books import Books


class Place(NamedTuple):
    """A source with line and column, both from 1, columns in characters; 0 where there is none.

    ``end_line`` and ``end_column`` are the first place behind the span, 0 where it is not known.

    >>> str(Place("a.json", 4, 10)), str(Place("a.json"))
    ('a.json:4:10', 'a.json')
    """

    source: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        if self.line and self.column:
            return f"{self.source}:{self.line}:{self.column}"
        return ":".join([self.source, *(str(n) for n in (self.line, self.column) if n)])


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text of a span; an empty span inserts."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a source beside its configurations; codes: `ckrules.checking.findings`.

    ``edit`` makes what the message says true, where that is mechanical.
    """

    place: Place
    code: str
    message: str
    edit: Edit | None = None


Locate = Callable[[str], Place | None]
Rewrite = Callable[[str, Value], Edit | None]
_NONE: Mapping[str, Value] = MappingProxyType({})


class Entry:
    """One configuration; ``locate`` gives the place of a field where the source writes it.

    Args:
        locate: The place of a field's value, None where the source does not write it.
        rewrite: The edit that gives a field another value, None where the format cannot say it.
        label: What the source itself calls the configuration: a name or number.
        remarks: What the reader found beside the rules.
        pointer: The JSON pointer of the configuration in its document.
        problem: The sizes of the problem that the source takes the kernel for; empty: of none.

    ``launched`` are the fields that host code sets for that problem, whatever the kernel's name.
    """

    __slots__ = (
        "_locate", "_rewrite", "config", "label", "launched", "place", "pointer", "problem",
        "remarks",
    )  # fmt: skip

    def __init__(
        self,
        config: Config,
        place: Place,
        locate: Locate | None = None,
        rewrite: Rewrite | None = None,
        *,
        label: str = "",
        remarks: tuple[Remark, ...] = (),
        pointer: str = "",
        problem: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.config, self.place, self._locate = config, place, locate
        self._rewrite, self.label, self.remarks, self.pointer = rewrite, label, remarks, pointer
        self.problem, self.launched = problem, _NONE

    def locate(self, *fields: str) -> Place:
        """The place of the first of the fields that the source writes, else the entry's own."""
        for name in fields:
            if (place := self.written(name)) is not None:
                return place
        return self.place

    def written(self, field: str) -> Place | None:
        """The place of a field's value, None where the source does not write it."""
        return None if self._locate is None else self._locate(field)

    @property
    def rewrites(self) -> bool:
        """Whether there are edits of fields at all."""
        return self._rewrite is not None

    def rewrite(self, field: str, value: Value) -> Edit | None:
        """The edit that gives the field another value, None where the format cannot say it."""
        return None if self._rewrite is None else self._rewrite(field, value)


class UnreadableText:
    """Text that is not a configuration; what is wrong is worked out when it is asked for.

    A file of a hundred thousand faulty lines shows only the first few, so messages with near
    matches are not made for the rest. ``pointer`` is as that of an `Entry`, None where the text
    has no place in a document.
    """

    __slots__ = ("_explain", "place", "pointer")

    def __init__(
        self,
        place: Place,
        explain: str | Callable[[], list[tuple[Place, str]]],
        pointer: str | None = None,
    ) -> None:
        self.place, self._explain, self.pointer = place, explain, pointer

    def lines(self) -> list[tuple[Place, str]]:
        """Place and message of everything that is wrong here, at least one."""
        if isinstance(self._explain, str):
            return [(self.place, self._explain)]
        return self._explain()


@dataclass(frozen=True, slots=True)
class Context:
    """What readers need to know: the rule books, and the GPU of entries that name none."""

    books: Books
    arch: str | None = None
    #: How ``.tile(a, b, c)`` of the C++ macros is read: see `ckrules.readers.formats.macros`.
    tile_reading: str = "gmn"
    #: Of files of ranges, which variants, types and layouts are asked for, by field; the rest: all.
    only: Mapping[str, str] = field(default_factory=dict)
    #: What is counted and compared over all sources of a run.
    census: Census = field(default_factory=Census)


def entry_from_name(
    text: str, context: Context, place: Place, *, spread: bool = False
) -> Entry | UnreadableText:
    """The entry that a kernel's name makes.

    Args:
        context: What readers know.
        spread: Whether it stands there letter by letter, so that each part has its own place.
    """
    try:
        parsed, exact = read_exactly(text)
        config = config_from_parsed(
            parsed, context.books, arch=context.arch, name=text if exact else None
        )
    except KernelNameError as error:
        fault, at = error, _column(place, error.column, spread)
        return UnreadableText(at, lambda: [(at, name_fault(fault))])
    except ConfigError as error:
        refused = error
        return UnreadableText(
            place,
            lambda: [(_in_name(text, f.key, place, spread), f.message) for f in refused.faults],
        )
    return NamedEntry(text, config, place, spread, taken_remarks(parsed.taken, place))


def taken_remarks(found: Mapping[str, Any], place: Place) -> tuple[Remark, ...]:
    """The remark that a name says less than a configuration, with the values taken for the rest."""
    if not found:
        return ()
    taken = ", ".join(f"{k} = {str(v).lower()}" for k, v in found.items())
    return (Remark(place, "CFG010", f"the name does not say everything; taken: {taken}"),)


class NamedEntry(Entry):
    """The configuration of a name; of its kind files have millions."""

    __slots__ = ("_naming", "_place", "_spread")

    def __init__(
        self, text: str, config: Config, place: Place, spread: bool, remarks: tuple[Remark, ...],
        problem: Mapping[str, int] = MappingProxyType({}), launched: Mapping[str, Value] = _NONE,
    ) -> None:  # fmt: skip
        self.config, self.label, self.remarks, self.pointer = config, text, remarks, ""
        self.problem, self.launched = problem, launched
        self._naming, self._place, self._spread = naming_of(text), place, spread
        self.place = _part(place, 0, len(text), spread) if place.line else place

    @property
    def rewrites(self) -> bool:
        return True

    def written(self, field: str) -> Place | None:
        span = None if self._naming is None else self._naming.span(self.label, field)
        return None if span is None else _part(self._place, span[0], span[1], self._spread)

    def rewrite(self, field: str, value: Value) -> Edit | None:
        found = None if self._naming is None else self._naming.span(self.label, field)
        if found is None or isinstance(value, bool) or not self._spread:
            return None
        start, end = found
        text = f"{self.label[:start]}{value}{self.label[end:]}"
        try:  # words of names differ from values, and what is left out follows from others
            said = {**read_name(self.label).point, field: value}
            if read_name(text).point != said:
                return None
        except KernelNameError:
            return None
        return Edit(_part(self._place, start, end, True), str(value))


def _column(place: Place, column: int, spread: bool) -> Place:
    return Place(place.source, place.line, place.column + column - 1) if spread else place


def _part(place: Place, start: int, end: int, spread: bool) -> Place:
    source, line, column, _, _ = place
    if not spread:
        return Place(source, line, column, line, column)
    return Place(source, line, column + start, line, column + end)


def name_fault(error: KernelNameError) -> str:
    """What the error says, without the column and the text, which the place already shows."""
    rest = error.text[error.column - 1 : error.column + 23]
    found = f"found {rest + ('…' if len(error.text) > error.column + 23 else '')!r}"
    tail = f"; {error.hint}" if error.hint else ""
    return (
        f"not a kernel name: expected {error.expected}, {found if rest else 'found the end'}{tail}"
    )


def _span(text: str, key: str) -> tuple[int, int] | None:
    naming = naming_of(text)
    return None if naming is None else naming.span(text, key)


def _in_name(text: str, key: str, place: Place, spread: bool) -> Place:
    span = _span(text, key)
    return _column(place, 1 if span is None else span[0] + 1, spread)


def entry_from_mapping(
    given: Mapping[str, Any],
    context: Context,
    place: Place,
    locate: Callable[[str, bool], Place | None],
    rewrite: Rewrite | None = None,
    **extra: Any,
) -> Entry | UnreadableText:
    """The entry that a mapping makes; ``locate(key, at_key)`` gives the place of a key or value.

    ``extra`` goes to the `Entry`: its label, remarks and pointer.
    """
    try:
        config = _config(given, context)
    except ConfigError as error:
        refused = error
        return UnreadableText(
            place, lambda: [(locate(f.key, f.at_key) or place, f.message) for f in refused.faults]
        )
    except RecursionError:
        return UnreadableText(place, "nested too deeply to be a configuration")

    def alone(name: str, value: Value) -> Edit | None:
        """The edit, unless a field that is left out follows from the value and would change."""
        try:
            again = _config({**given, name: value}, context)
        except ConfigError:
            return None
        same = again.point == {**config.point, name: value}
        return rewrite(name, value) if rewrite is not None and same else None

    edits = None if rewrite is None else alone
    return Entry(config, place, lambda name: locate(name, False), edits, **extra)


def _config(given: Mapping[str, Any], context: Context) -> Config:
    """A mapping's configuration; ``name`` may stand for the fields, or beside them and agree."""
    if "name" not in given:
        return config_from_mapping(given, context.books, arch=context.arch)
    name = given["name"]
    fields = {k: v for k, v in given.items() if k != "name"}
    if not isinstance(name, str):
        raise ConfigError([FieldError("name is not a string", "name")])
    try:
        parsed = read_name(name[:2000])
    except KernelNameError as error:
        raise ConfigError([FieldError(name_fault(error), "name")]) from None
    for key in parsed.spelling.keys() & parsed.point.keys():  # fields may be spelt so, too
        fields.setdefault(key, parsed.spelling[key])
    config = config_from_mapping({**parsed.point, **fields}, context.books, arch=context.arch)
    said = parsed.point.keys() - parsed.taken.keys()
    differ = [k for k in parsed.point if k in said and config.point[k] != parsed.point[k]]
    if differ:
        raise ConfigError(
            [FieldError(f"the name says another {differ[0]} than the fields", "name")]
        )
    return config

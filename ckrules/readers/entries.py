"""What a reader yields: configurations with their place, and problems with theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.config import (
    Config,
    ConfigError,
    Fault,
    config_from_mapping,
    config_from_parsed,
    read_name,
)
from ckrules.engine.expr import Value
from ckrules.name_grammar import KernelNameError

if TYPE_CHECKING:
    from ckrules.selection import Books


@dataclass(frozen=True, slots=True)
class Place:
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
        parts = [self.source, *(str(n) for n in (self.line, self.column) if n)]
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text of a span; an empty span inserts."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a source that is no configuration: a code of `ckrules.readers.findings`."""

    place: Place
    code: str
    message: str


Locate = Callable[[str], Place | None]
Rewrite = Callable[[str, Value], Edit | None]


class Entry:
    """One configuration; ``locate`` gives the place of a field where the source writes it.

    Args:
        config: The configuration.
        place: Where it stands.
        locate: The place of a field's value, None where the source does not write it.
        rewrite: The edit that gives a field another value, None where the format cannot say it.
        label: What the source itself calls the configuration: a name or number.
        remarks: What the reader found beside the rules.
        pointer: The JSON pointer of the configuration in its document.
    """

    __slots__ = ("_locate", "_rewrite", "config", "label", "place", "pointer", "remarks")

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
    ) -> None:
        self.config, self.place, self._locate = config, place, locate
        self._rewrite, self.label, self.remarks, self.pointer = rewrite, label, remarks, pointer

    def locate(self, *fields: str) -> Place:
        """The place of the first of the fields that the source writes, else the entry's own."""
        for name in fields:
            if (place := self.written(name)) is not None:
                return place
        return self.place

    def written(self, field: str) -> Place | None:
        """The place of a field's value, None where the source does not write it."""
        return None if self._locate is None else self._locate(field)

    def rewrite(self, field: str, value: Value) -> Edit | None:
        """The edit that gives the field another value, None where the format cannot say it."""
        return None if self._rewrite is None else self._rewrite(field, value)


class Problem:
    """Text that is no configuration; what is wrong is worked out when it is asked for.

    A file of a hundred thousand faulty lines shows only the first few, so messages with near
    matches are not made for the rest.
    """

    __slots__ = ("_explain", "place")

    def __init__(self, place: Place, explain: str | Callable[[], list[tuple[Place, str]]]) -> None:
        self.place, self._explain = place, explain

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


def entry_from_name(
    text: str, context: Context, place: Place, at: Callable[[int], Place]
) -> Entry | Problem:
    """The entry that a kernel's name makes; ``at`` gives the place of a column of the name."""
    try:
        config = config_from_parsed(read_name(text), context.books, arch=context.arch)
    except KernelNameError as error:
        fault = error
        return Problem(at(fault.column), lambda: [(at(fault.column), name_fault(fault))])
    except ConfigError as error:
        faults = error.faults
        return Problem(place, lambda: [(_in_name(text, f.key, at), f.message) for f in faults])

    def locate(name: str) -> Place | None:
        span = _span(text, name)
        return None if span is None else _from_to(at, *span)

    def rewrite(name: str, value: Value) -> Edit | None:
        found = locate(name)
        plain = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
        return Edit(found, str(value)) if found is not None and plain else None

    whole = _from_to(at, 0, len(text)) if place.line else place
    return Entry(config, whole, locate, rewrite, label=text)


def _from_to(at: Callable[[int], Place], start: int, end: int) -> Place:
    first, last = at(start + 1), at(end + 1)
    return Place(first.source, first.line, first.column, last.line, last.column)


def name_fault(error: KernelNameError) -> str:
    """What the error says, without the column and the text, which the place already shows."""
    rest = error.text[error.column - 1 : error.column + 23]
    found = f"found {rest + ('…' if len(error.text) > error.column + 23 else '')!r}"
    tail = f"; {error.hint}" if error.hint else ""
    return (
        f"not a kernel name: expected {error.expected}, {found if rest else 'found the end'}{tail}"
    )


def _span(text: str, key: str) -> tuple[int, int] | None:
    from ckrules.name_grammar import DEPTHWISE_NAME, NAME

    match = NAME.fullmatch(text) or DEPTHWISE_NAME.fullmatch(text)
    if match is None or match.groupdict().get(key) is None:
        return None
    start, end = match.span(key)
    return (start, start + 1) if key == "ndim" else (start, end)


def _in_name(text: str, key: str, at: Callable[[int], Place]) -> Place:
    span = _span(text, key)
    return at(1) if span is None else at(span[0] + 1)


def entry_from_mapping(
    given: Mapping[str, Any],
    context: Context,
    place: Place,
    locate: Callable[[str, bool], Place | None],
    rewrite: Rewrite | None = None,
    **extra: Any,
) -> Entry | Problem:
    """The entry that a mapping makes; ``locate(key, at_key)`` gives the place of a key or value.

    ``extra`` goes to the `Entry`: its label, remarks and pointer.
    """
    try:
        config = _config(given, context)
    except ConfigError as error:
        faults = error.faults
        return Problem(
            place, lambda: [(locate(f.key, f.at_key) or place, f.message) for f in faults]
        )
    except RecursionError:
        return Problem(place, "nested too deeply to be a configuration")
    return Entry(config, place, lambda name: locate(name, False), rewrite, **extra)


def _config(given: Mapping[str, Any], context: Context) -> Config:
    """A mapping's configuration; ``name`` may stand for the fields, or beside them and agree."""
    if "name" not in given:
        return config_from_mapping(given, context.books, arch=context.arch)
    name = given["name"]
    fields = {k: v for k, v in given.items() if k != "name"}
    if not isinstance(name, str):
        raise ConfigError([Fault("name is not a word", "name")])
    try:
        parsed = read_name(name[:2000])
    except KernelNameError as error:
        raise ConfigError([Fault(name_fault(error), "name")]) from None
    for key in parsed.spelling:  # the fields may use the other spelling
        fields.setdefault(key, parsed.spelling[key])
    config = config_from_mapping({**parsed.point, **fields}, context.books, arch=context.arch)
    differ = [k for k, v in parsed.point.items() if config.point[k] != v]
    if differ:
        raise ConfigError([Fault(f"the name says another {differ[0]} than the fields", "name")])
    return config

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
from ckrules.name_grammar import KernelNameError

if TYPE_CHECKING:
    from ckrules.selection import Books


@dataclass(frozen=True, slots=True)
class Place:
    """A source with line and column, both from 1, columns in characters; 0 where there is none.

    >>> str(Place("a.json", 4, 10)), str(Place("a.json"))
    ('a.json:4:10', 'a.json')
    """

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.source, *(str(n) for n in (self.line, self.column) if n)]
        return ":".join(parts)


class Entry:
    """One configuration; ``locate`` gives the place of a field where the source writes it."""

    __slots__ = ("_locate", "config", "place")

    def __init__(
        self, config: Config, place: Place, locate: Callable[[str], Place | None] | None = None
    ) -> None:
        self.config, self.place, self._locate = config, place, locate

    def locate(self, *fields: str) -> Place:
        """The place of the first of the fields that the source writes, else the entry's own."""
        if self._locate is not None:
            for name in fields:
                if (place := self._locate(name)) is not None:
                    return place
        return self.place


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
    return Entry(config, place, lambda name: _in_name(text, name, at))


def name_fault(error: KernelNameError) -> str:
    """What the error says, without the column and the text, which the place already shows."""
    rest = error.text[error.column - 1 : error.column + 23]
    found = f"found {rest + ('…' if len(error.text) > error.column + 23 else '')!r}"
    tail = f"; {error.hint}" if error.hint else ""
    return (
        f"not a kernel name: expected {error.expected}, {found if rest else 'found the end'}{tail}"
    )


def _in_name(text: str, key: str, at: Callable[[int], Place]) -> Place:
    from ckrules.name_grammar import DEPTHWISE_NAME, NAME

    match = NAME.fullmatch(text) or DEPTHWISE_NAME.fullmatch(text)
    if match is None or match.groupdict().get(key) is None:
        return at(1)
    return at(match.start(key) + 1)


def entry_from_mapping(
    given: Mapping[str, Any],
    context: Context,
    place: Place,
    locate: Callable[[str, bool], Place | None],
) -> Entry | Problem:
    """The entry that a mapping makes; ``locate(key, at_key)`` gives the place of a key or value."""
    try:
        config = _config(given, context)
    except ConfigError as error:
        faults = error.faults
        return Problem(
            place, lambda: [(locate(f.key, f.at_key) or place, f.message) for f in faults]
        )
    except RecursionError:
        return Problem(place, "nested too deeply to be a configuration")
    return Entry(config, place, lambda name: locate(name, False))


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

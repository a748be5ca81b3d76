"""Read one TOML file and hand out its values, typed; every fault names file, line, column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

from ckrules.support.errors import UsageError, nearest
from ckrules.support.toml_path import TomlPath
from ckrules.support.toml_text import TomlTextError, parse

_T = TypeVar("_T")


class TomlFileError(UsageError):
    """A TOML file that is not valid, breaks its schema, or contradicts itself.

    ``path``, ``line``, ``column`` (1-based, columns in code points) and ``what`` are the
    parts of the message ``path:line:column: what``.

    >>> str(TomlFileError("my.toml", 3, 1, "unknown key 'x'"))
    "my.toml:3:1: unknown key 'x'"
    """

    def __init__(self, path: str, line: int, column: int, what: str) -> None:
        super().__init__(path, line, column, what)
        self.path = path
        self.line = line
        self.column = column
        self.what = what

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.what}"


class Document:
    """One parsed TOML file: its top-level table and the places of its values."""

    def __init__(self, name: str, raw: bytes) -> None:
        self.name = name
        self._text = _decode(name, raw)
        self.data: dict[str, object] = _parse(name, self._text)

    def error(self, path: TomlPath, what: str, *, key: bool = False) -> TomlFileError:
        """The error ``what`` at the value at ``path``, or at its key."""
        from ckrules.support.locate import Locator  # only an error needs positions

        found = Locator(self._text)
        line, column = found.key(path) if key else found.value(path)
        return TomlFileError(self.name, line, column, what)


class Section:
    """One table of a document whose keys are known; checked for unknown keys when made."""

    def __init__(
        self,
        doc: Document,
        path: TomlPath,
        data: object,
        required: Collection[str],
        optional: Collection[str] = (),
    ) -> None:
        self.doc = doc
        self.path = path
        self.title = _title(path)
        if not isinstance(data, dict):
            raise doc.error(path, f"{self.title} is {_kind(data)}, expected a table")
        self.data: dict[str, object] = data
        allowed = [*required, *optional]
        for key in data:
            if key not in allowed:
                what = f"unknown key {key!r} in {self.title}, {_hint(key, allowed)}"
                raise doc.error((*path, key), what, key=True)
        for key in required:
            if key not in data:
                raise doc.error(path, f"{self.title} has no key {key!r}, which it needs")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def error(self, key: str, what: str, *below: int) -> TomlFileError:
        """The error ``what`` at the value of ``key``, or at an element of it."""
        return self.doc.error((*self.path, key, *below), what)

    def text(self, key: str) -> str:
        """A string that is not blank."""
        return self._text(key, self.data[key])

    def word(self, key: str, known: Collection[str], what: str) -> str:
        """A string out of ``known``; ``what`` says what its words are."""
        return self._word(key, self.data[key], known, what)

    def number(self, key: str, least: int, most: int) -> int:
        """An integer in ``least..most``."""
        return self._number(key, self.data[key], least, most)

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of strings, none blank and none twice."""
        items = self._array(key, self.data[key])
        return self._once(key, [self._text(key, item, i) for i, item in enumerate(items)])

    def words(self, key: str, known: Collection[str], what: str) -> tuple[str, ...]:
        """An array of strings out of ``known``, none twice."""
        items = self._array(key, self.data[key])
        found = [self._word(key, item, known, what, i) for i, item in enumerate(items)]
        return self._once(key, found)

    def numbers(self, key: str, least: int, most: int) -> tuple[int, ...]:
        """An array of integers in ``least..most``, each larger than the one before."""
        items = self._array(key, self.data[key])
        found = [self._number(key, item, least, most, i) for i, item in enumerate(items)]
        for i in range(1, len(found)):
            if found[i] <= found[i - 1]:
                raise self.error(key, f"{key}: {found[i]} does not follow {found[i - 1]}", i)
        return tuple(found)

    def triples(self, key: str, least: int, most: int) -> tuple[tuple[int, int, int], ...]:
        """An array of ``[m, n, k]``, each integer in ``least..most``, no triple twice."""
        found: list[tuple[int, int, int]] = []
        for i, item in enumerate(self._array(key, self.data[key])):
            m, n, k = (
                self._number(key, part, least, most, i, j)
                for j, part in enumerate(self._three(key, item, i))
            )
            found.append((m, n, k))
        return self._once(key, found)

    def word_triples(
        self, key: str, known: Collection[str], what: str
    ) -> tuple[tuple[str, str, str], ...]:
        """An array of three words out of ``known`` each, no triple twice."""
        found: list[tuple[str, str, str]] = []
        for i, item in enumerate(self._array(key, self.data[key])):
            a, b, acc = (
                self._word(key, part, known, what, i, j)
                for j, part in enumerate(self._three(key, item, i))
            )
            found.append((a, b, acc))
        return self._once(key, found)

    def table(self, key: str) -> dict[str, object]:
        """A table with free keys."""
        value = self.data[key]
        if not isinstance(value, dict):
            raise self.error(key, f"{key} is {_kind(value)}, expected a table")
        return value

    def rows(self, key: str) -> list[object]:
        """The tables of an array of tables, not yet checked."""
        return self._array(key, self.data[key])

    def inner(
        self, key: str, required: Collection[str] = (), optional: Collection[str] | None = None
    ) -> Section:
        """The table ``key`` as a section; it may have any keys where none are ``optional``."""
        allowed = self.table(key) if optional is None else optional
        return Section(self.doc, (*self.path, key), self.data[key], required, allowed)

    def each(
        self, key: str, required: Collection[str], optional: Collection[str] = ()
    ) -> Iterator[Section]:
        """The tables of an array as sections; none where there is no array."""
        for i, data in enumerate(self.rows(key) if key in self else ()):
            yield Section(self.doc, (*self.path, key, i), data, required, optional)

    def _text(self, key: str, value: object, *at: int) -> str:
        if not isinstance(value, str):
            raise self.error(key, f"{key} is {_kind(value)}, expected a string", *at)
        if not value.strip():
            raise self.error(key, f"{key} is blank, expected a string", *at)
        return value

    def _word(self, key: str, value: object, known: Collection[str], what: str, *at: int) -> str:
        word = self._text(key, value, *at)
        if word not in known:
            article = "an" if what[0] in "AEIOUaeiou" else "a"
            fault = f"{key}: {_short(word)} is not {article} {what}, {_hint(word, known)}"
            raise self.error(key, fault, *at)
        return word

    def _number(self, key: str, value: object, least: int, most: int, *at: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, f"{key} is {_kind(value)}, expected an integer", *at)
        if not least <= value <= most:
            what = f"{key} = {_short(value)} is out of range, expected {least} to {most}"
            raise self.error(key, what, *at)
        return value

    def _array(self, key: str, value: object, *at: int) -> list[object]:
        if not isinstance(value, list):
            raise self.error(key, f"{key} is {_kind(value)}, expected an array", *at)
        return value

    def _three(self, key: str, value: object, at: int) -> list[object]:
        items = self._array(key, value, at)
        if len(items) != 3:
            raise self.error(key, f"{key}: {len(items)} entries, expected three", at)
        return items

    def _once(self, key: str, found: list[_T]) -> tuple[_T, ...]:
        for i, item in enumerate(found):
            if item in found[:i]:
                raise self.error(key, f"{key}: {_short(item)} is listed twice", i)
        return tuple(found)


def _decode(name: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        good = raw[: fault.start].decode("utf-8-sig")
        line, column = good.count("\n") + 1, len(good) - good.rfind("\n")
        what = f"byte 0x{raw[fault.start]:02x} is not UTF-8, expected a TOML text file"
        raise TomlFileError(name, line, column, what) from None


def _parse(name: str, text: str) -> dict[str, object]:
    try:
        return parse(text)
    except TomlTextError as fault:
        what = f"not valid TOML: {fault.what}"
        raise TomlFileError(name, fault.line, fault.column, what) from None


def _title(path: TomlPath) -> str:
    if not path:
        return "the file"
    names = ".".join(str(part) for part in path if isinstance(part, str))
    numbers = [part for part in path if isinstance(part, int)]
    return f"[[{names}]] number {numbers[-1] + 1}" if numbers else f"[{names}]"


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {_short(value)}"
        case int() | float():
            return f"the number {_short(value)}"
        case list():
            return "an array"
        case dict():
            return "a table"
    return "a date or time"


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer beyond the digits Python prints
        return "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _hint(word: str, known: Iterable[str]) -> str:
    pool = list(known)
    hits = nearest(word, pool)
    if hits:
        return f"did you mean {' or '.join(repr(hit) for hit in hits)}?"
    return f"expected one of {', '.join(pool)}"

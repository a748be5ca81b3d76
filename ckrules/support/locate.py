"""Find the line and column of every key and value of a TOML text.

``tomllib`` gives no positions. This scanner assumes text that ``tomllib`` accepted; most users run
it only when an error has to be reported.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import NamedTuple

from ckrules.support.toml_path import TomlPath

Place = tuple[int, int]


class Span(NamedTuple):
    """Line and column of the first character, and of the place behind the last."""

    line: int
    column: int
    end_line: int
    end_column: int


_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR = re.compile(r"[^,\]}#\s]*(?:[ \t]+[^,\]}#\s]+)*")


class Locator:
    """Places of the keys and values of one TOML text, 1-based, columns in code points.

    >>> found = Locator('[gpu]\\nwave_size = 64\\ntiles = [[1, 2],\\n  [3]]\\n')
    >>> found.value(("gpu", "wave_size")), found.key(("gpu", "wave_size"))
    ((2, 13), (2, 1))
    >>> found.value(("gpu", "tiles", 1, 0))
    (4, 4)
    >>> found.value(("gpu", "missing"))  # the nearest enclosing table
    (1, 1)
    >>> found.value_span(("gpu", "tiles"))
    Span(line=3, column=9, end_line=4, end_column=7)
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._keys: dict[TomlPath, tuple[int, int]] = {}
        self._values: dict[TomlPath, tuple[int, int]] = {}
        self._tables: dict[TomlPath, int] = {}  # arrays of tables: index of the newest
        self._lines = [0, *(m.end() for m in re.finditer("\n", self._text))]
        self._document()

    def key(self, path: TomlPath) -> Place:
        """The place of the key at ``path``, or of the nearest table around it."""
        return self._nearest(self._keys, path)

    def value(self, path: TomlPath) -> Place:
        """The place of the value at ``path``, or of the nearest table around it."""
        return self._nearest(self._values, path)

    def key_span(self, path: TomlPath) -> Span | None:
        """The span of the key at ``path``; of a table it is the header's."""
        return self._span(self._keys.get(path))

    def value_span(self, path: TomlPath) -> Span | None:
        """The span of the value at ``path``; of a table with a header it is the header's."""
        return self._span(self._values.get(path))

    def _nearest(self, table: dict[TomlPath, tuple[int, int]], path: TomlPath) -> Place:
        while path and path not in table:
            path = path[:-1]
            table = self._values
        return self._place(table.get(path, (0, 0))[0])

    def _span(self, found: tuple[int, int] | None) -> Span | None:
        return found and Span(*self._place(found[0]), *self._place(found[1]))

    def _place(self, at: int) -> Place:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _document(self) -> None:
        table: TomlPath = ()
        while self._skip() < len(self._text):
            if self._text[self._at] != "[":
                self._pair(table)
                continue
            start, array = self._at, self._text.startswith("[[", self._at)
            self._at += 2 if array else 1
            table = self._header(self._key(), array)
            self._at = self._text.find("]", self._at) + (2 if array else 1)
            self._keys[table] = self._values[table] = start, self._at

    def _header(self, parts: list[str], array: bool) -> TomlPath:
        path: TomlPath = ()
        for i, part in enumerate(parts):
            path += (part,)
            if array and i == len(parts) - 1:
                self._tables[path] = self._tables.get(path, -1) + 1
            if path in self._tables:
                path += (self._tables[path],)
        return path

    def _skip(self) -> int:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None  # it matches the empty string
        self._at = blank.end()
        return self._at

    def _string(self) -> str | None:
        for pattern in _STRINGS:
            if found := pattern.match(self._text, self._at):
                self._at = found.end()
                return found.group()
        return None

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip()
            if quoted := self._string():
                parts.append(tomllib.loads(f"k = {quoted}")["k"])
            elif bare := _BARE.match(self._text, self._at):
                parts.append(bare.group())
                self._at = bare.end()
            else:
                raise ValueError(f"no key at offset {self._at}")
            if not self._text.startswith(".", self._skip()):
                return parts
            self._at += 1

    def _pair(self, table: TomlPath) -> None:
        start = self._skip()
        path = table
        parts = self._key()
        end = start + len(self._text[start : self._at].rstrip())
        for part in parts:
            path += (part,)
            self._keys.setdefault(path, (start, end))
        self._at += 1  # the "="
        self._value(path)

    def _value(self, path: TomlPath) -> None:
        start = self._skip()
        self._scan(path)
        self._values[path] = start, self._at

    def _scan(self, path: TomlPath) -> None:
        opening = self._text[self._at]
        if opening not in "[{":
            if self._string() is None and (scalar := _SCALAR.match(self._text, self._at)):
                self._at = scalar.end()
            return
        self._at += 1
        index = 0
        while self._text[self._skip()] not in "]}":
            if opening == "[":
                self._value((*path, index))
            else:
                self._pair(path)
            index += 1
            if self._text[self._skip()] == ",":
                self._at += 1
        self._at += 1

"""Find the line and column of every key and value of a TOML text.

``tomllib`` gives no positions. This scanner assumes text that ``tomllib`` accepted and is
run only when an error has to be reported, so it favours brevity over speed.
"""

from __future__ import annotations

import re
import tomllib

from ckrules.arch.document import Path

Place = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2})", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class Locator:
    """Places of the keys and values of one TOML text, 1-based, columns in code points.

    >>> found = Locator('[gpu]\\nwave_size = 64\\ntiles = [[1, 2],\\n  [3]]\\n')
    >>> found.value(("gpu", "wave_size")), found.key(("gpu", "wave_size"))
    ((2, 13), (2, 1))
    >>> found.value(("gpu", "tiles", 1, 0))
    (4, 4)
    >>> found.value(("gpu", "missing"))  # the nearest enclosing table
    (1, 1)
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # arrays of tables: index of the newest
        self._document()

    def key(self, path: Path) -> Place:
        """The place of the key at ``path``, or of the nearest table around it."""
        return self._place(self._keys, path)

    def value(self, path: Path) -> Place:
        """The place of the value at ``path``, or of the nearest table around it."""
        return self._place(self._values, path)

    def _place(self, table: dict[Path, int], path: Path) -> Place:
        while path and path not in table:
            path = path[:-1]
            table = self._values
        at = table.get(path, 0)
        return self._text.count("\n", 0, at) + 1, at - self._text.rfind("\n", 0, at)

    def _document(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            if self._text[self._at] != "[":
                self._pair(table)
                continue
            start, array = self._at, self._text.startswith("[[", self._at)
            self._at += 2 if array else 1
            table = self._header(self._key(), array)
            self._keys[table] = self._values[table] = start
            self._at = self._text.find("]", self._at) + (2 if array else 1)

    def _header(self, parts: list[str], array: bool) -> Path:
        path: Path = ()
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

    def _pair(self, table: Path) -> None:
        start = self._skip()
        path = table
        for part in self._key():
            path += (part,)
            self._keys.setdefault(path, start)
        self._at += 1  # the "="
        self._value(path)

    def _value(self, path: Path) -> None:
        self._values[path] = self._skip()
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

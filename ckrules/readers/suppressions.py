"""Suppression comments: ``# ckrules: ignore[TILE001] reason``, or the same after ``//`` in C++.

Behind something, a comment covers its own line; alone on a line, it covers the next line that
holds more than comments. A configuration that begins on a covered line is covered whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_COMMENT = re.compile(
    r"(?P<sign>#|//)\s*+ckrules\s*+:\s*+ignore\s*+\[(?P<codes>[^\[\]\n]*+)\]\s*+(?P<reason>[^\n]*+)"
)


class Suppression:
    """One comment: its codes, where it stands, what it covers and which codes it has hidden."""

    __slots__ = ("codes", "column", "covers", "end", "line", "reason", "used")

    def __init__(
        self, line: int, column: int, end: int, codes: tuple[str, ...], reason: str
    ) -> None:
        self.line, self.column, self.end = line, column, end
        self.codes, self.reason = codes, reason
        self.covers = 0
        self.used: set[str] = set()


class Suppressions:
    """The comments of one source, collected while its lines go by.

    >>> found = Suppressions("#")
    >>> found.add(1, "# ckrules: ignore[TILE001, LDS001] measured on gfx942")
    >>> found.add(2, "")
    >>> found.add(3, "grouped_conv_…")
    >>> found.find("TILE001", [3]).reason
    'measured on gfx942'
    """

    def __init__(self, sign: str) -> None:
        self._sign = sign
        self._pending: list[Suppression] = []
        self._by_line: dict[int, list[Suppression]] = {}
        self.all: list[Suppression] = []

    def add(self, number: int, text: str) -> None:
        """Looks at one line; every line must come, in order."""
        if not self._pending and "ckrules" not in text:
            return
        match = _COMMENT.search(text) if "ckrules" in text else None
        code = text[: match.start()] if match else text
        alone = not code.strip() or code.lstrip().startswith(self._sign)
        if match and match["sign"] == self._sign:
            codes = tuple(c.strip() for c in match["codes"].split(",") if c.strip())
            reason = match["reason"].strip()
            made = Suppression(number, match.start() + 1, match.end() + 1, codes, reason)
            self.all.append(made)
            self._pending.append(made)
        if not alone:
            for suppression in self._pending:
                suppression.covers = number
                self._by_line.setdefault(number, []).append(suppression)
            self._pending = []

    def add_all(self, lines: Iterable[str]) -> None:
        """Looks at all lines of a text."""
        for number, line in enumerate(lines, 1):
            self.add(number, line)

    def find(self, code: str, lines: Iterable[int]) -> Suppression | None:
        """The comment that hides a code on one of the lines; it counts as used from now on."""
        for line in lines:
            for suppression in self._by_line.get(line, ()):
                if code in suppression.codes:
                    suppression.used.add(code)
                    return suppression
        return None

    def unused(self) -> Iterator[tuple[Suppression, str]]:
        """Every code that hid nothing, with its comment."""
        for suppression in self.all:
            for code in suppression.codes or ("",):
                if code not in suppression.used:
                    yield suppression, code

"""Just enough C++ to read kernel declarations: macro calls, chains of setters, their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

# No quantifier below gives back what it took, so that every text is gone through once.
_QUOTED = r'"(?:[^"\\\n]++|\\.)*+"?|(?<!\w)\d(?:\w|\.|\'\w)*+|\'(?:[^\'\\\n]++|\\.)*+\'?'
_BLANKED = re.compile(
    r"//[^\n]*+|/\*.*?(?:\*/|\Z)|^[ \t]*+\#(?:[^\n\\]++|\\\n|\\)*+|" + _QUOTED,
    re.DOTALL | re.MULTILINE,
)
_SIGN = re.compile(_QUOTED + r"|[()\[\]{},]", re.DOTALL)
_CALLED = re.compile(r"\b([A-Z]\w*+)\s*+\(")
_SETTER = re.compile(r"\s*+\.\s*+(\w++)\s*+\(")
_HEAD = re.compile(r"\s*+([A-Za-z_]\w*+(?:::\w++)*+)\s*+(?:\(\s*+\)|\{\s*+\})")
_BLANK = re.compile(r"\s*+")
_NUMBER = re.compile(r"-?\d{1,9}")
_OPENS = {")": "(", "]": "[", "}": "{"}
_LONG = 200  # characters; no value of a kernel has as many


@dataclass(frozen=True, slots=True)
class Argument:
    """The offsets of an argument in the code."""

    code: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The beginning of what is written, the whole of every value."""
        return self.code[self.start : min(self.end, self.start + _LONG)]

    def value(self) -> int | bool | str | None:
        """A number, truth value, text or wildcard; None for anything else."""
        if self.end - self.start >= _LONG:
            return None
        text = self.text
        if _NUMBER.fullmatch(text):
            return int(text)
        if text in ("true", "false"):
            return text == "true"
        if len(text) > 1 and text[0] == text[-1] == '"':
            return text[1:-1]
        name = text.rsplit("::", 1)[-1]
        if name == "ANY_INT":
            return -1
        return "*" if name == "ANY" else None


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its name, where the name stands, its arguments and the offset behind it."""

    name: str
    start: int
    end: int
    arguments: tuple[Argument, ...]


def blank(text: str) -> str:
    """The text with comments and preprocessor lines as blanks; texts in quotes stay.

    >>> blank('a // b\\n"//" c')
    'a     \\n"//" c'
    """

    def cover(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] not in "/# \t":
            return found
        return re.sub(r"[^\n]", " ", found)

    return _BLANKED.sub(cover, text)


class Code:
    """C++ without comments, whose parentheses are matched once for all calls.

    >>> code = Code("SET(a, f(1, 2) /* , */, 'x')")
    >>> [[a.text for a in c.arguments] for c in code.calls(re.compile("SET"))]
    [['a', 'f(1, 2)', "'x'"]]
    """

    def __init__(self, text: str) -> None:
        self.text = blank(text)
        self._ends: dict[int, int] = {}
        self._commas: dict[int, list[int]] = {}
        opened: list[int] = []
        for match in _SIGN.finditer(self.text):
            at, sign = match.start(), match.group()
            if sign in "([{":
                opened.append(at)
            elif sign == ",":
                if opened:
                    self._commas.setdefault(opened[-1], []).append(at)
            elif sign in _OPENS:
                self._close(opened, sign, at)

    def _close(self, opened: list[int], sign: str, at: int) -> None:
        """Closes what ``sign`` closes; ``)`` goes past brackets and braces that were left open."""
        while sign == ")" and opened and self.text[opened[-1]] != "(":
            opened.pop()
        if opened and self.text[opened[-1]] == _OPENS[sign]:
            self._ends[opened.pop()] = at

    def calls(self, names: re.Pattern[str]) -> Iterator[Call | tuple[int, str]]:
        """Every call of a macro; an unfinished one is its offset and what is wrong."""
        for match in _CALLED.finditer(self.text):
            if names.fullmatch(match[1]):
                found = self._call(match[1], match.start(1), match.end() - 1)
                said = f"the parentheses of {match[1][:_LONG]} do not close"
                yield found or (match.start(1), said)

    def _call(self, name: str, start: int, opening: int) -> Call | None:
        """The call whose parenthesis opens at an offset; None if it does not close."""
        end = self._ends.get(opening)
        if end is None:
            return None
        cuts = [opening, *self._commas.get(opening, ()), end]
        arguments = tuple(self._trimmed(a + 1, b) for a, b in pairwise(cuts))
        if len(arguments) == 1 and arguments[0].start == arguments[0].end:
            arguments = ()
        return Call(name, start, end + 1, arguments)

    def _trimmed(self, start: int, end: int) -> Argument:
        start = self.skip(start, end)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return Argument(self.text, start, end)

    def skip(self, start: int, end: int) -> int:
        """The offset of the first sign that is not blank."""
        found = _BLANK.match(self.text, start, end)
        return found.end() if found else start

    def chain(self, start: int, end: int, *, headed: bool) -> list[Call] | None:
        """The setters of ``Name().a(…).b(…)``, or without the head; None: it is something else."""
        at = start
        if headed:
            head = _HEAD.match(self.text, at, end)
            if head is None:
                return None
            at = head.end()
        found: list[Call] = []
        while self.skip(at, end) < end:
            setter = _SETTER.match(self.text, at, end)
            if setter is None:
                return None
            made = self._call(setter.group(1), setter.start(1), setter.end() - 1)
            if made is None or made.end > end:
                return None
            found.append(made)
            at = made.end
        return found

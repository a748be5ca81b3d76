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
_CONDITION = re.compile(
    r"[ \t]*+#[ \t]*+(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b((?:(?!//|/\*).)*+)"
)
_NUMBERS = {"0": False, "1": True, "false": False, "true": True}
_OPENS = {")": "(", "]": "[", "}": "{"}
_LONG = 200  # characters; no value of a kernel has as many


@dataclass(frozen=True, slots=True)
class CallArgument:
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
class CppCall:
    """A call: its name, where the name stands, its arguments and the offset behind it."""

    name: str
    start: int
    end: int
    arguments: tuple[CallArgument, ...]


def blank(text: str) -> str:
    """The text with comments, preprocessor lines and what they take out as blanks.

    Texts in quotes stay, and so does what a condition takes out that is not a number.

    >>> blank('a // b\\n"//" c')
    'a     \\n"//" c'
    >>> blank("#if 0\\na\\n#else\\nb\\n#endif")
    '     \\n \\n     \\nb\\n      '
    """
    directives: list[re.Match[str]] = []

    def cover(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] not in "/# \t":
            return found
        if found[0] != "/":
            directives.append(match)
        return _blanks(found)

    covered, parts, at = _BLANKED.sub(cover, text), [], 0
    for start, end in _taken_out(directives):
        parts += [covered[at:start], _blanks(covered[start:end])]
        at = len(covered) if end is None else end
    return "".join([*parts, covered[at:]])


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _taken_out(directives: list[re.Match[str]]) -> Iterator[tuple[int, int | None]]:
    """The parts between preprocessor lines that conditions which are numbers take out."""
    #: Of each condition that is open: whether a branch before was taken, and whether this one is;
    #: None where nobody knows without the macros.
    opened: list[tuple[bool | None, bool | None]] = []
    since: int | None = None
    for line in directives:
        match = _CONDITION.match(line.group())
        if match is None:
            continue
        word, true = match[1], _NUMBERS.get(match[2].strip())
        if word in ("if", "ifdef", "ifndef"):
            opened.append((False, true if word == "if" else None))
        elif opened and word == "endif":
            opened.pop()
        elif opened:
            opened[-1] = _next(*opened[-1], True if word == "else" else true)
        out = any(now is False for _, now in opened)
        if out and since is None:
            since = line.end()
        elif not out and since is not None:
            yield since, line.start()
            since = None
    if since is not None:
        yield since, None


def _next(
    before: bool | None, now: bool | None, true: bool | None
) -> tuple[bool | None, bool | None]:
    """The next branch of a condition: one is taken if it is true and none before it was."""
    if True in (before, now):
        return True, False
    if true is False or (before is False and now is False):
        return None if None in (before, now) else False, true
    return None, None


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

    def calls(self, names: re.Pattern[str]) -> Iterator[CppCall | tuple[int, str]]:
        """Every call of a macro; an unfinished one is its offset and what is wrong."""
        for match in _CALLED.finditer(self.text):
            if names.fullmatch(match[1]):
                found = self._call(match[1], match.start(1), match.end() - 1)
                text = f"the parentheses of {match[1][:_LONG]} do not close"
                yield found or (match.start(1), text)

    def _call(self, name: str, start: int, opening: int) -> CppCall | None:
        """The call whose parenthesis opens at an offset; None if it does not close."""
        end = self._ends.get(opening)
        if end is None:
            return None
        cuts = [opening, *self._commas.get(opening, ()), end]
        arguments = tuple(self._trimmed(a + 1, b) for a, b in pairwise(cuts))
        if len(arguments) == 1 and arguments[0].start == arguments[0].end:
            arguments = ()
        return CppCall(name, start, end + 1, arguments)

    def _trimmed(self, start: int, end: int) -> CallArgument:
        start = self.skip(start, end)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return CallArgument(self.text, start, end)

    def skip(self, start: int, end: int) -> int:
        """The offset of the first sign that is not blank."""
        match = _BLANK.match(self.text, start, end)
        return match.end() if match else start

    def chain(self, start: int, end: int, *, headed: bool) -> list[CppCall] | None:
        """The setters of ``Name().a(…).b(…)``, or without the head; None: it is something else."""
        at = start
        if headed:
            head = _HEAD.match(self.text, at, end)
            if head is None:
                return None
            at = head.end()
        found: list[CppCall] = []
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

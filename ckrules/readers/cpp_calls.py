"""Just enough C++ to read kernel declarations: macro calls, chains of setters, their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKED = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|^[ \t]*\#(?:[^\n\\]|\\\n|\\)*"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL | re.MULTILINE,
)
_SETTER = re.compile(r"\s*\.\s*(\w+)\s*\(")
_HEAD = re.compile(r"\s*([A-Za-z_]\w*(?:::\w+)*)\s*(?:\(\s*\)|\{\s*\})")
_NUMBER = re.compile(r"-?\d{1,9}")


@dataclass(frozen=True, slots=True)
class Argument:
    """The text of an argument and its offsets."""

    text: str
    start: int
    end: int

    def value(self) -> int | bool | str | None:
        """A number, truth value, text or wildcard; None for anything else."""
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
        if found[0] in "\"'":
            return found
        return re.sub(r"[^\n]", " ", found)

    return _BLANKED.sub(cover, text)


def calls(code: str, names: re.Pattern[str]) -> Iterator[Call | tuple[int, str]]:
    """Every call of a macro; an unfinished one is its offset and what is wrong."""
    for match in names.finditer(code):
        found = call(code, match.group(1), match.start(1), match.end())
        yield found or (match.start(1), f"the parentheses of {match.group(1)} do not close")


def call(code: str, name: str, start: int, inside: int) -> Call | None:
    """The call whose arguments begin at ``inside``; None if its parentheses do not close."""
    arguments: list[Argument] = []
    depth, at, begin = 0, inside, inside
    while at < len(code):
        sign = code[at]
        if sign in "\"'":
            at = _behind_text(code, at)
            continue
        if sign in "([{":
            depth += 1
        elif sign in ")]}" and depth:
            depth -= 1
        elif sign == ")" or (sign == "," and not depth):
            if sign == "," or arguments or code[begin:at].strip():
                arguments.append(_trimmed(code, begin, at))
            begin = at + 1
            if sign == ")":
                return Call(name, start, at + 1, tuple(arguments))
        at += 1
    return None


def _behind_text(code: str, at: int) -> int:
    sign, at = code[at], at + 1
    while at < len(code) and code[at] not in (sign, "\n"):
        at += 2 if code[at] == "\\" else 1
    return at + 1


def _trimmed(code: str, start: int, end: int) -> Argument:
    raw = code[start:end]
    start += len(raw) - len(raw.lstrip())
    text = raw.strip()
    return Argument(text, start, start + len(text))


def chain(code: str, start: int, end: int, *, headed: bool) -> list[Call] | None:
    """The setters of ``Name().a(…).b(…)``, or without the head; None if it is something else."""
    at = start
    if headed:
        head = _HEAD.match(code, at, end)
        if head is None:
            return None
        at = head.end()
    found: list[Call] = []
    while code[at:end].strip():
        setter = _SETTER.match(code, at, end)
        if setter is None:
            return None
        made = call(code, setter.group(1), setter.start(1), setter.end())
        if made is None or made.end > end:
            return None
        found.append(made)
        at = made.end
    return found

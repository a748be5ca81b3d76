"""TOML texts as values; a text is a table or one error with its place, whatever it holds."""

from __future__ import annotations

import re
from typing import Any

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_DEEPEST = 100
_DOTS = 1000  # of one line; the parser's work grows with the square of a key's parts


class TomlTextError(ValueError):
    """A text that is not TOML; ``line`` and ``column`` count from 1, in characters."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(what)
        self.line, self.column, self.what = line, column, what


def parse(text: str) -> dict[str, Any]:
    """The table that a text describes.

    Raises:
        TomlTextError: For a text that is not TOML, and for values nested a hundred times.

    >>> parse("a = [1, 2]")
    {'a': [1, 2]}
    """
    import tomllib  # slow to import, and most commands read no TOML

    if text.count(".") > _DOTS:
        for number, row in enumerate(text.split("\n"), 1):
            if row.count(".") > _DOTS:
                raise TomlTextError(number, 1, f"more than {_DOTS:,} dots in one line")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise _placed(text, str(fault)) from None
    except RecursionError:
        raise TomlTextError(1, 1, "nested too deeply") from None
    except ValueError:
        raise TomlTextError(1, 1, "a number has thousands of digits") from None
    if _depth_exceeds(found, _DEEPEST):
        raise TomlTextError(1, 1, "nested too deeply")
    return found


def _placed(text: str, message: str) -> TomlTextError:
    place = _PLACE.search(message)
    what = message[: place.start()] if place else message
    what = what[:1].lower() + what[1:]
    if place and place[1]:
        return TomlTextError(int(place[1]), int(place[2]), what)
    return TomlTextError(text.count("\n") + 1, len(text) - text.rfind("\n"), what)


def _depth_exceeds(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            part
            for v in level
            if isinstance(v, (dict, list))
            for part in (v.values() if isinstance(v, dict) else v)
        ]
        if not level:
            return False
    return True

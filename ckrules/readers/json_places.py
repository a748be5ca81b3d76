"""Where the values of a JSON document stand."""

from __future__ import annotations

import json
import re

#: The keys and places that lead to a value.
Path = tuple[str | int, ...]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s",:\[\]{}]+|[,:\[\]{}]', re.DOTALL)


def places(raw: str) -> dict[Path, int]:
    """The offset of every value of a document that was decoded before, by its path.

    >>> places('{"a": [1, {"b": 2}]}')
    {(): 0, ('a',): 6, ('a', 0): 7, ('a', 1): 10, ('a', 1, 'b'): 16}
    """
    found: dict[Path, int] = {}
    path: list[str | int] = []
    lists: list[bool] = []
    key = False  # whether the next word is a key
    for token in _TOKEN.finditer(raw):
        sign = token.group()
        if sign in "]}":
            lists.pop()
            path.pop()
            key = False
        elif sign == ",":
            if lists[-1]:
                path[-1] = int(path[-1]) + 1
            key = not lists[-1]
        elif key:
            path[-1] = str(json.loads(sign))
            key = False
        elif sign != ":":
            found[tuple(path)] = token.start()
            if sign in "[{":
                lists.append(sign == "[")
                path.append(0)
                key = sign == "{"
    return found

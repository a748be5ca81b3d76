"""Files that describe a space of their own: variables with values, and restriction strings.

The form is that of ``{"variables": [{"name": ..., "values": [...]}], "constraints": [...]}``;
restrictions are read with Python's precedence, and nothing of a file is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import CkrulesError, UsageError, nearest
from ckrules.engine.parse import parse_condition
from ckrules.engine.variables import variable
from ckrules.readers.json_text import Item, Repeats, items, key_places
from ckrules.readers.source import Source, SourceError, Text

if TYPE_CHECKING:
    from ckrules.engine.space import Space

_NEEDED = ("variables", "constraints")
_NOTES = ("name", "source", "note", "cartesian", "valid", "valid_source", "paper_table")


def read_space(path: str) -> Space:
    """The space that a file describes.

    Raises:
        UsageError: For a file that cannot be read or describes no space, with line and column.
    """
    try:
        with open(path, "rb") as stream:
            return _space(path, Source(path, stream).text())
    except SourceError as error:
        places = [str(n) for n in (error.line, error.column) if n]
        raise UsageError(f"{':'.join([path, *places])}: {error.message}") from None


def _space(path: str, text: Text) -> Space:
    from ckrules.engine.space import Space

    found = list(items(text))
    if len(found) != 1 or not isinstance(found[0].value, dict):
        raise SourceError("expected an object with variables and constraints", 1, 1)
    item = found[0]

    def fail(key: str, message: str) -> SourceError:
        places = key_places(text.text, item.offset)
        offset = places[key][-1][1] if key in places else item.offset
        return SourceError(message, *text.place(offset))

    _check_keys(item, fail)
    nodes: dict[str, Any] = {}
    for entry in item.value["variables"]:
        _add(nodes, entry, fail)
    conditions = []
    for constraint in item.value["constraints"]:
        if not isinstance(constraint, str):
            raise fail("constraints", f"constraint {constraint!r} is not a text")
        try:
            conditions.append(parse_condition(constraint, nodes, python=True))
        except CkrulesError as error:
            raise fail("constraints", f"constraint {error}") from None
    return Space(nodes.values(), conditions)


def _check_keys(item: Item, fail: Callable[[str, str], SourceError]) -> None:
    if isinstance(item.value, Repeats):
        raise fail(item.value.twice[0], f"the key {item.value.twice[0]!r} stands twice")
    for key in _NEEDED:
        if not isinstance(item.value.get(key), list):
            near = nearest(key, [k for k in item.value if k not in (*_NEEDED, *_NOTES)], n=1)
            hint = f": is {near[0]!r} meant to be it?" if near else ""
            raise fail(near[0] if near else key, f"no list {key!r}{hint}")


def _add(nodes: dict[str, Any], entry: Any, fail: Callable[[str, str], SourceError]) -> None:
    """Adds the variable that one element of ``variables`` describes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise fail("variables", f"a variable needs a name and values, not {str(entry)[:60]}")
    name, values = entry["name"], entry.get("values")
    if not isinstance(values, list):
        raise fail("variables", f"variable {name[:60]} has no list of values")
    if name in nodes:
        raise fail("variables", f"variable {name[:60]} is declared twice")
    if not all(isinstance(v, (bool, int, float, str)) for v in values):
        raise fail("variables", f"variable {name[:60]}: values are numbers, words or Booleans")
    try:
        nodes[name] = variable(name, values)
    except CkrulesError as error:
        raise fail("variables", str(error)) from None

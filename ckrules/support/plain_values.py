"""Values of other libraries and of enumerations as the values of Python that they are equal to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from operator import index
from typing import Any

from ckrules.support.errors import UsageError

_LONGEST = 2e6
"""Seconds; systems wait no longer at once than 31 bits of milliseconds."""

#: The types whose values stay what they are.
PLAIN = frozenset((int, str, bool, float))


def plain(value: Any) -> Any:
    """A value of numpy, or a member of an enumeration of ints or strings, as the plain one.

    Arrays become lists; anything else stays as it is.

    >>> from enum import IntEnum
    >>> plain(IntEnum("Size", {"SMALL": 16}).SMALL), plain((1, 2))
    (16, (1, 2))
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Enum) and isinstance(value, (str, int)):
        return value.value
    return value


def whole(name: str, value: Any, least: int) -> int:
    """A number that says how many, as an int.

    Raises:
        UsageError: For anything that is not an integer, or is less than ``least``.

    >>> whole("n", 3, 1)
    3
    """
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise UsageError(f"{name} = {value!r}: expected an integer from {least}")
    return number


def several(what: str, given: Any) -> tuple[Any, ...]:
    """Names or other values that are given as a list; a single string is one of them.

    Raises:
        UsageError: For what is not a list.

    >>> several("fields", "tile_m"), several("fields", ["tile_m", "tile_n"])
    (('tile_m',), ('tile_m', 'tile_n'))
    """
    if isinstance(given, str):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        raise UsageError(f"{what} = {given!r}: expected a list") from None


def mapping(what: str, given: Any) -> Mapping[Any, Any]:
    """``given``, if it is a mapping.

    Raises:
        UsageError: For anything else.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} = {given!r}: expected a mapping")
    return given


def seconds(given: Any) -> float:
    """A time limit as a number; less than nothing is nothing.

    Raises:
        UsageError: For what is not a number.
    """
    given = plain(given)
    if isinstance(given, (int, float)) and given == given:
        return float(min(given, _LONGEST))
    raise UsageError(f"timeout = {given!r}: expected a number of seconds")

"""What the one-line texts of problems have in common: sizes by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ckrules.support.errors import UsageError

LARGEST = 2**31 - 1
"""The largest size."""
#: With no more digits than Python reads under any of its settings.
_INTEGER = re.compile("[+-]?[0-9]{1,640}")


def sizes_of(text: str) -> dict[str, str]:
    """The values of ``NAME=VALUE,NAME=VALUE`` by name.

    Raises:
        UsageError: For another form, or a name that is given twice.

    >>> sizes_of("M=8, k = 2")
    {'M': '8', 'k': '2'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise UsageError(f"{part[:40]!r} is not of the form NAME=NUMBER")
        name = key.strip()
        if name in found:
            raise UsageError(f"{name} is given twice")
        found[name] = value.strip()
    return found


def values_by_name(given: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """The values by their own names, for which ``aliases`` has other words.

    Raises:
        UsageError: For a name that is given twice.

    >>> values_by_name({"M": 8, "k": 2}, {"k": "K"})
    {'M': 8, 'K': 2}
    """
    spelt: dict[str, str] = {}
    for key in given:
        name = aliases.get(key, key)
        if name in spelt:
            raise UsageError(f"{name} is given twice, as {spelt[name]} and {key}")
        spelt[name] = key
    return {name: given[key] for name, key in spelt.items()}


def size(name: str, value: Any, least: int = 1) -> int:
    """A size as a number.

    Raises:
        UsageError: If it is none, or not between ``least`` and `LARGEST`.
    """
    text = str(value).strip()
    if not _INTEGER.fullmatch(text):
        raise UsageError(f"{name} = {text[:40]!r} is not an integer")
    number = int(text)
    if not least <= number <= LARGEST:
        raise UsageError(f"{name} = {number} is not between {least} and {LARGEST}")
    return number

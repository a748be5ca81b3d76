"""What plug-ins bring by entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any


def made(entry: EntryPoint) -> Any:
    """The object that an entry point names, imported now; of a class, one.

    Raises:
        ValueError: If it names none, and whatever the plug-in's own code raises.

    >>> made(EntryPoint("cpu", "no module", "ckrules.devices"))
    Traceback (most recent call last):
    ...
    ValueError: expected module:name
    """
    if not entry.pattern.match(entry.value):
        raise ValueError("expected module:name")
    target = entry.load()
    return target() if isinstance(target, type) else target

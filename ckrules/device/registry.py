"""The devices that there are: those of the entry points, and the AMD GPUs that HIP shows."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from ckrules.device.interface import GROUP, DeviceError, Plugin
from ckrules.engine.errors import unknown

DEFAULT = "hip"
"""The device that is used where none is named."""


def names() -> list[str]:
    """The devices that ``--device`` takes: ``hip`` first, plug-ins by name.

    >>> names()[0]
    'hip'
    """
    return [DEFAULT, *sorted({e.name for e in entry_points(group=GROUP)} - {DEFAULT})]


def check(name: str) -> None:
    """Raises `UnknownNameError` with near matches if there is no such device."""
    if name not in names():
        raise unknown("device", name, names())


def load(name: str) -> Plugin:
    """The plug-in of this name; for worker processes.

    Raises:
        UnknownNameError: If there is none.
        DeviceError: If its module cannot be imported.
    """
    check(name)
    found = [e for e in entry_points(group=GROUP) if e.name == name]
    if not found and name == DEFAULT:
        from ckrules.device.hip import HipPlugin

        return HipPlugin()
    return _loaded(found[0])


def _loaded(entry: EntryPoint) -> Plugin:
    try:
        target = entry.load()
        return cast(Plugin, target() if isinstance(target, type) else target)
    except Exception as error:  # whatever the plug-in's own code raises
        raise DeviceError(f"device {entry.name} ({entry.value}): {error}") from error

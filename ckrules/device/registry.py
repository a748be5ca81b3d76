"""The devices that there are: AMD GPUs that HIP shows, the CPU emulator, and plug-ins."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from ckrules.device.interface import GROUP, Device, DeviceError, Plugin
from ckrules.support.errors import UsageError, raised, unknown
from ckrules.support.plugged import made

DEFAULT = "hip"
"""The device that is used where none is named."""

_BUILT_IN = {DEFAULT: "ckrules.device.hip:HipPlugin", "cpu": "ckrules.device.cpu:CpuPlugin"}


def names() -> list[str]:
    """The devices that ``--device`` takes: ours first, plug-ins by name.

    >>> names()[:2]
    ['hip', 'cpu']
    """
    return [*_BUILT_IN, *sorted({e.name for e in entry_points(group=GROUP)} - _BUILT_IN.keys())]


def check(name: str) -> None:
    """Raises `UnknownNameError` with near matches if there is no such device."""
    if name not in names():
        raise unknown("device", name, names())


def load(name: str) -> Plugin:
    """The plug-in of this name; for worker processes.

    Raises:
        UnknownNameError: If there is none.
        DeviceError: If its module cannot be imported, or it has the name of one of ours.
    """
    check(name)
    found = [e for e in entry_points(group=GROUP) if e.name == name]
    if found and name in _BUILT_IN:
        raise DeviceError(f"device {name} of plug-in {found[0].value} is called as one of ours")
    return _loaded(found[0] if found else EntryPoint(name, _BUILT_IN[name], GROUP))


def open_device(name: str, index: int, options: Mapping[str, str]) -> Device:
    """A device of a plug-in, opened with its options; for worker processes.

    Raises:
        UsageError: If there are options and the plug-in takes none.
        UnknownNameError: If there is no such plug-in, or it has no such option.
        DeviceError: If its module cannot be imported.
    """
    plugin = load(name)
    if _takes_options(plugin):
        return plugin.open(index, dict(options))
    if options:
        raise UsageError(f"device {name} takes no options: {', '.join(options)}")
    before = cast(Any, plugin)  # written for `open(index)`
    return cast(Device, before.open(index))


def _takes_options(plugin: Plugin) -> bool:
    try:
        inspect.signature(plugin.open).bind(0, {})
    except (TypeError, ValueError):
        return False
    return True


def _loaded(entry: EntryPoint) -> Plugin:
    try:
        return cast(Plugin, made(entry))
    except (Exception, SystemExit) as error:  # whatever the plug-in's own code raises
        raise DeviceError(f"device {entry.name} ({entry.value}): {raised(error)}") from error

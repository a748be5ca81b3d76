"""The process that holds a device: it takes jobs from a pipe and sends phases and outcomes back.

It is started with *spawn*, so that no state of a GPU runtime is ever inherited. What it and the
runtime print goes to a file that the parent reads if the process ends unasked.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import CkrulesError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ckrules.device.interface import Device, DeviceInfo
    from ckrules.device.jobs import Job

    Pipe = Connection[Any, Any]


_PR_SET_PDEATHSIG = 1


def serve(pipe: Pipe, device: str, index: int, log: str) -> None:
    """Opens a device and runs the jobs that come, until None comes.

    Sends ``("open", DeviceInfo)``, then for each job ``("phase", text)`` and ``("done", Outcome)``;
    ``("failed", text)`` if the device cannot be opened.
    """
    _quiet(log)
    _end_with_parent()
    from ckrules.device import registry
    from ckrules.device.execute import Runner

    try:
        handle = _checked(registry.load(device).open(index))
    except Exception as error:  # whatever the plug-in's own code raises
        pipe.send(("failed", _said(error)))
        return
    pipe.send(("open", handle.info))
    runner = Runner(handle, lambda text: pipe.send(("phase", text)))
    while True:
        job: Job | None = pipe.recv()
        if job is None:
            break
        pipe.send(("done", _outcome(runner, job)))
    with contextlib.suppress(Exception):
        handle.close()


def look(pipe: Pipe, device: str, log: str) -> None:
    """Sends ``("found", infos, looked for)`` or ``("failed", text, looked for)``."""
    _quiet(log)
    from ckrules.device import registry

    looked: list[tuple[str, str]] = []
    try:
        plugin = registry.load(device)
        looked = list(plugin.looked_for())
        found = [_info(each) for each in plugin.discover()]
        pipe.send(("found", found, looked))
    except Exception as error:  # whatever the plug-in's own code raises
        pipe.send(("failed", _said(error), looked))


def _info(found: Any) -> DeviceInfo:
    from ckrules.device.interface import DeviceError, DeviceInfo

    if not isinstance(found, DeviceInfo):
        raise DeviceError(f"the plug-in discovered {found!r:.80}, expected a DeviceInfo")
    return found


def _checked(device: Any) -> Device:
    from ckrules.device.interface import Device, DeviceError

    members = [m for m in dir(Device) if not m.startswith("_")]
    absent = [m for m in ("info", *members) if not hasattr(device, m)]
    if absent:
        raise DeviceError(f"the plug-in's device has no {', '.join(absent)}")
    checked: Device = device
    return checked


def _outcome(runner: Any, job: Job) -> Any:
    from ckrules.device.jobs import Outcome

    try:
        return runner.run(job)
    except Exception as error:  # a fault of a plug-in costs the job and not the worker
        return Outcome("error", _said(error))


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, CkrulesError) and text else f"{type(error).__name__}: {text}"


def _quiet(log: str) -> None:
    """Output to the log, and interrupts of the terminal left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)


def _end_with_parent() -> None:
    """Has Linux kill this process if the parent is killed: a kernel that hangs would hold the GPU.

    Elsewhere the worker ends when it next looks at its pipe.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

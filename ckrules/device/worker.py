"""The process that holds a device: it takes jobs from a pipe and sends phases and outcomes back.

It is spawned and not forked, so that no state of a GPU runtime is ever inherited. What it and
the runtime print goes to a file that the parent reads if the process ends unasked.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from ckrules.support.errors import CkrulesError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from ckrules.device.interface import Device, DeviceInfo
    from ckrules.device.jobs import Job

    Pipe = Connection[Any, Any]


_PR_SET_PDEATHSIG = 1


def serve(pipe: Pipe, device: str, index: int, log: str, options: Mapping[str, str]) -> None:
    """Opens a device and runs the jobs that come, until None comes.

    Sends ``("open", DeviceInfo)``, then for each job ``("phase", Phase)`` and at its end
    ``("done", RunOutcome)``, or ``("lost", RunOutcome)`` and ends if the device cannot be used any
    more; ``("failed", text)`` if the device cannot be opened, ``("refused",
    text)`` if it does not take the options.
    """
    quiet(log)
    end_with_parent()
    from ckrules.device import registry
    from ckrules.device.execute import Runner

    try:
        handle = checked(registry.open_device(device, index, options))
    except (UsageError, UnknownNameError) as error:
        pipe.send(("refused", message(error)))
        return
    except Exception as error:  # whatever the plug-in's own code raises
        pipe.send(("failed", message(error)))
        return
    pipe.send(("open", handle.info))
    runner = Runner(handle, lambda phase: pipe.send(("phase", phase)))
    while True:
        job: Job | None = pipe.recv()
        if job is None:
            break
        outcome = _outcome(runner, job)
        pipe.send(("lost" if runner.lost else "done", outcome))
        if runner.lost:
            return
    with contextlib.suppress(Exception):
        handle.close()


def look(pipe: Pipe, device: str, log: str) -> None:
    """Sends ``("found", infos, looked for)`` or ``("failed", text, looked for)``."""
    quiet(log)
    from ckrules.device import registry

    looked: list[tuple[str, str]] = []
    try:
        plugin = registry.load(device)
        looked = list(plugin.looked_for())
        found = [_info(each) for each in plugin.discover()]
        pipe.send(("found", found, looked))
    except Exception as error:  # whatever the plug-in's own code raises
        pipe.send(("failed", message(error), looked))


def _info(found: Any) -> DeviceInfo:
    from ckrules.device.interface import DeviceError, DeviceInfo

    if not isinstance(found, DeviceInfo):
        raise DeviceError(f"the plug-in discovered {found!r:.80}, expected a DeviceInfo")
    return found


def checked(device: Any) -> Device:
    from ckrules.device.interface import CLOCK, Device, DeviceError

    clockless = not getattr(getattr(device, "info", None), "has_clock", True)
    members = [m for m in dir(Device) if not m.startswith("_") and not (clockless and m in CLOCK)]
    absent = [m for m in ("info", *members) if not hasattr(device, m)]
    if absent:
        raise DeviceError(f"the plug-in's device has no {', '.join(absent)}")
    checked: Device = device
    return checked


def _outcome(runner: Any, job: Job) -> Any:
    from ckrules.device.jobs import RunOutcome, RunStatus

    try:
        return runner.run(job)
    except Exception as error:  # a fault of a plug-in costs the job and not the worker
        return RunOutcome(RunStatus.ERROR, message(error))


def message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, CkrulesError) and text else f"{type(error).__name__}: {text}"


def quiet(log: str) -> None:
    """Output and stacks of crashes to the log; interrupts of the terminal are the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    faulthandler.enable(2)


def end_with_parent() -> None:
    """Has Linux kill this process if the parent is killed: a kernel that hangs would hold the GPU.

    Elsewhere the worker ends when it next looks at its pipe.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

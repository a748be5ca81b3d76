"""An engine in a process of its own: a kernel that faults costs the call and not the caller."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import Mapping
from multiprocessing import process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.device import logs, worker
from ckrules.device.interface import DeviceError, DeviceInfo
from ckrules.device.pool import OPEN_LIMIT, ended
from ckrules.runtime.engine import Call, Outcome
from ckrules.runtime.errors import KernelFaultError
from ckrules.support.errors import UsageError
from ckrules.support.processes import end

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]

_CONTEXT = multiprocessing.get_context("spawn")


class IsolatedEngine:
    """Runs calls in a worker, which is replaced when it ends.

    Args:
        device: The plug-in's name.
        index: Which device.
        options: What it is opened with.
        timeout: Seconds that a call may take.
    """

    def __init__(
        self, device: str, index: int, options: Mapping[str, str], timeout: float = 60.0
    ) -> None:
        self.device, self.index, self.options, self.timeout = device, index, options, timeout
        self._folder = tempfile.TemporaryDirectory(prefix="ckrules-")
        self._log = Path(self._folder.name) / "log"
        self._process: Any = None
        self._pipe: Any = None
        self.info = self._start()

    def run(self, call: Call) -> Outcome:
        """Carries out a call; its inputs are bytes and its results are read back.

        Raises:
            KernelFaultError: If the worker ends or the time is over; the next call has another.
            DeviceError: If the device refuses an operation.
            UsageError: If the kernel cannot be opened or refuses the problem.
        """
        if self._process is None or not self._process.is_alive():
            self._end()
            self._start()
        what = f"{call.kernel.name} on {call.problem}"
        os.truncate(self._log, 0)
        try:
            self._pipe.send(call)
            if not self._pipe.poll(self.timeout):
                self._end()
                raise KernelFaultError(f"{what}: not done after {self.timeout:g} s")
            kind, answer = self._pipe.recv()
        except (EOFError, OSError):
            raise KernelFaultError(f"{what}: the worker ended by {self._how()}") from None
        if kind == "done":
            outcome: Outcome = answer
            return outcome
        raise UsageError(answer) if kind == "refused" else DeviceError(answer)

    def _start(self) -> DeviceInfo:
        self._log.write_bytes(b"")
        ours, theirs = _CONTEXT.Pipe()
        args = (theirs, self.device, self.index, str(self._log), dict(self.options))
        self._process = _CONTEXT.Process(target=serve, args=args, daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        try:
            if not ours.poll(OPEN_LIMIT):
                self._end()
                raise DeviceError(f"device {self.device}: opening it took too long")
            kind, answer = ours.recv()
        except (EOFError, OSError):
            raise DeviceError(f"device {self.device}: the worker ended by {self._how()}") from None
        if kind == "open":
            info: DeviceInfo = answer
            return info
        self._end()
        raise UsageError(answer) if kind == "refused" else DeviceError(answer)

    def _how(self) -> str:
        """How the worker ended; it is gone then."""
        self._process.join(5)
        said = f"{ended(self._process)}{logs.tail(self._log)}"
        self._end()
        return said

    def _end(self) -> None:
        end(self._process, self._pipe)
        self._process = self._pipe = None

    def close(self) -> None:
        """Ends the worker."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._pipe.send(None)
            self._process.join(5)
        self._end()
        self._folder.cleanup()

    def forget(self) -> None:
        """In a forked child: the worker and its log are the parent's, which is not to notice."""
        self._folder._finalizer.detach()  # type: ignore[attr-defined]
        process._children.discard(self._process)  # type: ignore[attr-defined]


def serve(pipe: Pipe, device: str, index: int, log: str, options: Mapping[str, str]) -> None:
    """Opens a device and carries out the calls that come, until None comes.

    Sends ``("open", DeviceInfo)``, then ``("done", Outcome)`` for each call; ``("refused", text)``
    for what is not asked right and ``("failed", text)`` for what the device refuses.
    """
    worker.quiet(log)
    worker.end_with_parent()
    from ckrules.device import registry
    from ckrules.runtime.engine import Engine

    try:
        engine = Engine(worker.checked(registry.open_device(device, index, options)))
    except Exception as error:  # whatever the plug-in's own code raises
        pipe.send((_kind(error), worker.message(error)))
        return
    pipe.send(("open", engine.device.info))
    while (call := pipe.recv()) is not None:
        try:
            answer: tuple[str, Any] = ("done", engine.run(call))
        except Exception as error:  # whatever the plug-in's own code raises
            answer = (_kind(error), worker.message(error))
        pipe.send(answer)
    with contextlib.suppress(Exception):
        engine.close()


def _kind(error: Exception) -> str:
    return "refused" if isinstance(error, (UsageError, LookupError)) else "failed"

"""An engine in a process of its own: a kernel that faults costs the call and not the caller."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.device import logs, worker
from ckrules.device.interface import DeviceError, DeviceInfo
from ckrules.device.pool import OPEN_LIMIT, ended
from ckrules.runtime.engine import KernelCall, Outcome
from ckrules.runtime.errors import KernelFaultError
from ckrules.support.errors import UsageError
from ckrules.support.processes import PipedProcess

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    Pipe = Connection[Any, Any]


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
        self._process, self.info = self._start()

    def run(self, call: KernelCall) -> Outcome:
        """Carries out a call; its inputs are bytes and its results are read back.

        Raises:
            KernelFaultError: If the worker ends or the time is over; the next call has another.
            DeviceError: If the device refuses an operation.
            UsageError: If the kernel cannot be opened or refuses the problem.
        """
        if not self._process.is_alive():
            self._process.end()
            self._process, _ = self._start()
        what = f"{call.kernel.name} on {call.problem}"
        os.truncate(self._log, 0)
        try:
            self._process.pipe.send(call)
            if not self._process.pipe.poll(self.timeout):
                raise KernelFaultError(f"{what}: not done after {self.timeout:g} s")
            kind, answer = self._process.pipe.recv()
        except (EOFError, OSError):
            how = self._how(self._process)
            raise KernelFaultError(f"{what}: the worker ended by {how}") from None
        except BaseException:  # out of time or interrupted: its answer is not the next call's
            self._process.end()
            raise
        if kind == "done":
            outcome: Outcome = answer
            return outcome
        raise UsageError(answer) if kind == "refused" else DeviceError(answer)

    def _start(self) -> tuple[PipedProcess, DeviceInfo]:
        self._log.write_bytes(b"")
        made = PipedProcess(serve, self.device, self.index, str(self._log), dict(self.options))
        try:
            if not made.pipe.poll(OPEN_LIMIT):
                made.end()
                raise DeviceError(f"device {self.device}: opening it took too long")
            kind, answer = made.pipe.recv()
        except (EOFError, OSError):
            text = f"the worker ended by {self._how(made)}"
            raise DeviceError(f"device {self.device}: {text}") from None
        if kind == "open":
            return made, answer
        made.end()
        raise UsageError(answer) if kind == "refused" else DeviceError(answer)

    def _how(self, worker: PipedProcess) -> str:
        """How a worker ended; it is gone then."""
        worker.join(5)
        text = f"{ended(worker)}{logs.tail(self._log)}"
        worker.end()
        return text

    def close(self) -> None:
        """Ends the worker."""
        if self._process.is_alive():
            with contextlib.suppress(OSError):
                self._process.pipe.send(None)
            self._process.join(5)
        self._process.end()
        self._folder.cleanup()

    def forget(self) -> None:
        """In a forked child: the worker and its log are the parent's, which is not to notice."""
        self._folder._finalizer.detach()  # type: ignore[attr-defined]  # tempfile's own, which has no public name
        self._process.forget()


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

"""The options about the device that `ckrules validate` and `ckrules run` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ckrules.cli.once import option
from ckrules.cli.options import gathered
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.jobs import Job, RunOutcome
    from ckrules.device.pool import Listener


@dataclass(frozen=True)
class DeviceChoice:
    """Which device, opened how, and where what it prints goes."""

    name: str
    options: dict[str, str]
    log: str | None

    @contextmanager
    def listening(self) -> Iterator[Listener | None]:
        """What is told what the device prints; None if nobody wants to know.

        Raises:
            UsageError: If the file cannot be written.
        """
        if self.log is None:
            yield None
        elif self.log == "-":
            yield lambda said: click.echo(said, nl=False, err=True)
        else:
            try:
                stream = open(self.log, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
            except OSError as error:
                raise UsageError(f"{self.log}: cannot write: {error.strerror}") from None
            with stream:
                yield lambda said: print(said, end="", file=stream, flush=True)

    def run(
        self, job: Job, arch: str, index: int | None, timeout: float
    ) -> tuple[RunOutcome, DeviceInfo | None] | None:
        """Runs a job on the device of a number, or the first that fits; None: there is none.

        Why there is none is noted on standard error.
        """
        from ckrules.device import pool

        found = pool.discover(self.name)
        fit = [d.index for d in found.devices if d.arch in ("", arch)]
        if index is not None:
            fit = [i for i in fit if i == index]
        if not fit:
            why = f"none of them is a {arch}"
            if index is not None:
                why = f"number {index} is not a {arch}"
            note(f"no GPU for --device {self.name}: {why if found.devices else found.reason()}")
            return None
        with (
            self.listening() as listener,
            pool.WorkerPool(self.name, fit[:1], timeout, self.options, listener) as workers,
        ):
            ((_, outcome, info),) = workers.run([job])
        return outcome, info


def options_of(
    words: Sequence[str], option: str = "--device-option", form: str = "NAME=VALUE"
) -> dict[str, str]:
    """Values by name from words such as ``order=reversed``, which an option has.

    >>> options_of(["order=reversed", "seed=3"])
    {'order': 'reversed', 'seed': '3'}

    Raises:
        UsageError: For a word without a name or value, and a name that comes twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f"{option} {word!r}: expected {form}")
        if name in found:
            raise UsageError(f"{option} {name}: given twice")
        found[name] = value
    return found


def _device(device: str, words: tuple[str, ...], log: str | None) -> DeviceChoice:
    return DeviceChoice(device, options_of(words), log)


#: What a device is opened with.
device_words_option = option(
    "--device-option",
    "words",
    multiple=True,
    metavar="NAME=VALUE",
    help="What the device is opened with. Repeatable.",
)

#: ``--device`` and what belongs to it, given to the command as one `DeviceChoice`.
device_options = gathered(
    "device",
    _device,
    option(
        "--device", default="hip", metavar="NAME", help="hip (default), cpu or a plug-in's name."
    ),
    device_words_option,
    option(
        "--device-log", "log", metavar="FILE|-", help="Where what the device prints goes; -: here."
    ),
)

"""The options about the device that `ckrules validate` and `ckrules run` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ckrules.cli.once import option
from ckrules.cli.options import gathered
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
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


def options_of(words: Sequence[str]) -> dict[str, str]:
    """The options of a device from words such as ``order=reversed``.

    >>> options_of(["order=reversed", "seed=3"])
    {'order': 'reversed', 'seed': '3'}

    Raises:
        UsageError: For a word without a name or value, and a name that comes twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f"--device-option {word!r}: expected NAME=VALUE")
        if name in found:
            raise UsageError(f"--device-option {name}: given twice")
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

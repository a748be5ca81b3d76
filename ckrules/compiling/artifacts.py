"""What can be made of a kernel, and from which file."""

from __future__ import annotations

from enum import StrEnum

from ckrules.kernels.names import plain
from ckrules.support.errors import unknown


class Artifact(StrEnum):
    """One kind of file that a kernel is compiled to."""

    DEVICE = "device"
    """The code object."""
    HOST = "host"
    """The library that says what the kernel supports and how it is launched."""
    OBJECT = "object"
    """Upstream's launcher."""

    @classmethod
    def named(cls, name: str) -> Artifact:
        """The artifact of this name.

        Raises:
            UnknownNameError: If there is none, with near matches.
        """
        try:
            return cls(name)
        except ValueError:
            raise unknown("artifact", name, [a.value for a in cls]) from None

    def source(self, name: str) -> str:
        """The file name of the unit that a kernel's artifact is compiled from.

        Raises:
            UsageError: For a name that is not `plain`.

        >>> Artifact.DEVICE.source("k"), Artifact.DEVICE.result("k")
        ('k.device.cpp', 'k.hsaco')
        """
        return f"{plain(name)}.{_SUFFIXES[self][0]}"

    def result(self, name: str) -> str:
        """The file name of a kernel's artifact."""
        return f"{plain(name)}{self.suffix}"

    @property
    def suffix(self) -> str:
        """What the file names of artifacts of this kind end with."""
        return f".{_SUFFIXES[self][1]}"


_SUFFIXES = {
    Artifact.DEVICE: ("device.cpp", "hsaco"),
    Artifact.HOST: ("host.cpp", "host.so"),
    Artifact.OBJECT: ("cpp", "o"),
}

RUNNABLE = (Artifact.DEVICE, Artifact.HOST)
"""The artifacts that running a kernel needs, and that are built unless others are asked for."""

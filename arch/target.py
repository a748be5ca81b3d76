"""GPUs that no file of this package describes: what generic code asks of one.

A kernel family from outside whose kernels are for other GPUs brings them (`Family.targets`), with
the facts that its own rules read, in a class of its own that inherits from `TargetGpu`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ckrules.arch.performance import Performance
from ckrules.support.errors import RuleBookError

NAME = re.compile(r"[a-z][0-9a-z]*(?:[_-][0-9a-z]+)*")


@dataclass(frozen=True, slots=True)
class TargetGpu:
    """A GPU of a family from outside.

    ``products`` are names that also mean it, ``defines`` macros that its compiler is given, and
    ``performance`` its speeds, where times of its kernels are estimated.

    Raises:
        RuleBookError: For a name that is not one of a GPU.

    >>> TargetGpu("sm_90a", ("H100",)).lacking("2026.06") is None
    True
    """

    name: str
    products: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    performance: Performance | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise RuleBookError(f"name {self.name!r} is not a GPU name, expected like 'sm_90a'")

    def lacking(self, ck: str) -> str | None:
        """Why the headers of a CK version cannot be compiled for it: it is not asked."""
        return None

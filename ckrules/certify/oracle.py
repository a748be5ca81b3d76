"""The oracle: what a compiler's front end says of configurations for one GPU.

The front end fires every static_assert; the LDS's size, the threads of a block and silently wrong
results are not judged.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckrules.arch import Gpu
from ckrules.certify import probe
from ckrules.certify.probe import Point
from ckrules.compiling.compile_commands import Recipe, syntax_flags
from ckrules.compiling.compilers import knows, portable
from ckrules.compiling.execution import execute
from ckrules.compiling.failures import REFUSALS, classify
from ckrules.compiling.precompiled import Precompiled
from ckrules.compiling.toolchain import Toolchain
from ckrules.support import files
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.scratch import ScratchFolder

_UNIT = "probe.cpp"
"""Fixed, so that diagnostics of the probe's own lines read the same every time."""


class CompilerError(CkrulesError, RuntimeError):
    """The compiler failed in a way that says nothing about the configuration."""


def refuse_unknown(tools: Toolchain, gpu: Gpu) -> None:
    """Refuses a GPU that the probe's headers or the compiler do not know.

    Raises:
        UsageError: Says which.
    """
    if lacking := gpu.lacking(probe.CK):
        raise UsageError(lacking)
    if not knows(tools.compiler, gpu.name):
        raise UsageError(f"{tools.kind} does not know {gpu.name}: --compiler names another")


@dataclass(frozen=True)
class CompilerVerdict:
    """What the front end says about a configuration."""

    ok: bool
    error: str | None
    """The first diagnostic as ``file.hpp:LINE:COL: error: message``; None when ok."""
    seconds: float


class CompilerOracle:
    """A compiler that judges configurations for one GPU.

    Args:
        timeout: Seconds of processor time for a configuration.

    Raises:
        UsageError: If the compiler cannot compile for the GPU.
    """

    def __init__(self, tools: Toolchain, gpu: Gpu, timeout: float = 600.0) -> None:
        refuse_unknown(tools, gpu)
        self.tools, self.gpu, self.timeout = tools, gpu, timeout
        self._flags = syntax_flags(Recipe(probe.CK, gpu.name, gpu.defines), tools)
        self._headers = Precompiled([str(tools.compiler), *self._flags])

    def key(self, point: Point) -> str:
        """Everything that the verdict on a point depends on, as one hash."""
        source = self._source([point])
        parts = [source, self.tools.version, self.tools.ck, *portable(self._flags)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def check(self, point: Point) -> CompilerVerdict:
        """Whether the point's kernel passes the compiler's front end for the device.

        Raises:
            CompilerError: If the compiler failed otherwise, or took too long.
        """
        error, seconds = self._run(self._source([point]), self.timeout)
        return CompilerVerdict(ok=error is None, error=error, seconds=seconds)

    def check_batch(self, points: Sequence[Point]) -> list[CompilerVerdict] | None:
        """The verdicts on points from a single run, if it accepts them all.

        A run without an error proves every kernel of it. With an error it is None: which kernels
        are at fault, and what the compiler says of each alone, is for smaller runs to find out,
        since kernels share instantiations and an error in a shared one is reported once.

        Raises:
            CompilerError: If the compiler failed otherwise, or took too long.
        """
        error, seconds = self._run(self._source(points), self.timeout * len(points))
        if error is not None:
            return None
        return [CompilerVerdict(ok=True, error=None, seconds=seconds / len(points)) for _ in points]

    def _source(self, points: Sequence[Point]) -> str:
        for point in points:
            if point.get("arch") != self.gpu.name:
                raise UsageError(f"arch is {point.get('arch')!r}, expected {self.gpu.name}")
        return probe.render(points[0]) if len(points) == 1 else probe.render_batch(points)

    def _run(self, source: str, timeout: float) -> tuple[str | None, float]:
        """The first error and the seconds of one compilation."""
        kind = self.tools.kind
        with ScratchFolder() as folder:
            files.put(Path(folder) / _UNIT, source)
            start = time.perf_counter()
            head = [line for line in source.splitlines() if line.startswith("#")]
            known = self._headers.flags("\n".join(head))
            command = [str(self.tools.compiler), *self._flags, *known, _UNIT]
            status, output, *_ = execute(command, Path(folder), timeout)
            seconds = time.perf_counter() - start
        if status is None:
            raise CompilerError(f"{kind} {output}")
        if status == 0:
            return None, seconds
        failure = classify(status, output)
        if failure.kind not in REFUSALS or "error: " not in failure.diagnostic:
            raise CompilerError(f"{kind} ended with status {status}: {failure.diagnostic}")
        return failure.diagnostic, seconds

"""What the back end makes of configurations: their code objects' registers, LDS and instructions.

The kernel is that of the probe (`ckrules.certify.probe`), one instantiation, compiled with the
flags of ``ckrules build``.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckrules.arch import Gpu
from ckrules.certify import probe
from ckrules.certify.oracle import CompilerError, refuse_unknown
from ckrules.certify.verdicts import KeyedStore
from ckrules.codegen.project import runtime_text
from ckrules.compiling import codeobject
from ckrules.compiling.compile_commands import Recipe, code_object_flags
from ckrules.compiling.compilers import portable
from ckrules.compiling.execution import execute
from ckrules.compiling.failures import REFUSALS, classify
from ckrules.compiling.toolchain import Toolchain, find_disassembler
from ckrules.engine.expr import Value
from ckrules.support import files
from ckrules.support.scratch import ScratchFolder

Point = Mapping[str, Value]
_UNIT, _RESULT = "probe.cpp", "probe.hsaco"
_ENTRY = "kentry"
"""What the mangled names of CK's kernels hold."""
_MATRIX = re.compile(r"^\tv_(?:s?mfma|s?wmma)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodeObjectFigures:
    """The result of one kernel; the numbers are None where there is no code object."""

    error: str | None
    """The first diagnostic; None if it compiled."""
    lds_bytes: int | None = None
    vgprs: int | None = None
    """Registers of a lane, accumulation registers included; on gfx908 the larger of its files."""
    spills: int | None = None
    scratch_bytes: int | None = None
    max_threads: int | None = None
    """Threads of a workgroup that the code is made for: the compiler clamps them."""
    matrix: int | None = None
    """Matrix instructions in it."""
    seconds: float = 0.0


class CodeObjects:
    """A compiler that makes code objects of configurations for one GPU.

    Args:
        timeout: Seconds of processor time for a configuration.

    Raises:
        UsageError: If headers or compiler do not know the GPU.
        MissingToolError: If there is no disassembler that knows it.
    """

    def __init__(self, tools: Toolchain, gpu: Gpu, timeout: float = 900.0) -> None:
        refuse_unknown(tools, gpu)
        self.tools, self.gpu, self.timeout = tools, gpu, timeout
        self._disassembler = find_disassembler(tools)
        self._flags = code_object_flags(Recipe(probe.CK, gpu.name, gpu.defines), tools)
        self._runtime = runtime_text("ckrules_device.h", probe.CK)

    def key(self, point: Point) -> str:
        """Everything that the figures of a point depend on, as one hash."""
        runtime = self._runtime.partition("\n")[2]  # without the version of ckrules
        parts = [probe.render(point), runtime, self.tools.version, self.tools.ck]
        return hashlib.sha256("\0".join([*parts, *portable(self._flags)]).encode()).hexdigest()

    def figures(self, point: Point) -> CodeObjectFigures:
        """What the compiler makes of a point's kernel.

        Raises:
            CompilerError: If the compiler failed in a way that says nothing about the kernel.
        """
        with ScratchFolder() as name:
            folder = Path(name)
            (folder / "runtime").mkdir()
            files.put(folder / "runtime/ckrules_device.h", self._runtime)
            files.put(folder / _UNIT, probe.render(point))
            start = time.perf_counter()
            command = [str(self.tools.compiler), *self._flags, _UNIT, "-o", _RESULT]
            status, output, *_ = execute(command, folder, self.timeout)
            seconds = round(time.perf_counter() - start, 2)
            if status is None:
                raise CompilerError(f"{self.tools.kind} {output}")
            if status:
                failure = classify(status, output)
                if failure.kind not in REFUSALS:
                    raise CompilerError(f"{self.tools.kind}: {failure.diagnostic}")
                return CodeObjectFigures(failure.diagnostic, seconds=seconds)
            return self._read(folder / _RESULT, seconds)

    def _read(self, path: Path, seconds: float) -> CodeObjectFigures:
        found = [e for e in codeobject.entries(path) if _ENTRY in e.name]  # beside those of headers
        if len(found) != 1:
            raise CompilerError(f"the code object has {len(found)} kernels, expected 1")
        entry = found[0]
        return CodeObjectFigures(
            error=None,
            lds_bytes=entry.lds_bytes,
            vgprs=entry.vgprs,
            spills=entry.vgpr_spills,
            scratch_bytes=entry.scratch_bytes,
            max_threads=entry.max_threads,
            matrix=len(_MATRIX.findall(self._text(path))),
            seconds=seconds,
        )

    def _text(self, path: Path) -> str:
        command = [str(self._disassembler), "--disassemble", "--no-show-raw-insn", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            raise CompilerError(f"{self._disassembler}: cannot read what {self.tools.kind} made")
        return done.stdout


class FigureStore(KeyedStore[CodeObjectFigures]):
    """Figures by key, in the file of the verdicts."""

    OF, NAME, FAILED = CodeObjectFigures, "figures", "error IS NOT NULL"


def measured(
    points: Sequence[Point], maker: CodeObjects, store: FigureStore
) -> Iterator[tuple[Point, CodeObjectFigures | CompilerError]]:
    """The figures of points, from the store or from the compiler, one at a time."""
    for point in points:
        key = maker.key(point)
        found: CodeObjectFigures | CompilerError | None = store.get(key)
        if found is None:
            try:
                found = maker.figures(point)
                store.put(key, found)
            except CompilerError as error:
                found = error
        yield point, found

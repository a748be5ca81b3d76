"""Builds a folder of kernels with nvcc: ``python -m ckrules_cutlass.build FOLDER``.

A kernel is one compilation, from which come its cubin and its host library. Each result is a line
of ``cutlass-builds.jsonl`` at once, so that a build that was ended goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.folder import ManifestEntry, manifests
from ckrules.support import files
from ckrules.support.errors import UsageError
from ckrules_cutlass.program import end

RESULTS = "cutlass-builds.jsonl"
FLAGS = (
    *("-std=c++17", "--expt-relaxed-constexpr", "-DNDEBUG"),
    *("-gencode=arch=compute_90a,code=sm_90a", "-shared", "-cudart", "static"),
    *("-Xcompiler", "-fPIC,-fvisibility=hidden", "-Xptxas", "-v", "-w"),
)
"""What a kernel is compiled with, beside folders."""
LINE = 400


@dataclass(frozen=True, slots=True)
class BuildLine:
    """The result of a compilation."""

    name: str
    legal: bool
    ok: bool
    seconds: float
    failure: str = ""
    """The compiler's first error; empty if it built."""
    spilled: int = 0
    """Bytes that a thread stores to local memory for want of registers."""
    registers: int = 0


@dataclass(frozen=True)
class Nvcc:
    """nvcc, and the headers.

    Raises:
        UsageError: If one of them is not there.
    """

    nvcc: Path
    cutlass: Path
    """The folder that has ``include`` and ``tools/util/include``."""

    def __post_init__(self) -> None:
        if not self.nvcc.is_file():
            raise UsageError(f"{self.nvcc}: no nvcc: install CUDA, or name it with --nvcc")
        if not (self.cutlass / "include" / "cutlass" / "cutlass.h").is_file():
            raise UsageError(
                f"{self.cutlass}: no CUTLASS: pip install nvidia-cutlass, or name it with --cutlass"
            )

    def command(self, unit: Path, output: Path, scratch: Path) -> list[str]:
        """The command that compiles a unit and keeps what lies between in a folder."""
        headers = (unit.parent, self.cutlass / "include", self.cutlass / "tools/util/include")
        return [
            *(str(self.nvcc), *FLAGS, *(f"-I{place}" for place in headers)),
            *("--keep", "--keep-dir", str(scratch), str(unit), "-o", str(output)),
        ]


def found_compiler(nvcc: str = "", cutlass: str = "") -> Nvcc:
    """The compiler and the headers that are named, or those of this machine.

    Raises:
        UsageError: If one of them is not there.
    """
    program = nvcc or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return Nvcc(Path(program).resolve(), Path(cutlass).resolve() if cutlass else _installed())


def _installed() -> Path:
    from importlib.util import find_spec

    spec = find_spec("cutlass_library")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("no CUTLASS: pip install nvidia-cutlass, or name it with --cutlass")
    return Path(next(iter(spec.submodule_search_locations))) / "source"


def compiled(kernel: ManifestEntry, compiler: Nvcc, timeout: float) -> BuildLine:
    """Compiles one kernel; its files are there whole or not at all."""
    start = time.monotonic()
    unit = (kernel.folder / f"{kernel.name}.cu").resolve()
    with tempfile.TemporaryDirectory(prefix="ckrules-cutlass-") as home:
        scratch = Path(home)
        library = scratch / "made.so"
        command = compiler.command(unit, library, scratch)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=timeout
            )
            said, failed = done.stderr + done.stdout, done.returncode != 0
        except subprocess.TimeoutExpired:
            said, failed = f"error: not done after {timeout:g} s", True
        seconds = round(time.monotonic() - start, 2)
        cubins = sorted(scratch.glob("*.cubin"))
        if failed or not cubins or not library.is_file():
            return BuildLine(kernel.name, kernel.legal, False, seconds, first_error(said))
        _keep(cubins[0], kernel.result(Artifact.DEVICE))
        _keep(library, kernel.result(Artifact.HOST))
    return BuildLine(kernel.name, kernel.legal, True, seconds, "", *figures(said))


def _keep(made: Path, target: Path) -> None:
    """Puts a file in its place, whole or not at all."""
    try:
        files.replace(target, made.read_bytes(), mode=0o755)
    except OSError as error:
        raise UsageError(f"{target}: cannot write: {error.strerror or error}") from None


def first_error(said: str) -> str:
    """The first line of an error in what a compiler said, without the folder of its file.

    >>> first_error("x.cu(3): warning: no\\n/a/b/c.hpp(7): error: static assertion failed")
    'c.hpp(7): error: static assertion failed'
    """
    lines = said.splitlines()
    hit = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    place, mark, text = hit.partition(": ")
    return f"{place.rpartition('/')[2]}{mark}{text}"[:LINE]


def figures(said: str) -> tuple[int, int]:
    """Bytes of spill stores and registers, the most of any kernel that ptxas speaks of.

    >>> figures("8 bytes spill stores, 8 bytes spill loads\\nUsed 168 registers")
    (8, 168)
    """
    spilled, registers = 0, 0
    for line in said.splitlines():
        words = line.replace(",", "").split()
        for at, word in enumerate(words):
            before = words[at - 1] if at else ""
            if word == "spill" and words[at + 1 : at + 2] == ["stores"] and at > 1:
                spilled = max(spilled, int(words[at - 2]))
            if word == "registers" and before.isdigit():
                registers = max(registers, int(before))
    return spilled, registers


def rows(place: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines; one that was cut off is left out."""
    for text in place.read_text().splitlines() if place.exists() else ():
        with suppress(ValueError):
            yield json.loads(text)


def lines(folder: Path) -> dict[str, BuildLine]:
    """What earlier builds of a folder came to, by kernel; a line that was cut off is left out."""
    found: dict[str, BuildLine] = {}
    for row in rows(folder / RESULTS):
        with suppress(TypeError):  # of another form
            found[row["name"]] = BuildLine(**row)
    return found


def build(
    folder: Path,
    compiler: Nvcc,
    *,
    jobs: int,
    budget: float = float("inf"),
    timeout: float = 600.0,
    names: Collection[str] | None = None,
    told: Callable[[BuildLine], None] = lambda _: None,
) -> dict[str, BuildLine]:
    """Builds what is not built yet, until a budget of seconds is spent; then what runs is awaited.

    With ``names`` only those kernels. Returns the results of all that were tried, now or before.
    """
    start = time.monotonic()
    known = lines(folder)
    kernels = [k for k in manifests(folder) if names is None or k.name in names]
    left = iter([k for k in kernels if k.name not in known])
    with ThreadPoolExecutor(jobs) as pool, (folder / RESULTS).open("a") as log:
        running: set[Future[BuildLine]] = set()
        while True:
            while len(running) < jobs and time.monotonic() - start < budget:
                kernel = next(left, None)
                if kernel is None:
                    break
                running.add(pool.submit(compiled, kernel, compiler, timeout))
            if not running:
                return known
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for line in (each.result() for each in done):
                log.write(json.dumps(asdict(line)) + "\n")
                log.flush()
                known[line.name] = line
                told(line)


class FolderBuilder:
    """Builds the folder of a search that measures, with nvcc and headers of this machine."""

    def build(self, folder: Path) -> None:
        """Compiles what was not tried; raises `UsageError` if nvcc or headers are not there."""
        build(folder, found_compiler(), jobs=os.cpu_count() or 1)

    def failed(self, folder: Path) -> set[str]:
        """The kernels that nvcc refused."""
        return {line.name for line in lines(folder).values() if not line.ok}


BUILDER = FolderBuilder()


def confusion(found: Sequence[BuildLine]) -> Iterator[tuple[str, int]]:
    """How often rules and compiler agree: a word for each pair, and a count.

    >>> dict(confusion([BuildLine("a", True, True, 1.0), BuildLine("b", False, True, 1.0)]))
    {'legal built': 1, 'legal refused': 0, 'illegal built': 1, 'illegal refused': 0}
    """
    for legal in (True, False):
        for ok in (True, False):
            what = f"{'legal' if legal else 'illegal'} {'built' if ok else 'refused'}"
            yield what, sum((line.legal, line.ok) == (legal, ok) for line in found)


def main(words: Sequence[str] | None = None) -> int:
    """Builds a folder and prints the confusion table."""
    parser = argparse.ArgumentParser(prog="ckrules_cutlass.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nvcc", default="", help="the compiler [of PATH]")
    parser.add_argument("--cutlass", default="", help="the folder with include [nvidia-cutlass]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds")
    given = parser.parse_args(words)
    compiler = found_compiler(given.nvcc, given.cutlass)
    found = build(
        given.folder, compiler, jobs=given.jobs, budget=given.budget,
        told=lambda line: print(f"{line.name}: {'built' if line.ok else line.failure}", flush=True),
    )  # fmt: skip
    for what, number in confusion(list(found.values())):
        print(f"{what}: {number}")
    return 0


if __name__ == "__main__":
    end(main)

"""A compiler that compiles nothing: a program that behaves as a test asks, and a folder to build.

What it does follows from the unit's name or, for all units, from FAKE_COMPILER:
``ok`` copies the unit to the output, ``fail`` reports a static assertion, ``sleep`` waits for
FAKE_SECONDS first, ``hang`` never ends, ``spin`` neither, but works, ``slow`` takes seconds with
little work, ``kill`` is ended by a signal, ``full`` finds no space,
``other`` writes something else. FAKE_UNKNOWN lists words that it does not take as options,
FAKE_VERSION is what it calls itself.
FAKE_PIDS names a folder in which every compilation leaves a file, named after its process.
"""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.generate import Generator
from ckrules.codegen.stamp import Stamp
from ckrules.compiling import executors
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession, BuildSummary
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

PROGRAM = f"""#!{sys.executable} -IS
import os, signal, sys, time
if "--version" in sys.argv:
    print(os.environ.get("FAKE_VERSION", "fake compiler 1.0"))
    sys.exit()
if "-fsyntax-only" in sys.argv:  # asked for an option
    sys.exit(any(a in sys.argv for a in os.environ.get("FAKE_UNKNOWN", "").split()))
unit = next(a for a in sys.argv if a.endswith((".cpp", ".host.o")))
out = sys.argv[sys.argv.index("-o") + 1]
how = os.environ.get("FAKE_COMPILER", "ok")
if "FAKE_PIDS" in os.environ:
    with open(os.path.join(os.environ["FAKE_PIDS"], str(os.getpid())), "w") as noted:
        noted.write(unit)
if how == "sleep":
    time.sleep(float(os.environ["FAKE_SECONDS"]))
elif how == "hang":
    time.sleep(600)
elif how == "spin":
    while True:
        pass
elif how == "slow":
    for _ in range(6):
        time.sleep(0.3)
        end = time.process_time() + 0.06
        while time.process_time() < end:
            pass
elif how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "full":
    print("fatal error: error in backend: IO failure on output stream: No space left on device")
    sys.exit(1)
elif how == "fail" and "_64x64x" in unit:
    print("/ck/shape.hpp:7:3: error: static assertion failed: wrong!")
    sys.exit(1)
with open(unit) as source, open(out, "w") as target:
    target.write("another" if how == "other" else source.read())
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the fake compiler where ckrules looks for hipcc; the include folder of a CK tree."""
    for header in ("include/ck_tile/core.hpp", "include/hip/hip_runtime.h"):
        path = folder / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    program = folder / "bin" / "hipcc"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("ROCM_PATH", str(folder))
    monkeypatch.delenv("FAKE_COMPILER", raising=False)
    return folder / "include"


def kernels(out: Path, count: int = 4, *, ninja: bool = False) -> Path:
    """A generated folder of so many kernels."""
    base: dict[str, Any] = dict(book("forward").vocabulary.baseline)
    tiles = [(m, n, k) for k in (64, 32) for m in (64, 128) for n in (64, 128, 256)]
    points = [{**base, "tile_m": m, "tile_n": n, "tile_k": k} for m, n, k in tiles]
    configs = (Config(p) for p in points[:count])
    report = Generator(
        Books("2025.11"), out, force=True, ninja=ninja, stamp=Stamp("0.0.0", "test")
    ).run(configs)
    assert report.kernels == count
    return out


def build(folder: Path, include: Path, where: str = "local", **extra: object) -> BuildSummary:
    """One build of launchers."""
    options = BuildOptions(artifacts=(Artifact.OBJECT,), compiler="hipcc", include=include, **extra)  # type: ignore[arg-type]
    with (
        Results(folder / FILE) as results,
        executors.executor(where, 2) as (pool, width),
    ):
        return BuildSession(folder, options).run(results, pool, width)


def rows(folder: Path) -> list[Result]:
    """Every stored result."""
    with Results(folder / FILE, reading=True) as results:
        return list(results.rows())

"""Compilers and their surroundings: what is found where, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.compiling import toolchain
from ckrules.compiling.compilers import COMPILERS, known_gpus, knows
from ckrules.compiling.toolchain import Missing, MissingToolError
from tests.cli.run import run
from tests.compiling import fake


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a compiler: nothing on PATH, ROCm in a folder of the test."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setattr(toolchain, "_ROCM", tmp_path / "opt")
    return tmp_path


def put(path: Path, text: str = "#!/bin/sh\necho version of $0\n") -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("folder", ["bin", "rocm/bin", "rocm/llvm/bin", "opt/bin", "opt/llvm/bin"])
@pytest.mark.parametrize("name", COMPILERS)
def test_every_compiler_is_found_in_every_place(name: str, folder: str, empty: Path) -> None:
    program = put(empty / folder / name)
    assert toolchain.find_compiler() == (name, program)
    assert toolchain.find_compiler(name) == (name, program)
    other = next(c for c in COMPILERS if c != name)
    missing = toolchain.find_compiler(other)
    assert isinstance(missing, Missing)
    assert missing.reason == f"{other} is not on PATH, in ROCM_PATH or in /opt/rocm"


def test_the_best_compiler_comes_first(empty: Path) -> None:
    for name in reversed(COMPILERS):
        put(empty / "bin" / name)
        found = toolchain.find_compiler()
        assert not isinstance(found, Missing)
        assert found[0] == name


def test_no_compiler(empty: Path) -> None:
    missing = toolchain.find_compiler()
    assert isinstance(missing, Missing)
    assert "none of clang-19, clang-22, amdclang++, hipcc is on PATH" in missing.reason
    assert "apt-get install clang-19" in missing.remedy
    assert toolchain.find_linker() is None


def knowing(*gpus: str) -> str:
    """A compiler that says which GPUs it knows."""
    lines = "".join(f"\\t{g}\\n" for g in gpus)
    asked = f'if [ "$1" = --print-supported-cpus ]; then printf "{lines}" >&2; exit 0; fi'
    return f"#!/bin/sh\n{asked}\necho version of $0\n"


def test_the_first_compiler_that_knows_the_gpu(empty: Path) -> None:
    old = put(empty / "bin" / "clang-19", knowing("gfx942", "gfx11-generic"))
    assert known_gpus(old) == {"gfx942", "gfx11-generic"}
    missing = toolchain.find_compiler(arch="gfx950")
    assert isinstance(missing, Missing)
    assert missing.what == "a HIP compiler for gfx950"
    assert missing.reason == "clang-19 does not know this GPU"
    assert "apt-get install clang-22" in missing.remedy
    new = put(empty / "bin" / "clang-22", knowing("gfx942", "gfx950"))
    assert toolchain.find_compiler(arch="gfx942") == ("clang-19", old)
    assert toolchain.find_compiler(arch="gfx950") == ("clang-22", new)
    assert isinstance(toolchain.find_compiler("clang-19", "gfx950"), Missing)
    assert isinstance(toolchain.find_compiler(arch="gfx1250"), Missing)
    # one that does not say may try
    silent = put(empty / "bin" / "hipcc")
    assert knows(silent, "gfx1250")
    assert toolchain.find_compiler(arch="gfx1250") == ("hipcc", silent)


@pytest.mark.parametrize("linker", ["bin/ld.lld", "opt/llvm/bin/ld.lld"])
def test_the_linker_on_path_or_of_rocm(linker: str, empty: Path) -> None:
    program = put(empty / linker)
    assert toolchain.find_linker() == program


def test_the_linker_in_the_compilers_own_rocm(empty: Path) -> None:
    put(empty / "rocm-9.9" / "bin" / "hipcc")
    program = put(empty / "rocm-9.9" / "llvm" / "bin" / "ld.lld")
    (empty / "bin").mkdir()
    (empty / "bin" / "hipcc").symlink_to("../rocm-9.9/bin/hipcc")
    assert toolchain.find_linker() == program


@pytest.mark.parametrize(
    ("text", "said"),
    [("\x7fELF, but no program", "Exec format error"), ("#!/bin/sh\nexit 3\n", "exit status 3")],
)
def test_a_compiler_that_cannot_be_run(text: str, said: str, empty: Path) -> None:
    program = put(empty / "bin" / "hipcc", text)
    with pytest.raises(MissingToolError, match=rf"^{program}: cannot be run: .*{said}"):
        toolchain.compiler_version(program)


def doctor() -> dict[str, dict[str, object]]:
    """What ``ckrules doctor`` says, by what it looked for."""
    done = run("doctor", "--format", "json")
    found = {f["what"]: f for f in json.loads(done.stdout)}
    headers = [f for what, f in found.items() if what.startswith("CK ")]
    needed = all(f["ok"] for f in found.values() if f["needed"])
    assert done.exit_code == (0 if needed and any(f["ok"] for f in headers) else 1)
    return found


def test_doctor_says_what_is_missing_and_how_to_get_it(empty: Path) -> None:
    found = doctor()
    assert {"HIP compiler", "lld"} <= {w for w, f in found.items() if f["needed"] and not f["ok"]}
    assert all(f["remedy"] for f in found.values() if f["needed"] and not f["ok"])
    assert "in ROCM_PATH" in str(found["hipcc"]["detail"])


def test_doctor_survives_a_broken_compiler(empty: Path) -> None:
    put(empty / "bin" / "clang-19", "\x7fELF, but no program")
    good = put(empty / "rocm" / "bin" / "amdclang++")
    put(empty / "rocm" / "llvm" / "bin" / "ld.lld")
    put(empty / "rocm" / "include" / "hip" / "hip_runtime.h")
    found = doctor()
    assert not found["clang-19"]["ok"]
    assert "cannot be run: Exec format error" in str(found["clang-19"]["detail"])
    assert found["amdclang++"]["detail"] == f"{good}: version of {good}"
    assert found["HIP headers"]["detail"] == f"{empty / 'rocm'}/include/hip"
    assert found["lld"]["ok"]


@pytest.mark.parametrize("name", ["hipcc", "amdclang++"])
def test_a_build_takes_what_is_there(
    name: str, folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = include.parent / "bin" / "hipcc"
    program.rename(program.with_name(name))
    monkeypatch.setenv("PATH", str(program.parent))
    done = run("build", str(folder), "--artifact", "object", "--include", str(include))
    assert (done.exit_code, done.stderr) == (0, "4 artifacts built\n")
    (row, *_) = fake.rows(folder)
    assert (row.tool, row.tool_version) == (name, "fake compiler 1.0")
    absent = run("build", str(folder), "--compiler", "clang-19", "--include", str(include))
    assert absent.exit_code == 2
    assert absent.stderr.startswith("error: a HIP compiler: clang-19 is not on PATH")
    assert len(absent.stderr.splitlines()) == 1


LAUNCHER = """#!/bin/sh
echo "$*" >> "$LAUNCHER_LOG"
[ "$1" = --then ] && shift
exec "$@"
"""


def test_a_launcher_starts_every_compiler(
    folder: Path, include: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("LAUNCHER_LOG", str(log))
    launcher = put(tmp_path / "my launcher" / "start", LAUNCHER)
    words = ("--artifact", "object", "--include", str(include), "--compiler", "hipcc", "--launcher")
    done = run("build", str(folder), *words, f"'{launcher}' --then")
    assert (done.exit_code, done.stderr) == (0, "4 artifacts built\n")
    started = log.read_text().splitlines()
    compiler = include.parent / "bin" / "hipcc"
    assert len(started) == 4
    assert all(line.startswith(f"--then {compiler} ") for line in started)
    assert all(f"'{launcher}' --then {compiler}" in row.command for row in fake.rows(folder))
    bad = run("build", str(folder), *words, "'unclosed")
    assert (bad.exit_code, bad.stderr) == (2, "error: --launcher 'unclosed: no closing quotation\n")

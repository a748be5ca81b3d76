"""The make targets on odd machines, with a stand-in for the interpreter; nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = " ".join(f"-p tests.plugins.{name}" for name in ("skips", "hangs", "progress", "order"))

#: Answers what the Makefile asks an interpreter and records the rest.
FAKE = """#!/bin/sh
case "$*" in
  *base_prefix*) echo {name} ;;
  *version_info*) {new} ;;
  *ensurepip*) {venv} ;;
  "-m venv"*) mkdir -p .venv/bin; rm -f .venv/.[a-z]*; cp "$0" .venv/bin/python; echo venv >>log ;;
  *install*) echo "install $*" >>log ;;
  *) echo "$*" >>log ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout below a folder with a space in its name."""
    root = tmp_path / "a checkout"
    root.mkdir()
    shutil.copy(ROOT / "Makefile", root)
    (root / "pyproject.toml").touch()
    os.utime(root / "pyproject.toml", (1_000_000_000, 1_000_000_000))
    return root


def _python(root: Path, *, new: bool = True, venv: bool = True, name: str = "python3") -> Path:
    path = root.parent / name / "python3"
    path.parent.mkdir()
    text = FAKE.format(name=name, new=str(new).lower(), venv=str(venv).lower())
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def _make(root: Path, *args: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    drop = ("PYTHON", "RUN_ARGS", "TEST_ARGS", "TEST_JOBS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    environment = {k: v for k, v in os.environ.items() if k not in drop}
    environment["PATH"] = path or environment["PATH"]
    make = shutil.which("make")
    assert make
    return subprocess.run(
        [make, *args], capture_output=True, text=True, check=False, cwd=root, env=environment
    )


def _log(root: Path) -> list[str]:
    lines = (root / "log").read_text(encoding="utf-8").splitlines()
    (root / "log").unlink()
    return lines


def test_a_fresh_checkout_is_set_up_once(checkout: Path) -> None:
    """The environment is made, the package installed, and a second run does neither."""
    python = _python(checkout)
    asked = "--variant bwd_weight --arch gfx1201 --catalog recommended --best 20"
    command = f"-m ckrules enumerate {asked}"

    assert _make(checkout, "run", f"PYTHON={python}").returncode == 0
    first = _log(checkout)
    assert [line.split(" ")[0] for line in first] == ["venv", "install", "-m"]
    assert first[1].endswith("--editable .")
    assert first[2] == command
    assert _make(checkout, "run").returncode == 0
    assert _log(checkout) == [command]


def test_tests_get_their_extra(checkout: Path) -> None:
    """``make test`` after ``make run`` adds the extra and keeps the environment."""
    python = _python(checkout)
    _make(checkout, "run", f"PYTHON={python}")
    _log(checkout)

    assert _make(checkout, "test", f"PYTHON={python}", "TEST_ARGS=-x").returncode == 0
    install, run = _log(checkout)
    assert install.endswith("--editable .[test]")
    assert run == f"-m pytest {PLUGINS} -n 3 --dist loadfile -x"


def test_a_newer_pyproject_installs_again(checkout: Path) -> None:
    """A changed dependency reaches an environment that exists."""
    _make(checkout, "run", f"PYTHON={_python(checkout)}")
    _log(checkout)
    (checkout / "pyproject.toml").write_text("# new", encoding="utf-8")

    assert _make(checkout, "run").returncode == 0
    assert len(_log(checkout)) == 2


def test_another_interpreter_makes_the_environment_anew(checkout: Path) -> None:
    """``PYTHON=`` means the interpreter that the tests then run with."""
    _make(checkout, "run", f"PYTHON={_python(checkout)}")
    _log(checkout)

    other = _python(checkout, name="other")
    assert _make(checkout, "run", f"PYTHON={other}").returncode == 0
    assert _log(checkout)[0] == "venv"


def test_a_copied_checkout_makes_its_own_environment(checkout: Path, tmp_path: Path) -> None:
    """An editable install would point to the place that it was copied from."""
    python = _python(checkout)
    _make(checkout, "run", f"PYTHON={python}")
    copy = shutil.copytree(checkout, tmp_path / "copy")
    _log(copy)

    assert _make(copy, "run", path=f"{python.parent}:{os.environ['PATH']}").returncode == 0
    assert _log(copy)[0] == "venv"


def test_an_environment_that_was_there_is_kept(checkout: Path) -> None:
    """make installs into an environment that somebody else made and that works."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(_python(checkout), checkout / ".venv" / "bin" / "python")

    assert _make(checkout, "run").returncode == 0
    assert len(_log(checkout)) == 2


@pytest.mark.parametrize(
    ("new", "venv", "complaint"),
    [
        (False, True, "is not Python 3.11 or newer"),
        (True, False, "cannot make virtual environments; install python3-venv"),
    ],
)
def test_an_unfit_interpreter_is_one_line(
    checkout: Path, new: bool, venv: bool, complaint: str
) -> None:
    """The line names the interpreter and what to do."""
    python = _python(checkout, new=new, venv=venv)
    done = _make(checkout, "run", f"PYTHON={python}")

    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"make: {python} {complaint}"
    assert not (checkout / "log").exists()


def test_no_interpreter_is_one_line(checkout: Path) -> None:
    """No Python on PATH, or only old ones."""
    tools = checkout.parent / "tools"
    tools.mkdir()
    for tool in ("sh", "rm", "cat", "touch", "mkdir"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    done = _make(checkout, "run", path=str(tools))

    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "make: no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3"
    )


def _state(root: Path) -> dict[str, tuple[float, bytes]]:
    return {
        path.relative_to(root).as_posix(): (path.stat().st_mtime, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("words", [["help"], ["-n", "run"], ["-n", "test"], ["-n", "clean"]])
@pytest.mark.parametrize("fault", ["copied", "broken", "another interpreter"])
def test_what_only_tells_changes_nothing(
    checkout: Path, tmp_path: Path, fault: str, words: list[str]
) -> None:
    """An environment that has to be made again is so by the rule that makes it."""
    python = _python(checkout)
    _make(checkout, "run", f"PYTHON={python}")
    if fault == "copied":
        checkout = shutil.copytree(checkout, tmp_path / "copy")
    elif fault == "broken":
        (checkout / ".venv" / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    else:
        python = _python(checkout, name="other")
    before = _state(checkout)

    assert _make(checkout, *words, f"PYTHON={python}").returncode == 0
    assert _state(checkout) == before
    assert _make(checkout, "run", f"PYTHON={python}").returncode == 0
    assert "venv" in _log(checkout)


def test_an_unfit_interpreter_leaves_the_environment(checkout: Path) -> None:
    """What cannot be replaced is not removed first."""
    _make(checkout, "run", f"PYTHON={_python(checkout)}")
    before = _state(checkout)

    old = _python(checkout, new=False, name="old")
    assert _make(checkout, "run", f"PYTHON={old}").returncode == 2
    assert _state(checkout) == before


def test_help_is_the_header(checkout: Path) -> None:
    """``make`` alone lists the targets and does nothing."""
    done = _make(checkout)

    assert "make toolchain" in done.stdout
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("--limit 5", "--variant bwd_weight --arch gfx1201 --limit 5"),
        ("--arch=gfx90a", "--variant bwd_weight --arch=gfx90a"),
        ("--arch-file own.toml", "--variant bwd_weight --arch gfx1201 --arch-file own.toml"),
        ("--variant fmha_fwd --arch gfx942", "--variant fmha_fwd --arch gfx942"),
    ],
)
def test_run_takes_kernels_of_any_family(given: str, command: str) -> None:
    """It gave --variant twice, which the command refuses."""
    root = Path(__file__).resolve().parents[2]
    found = _make(root, "-n", "run", f"RUN_ARGS={given}")
    assert " ".join(found.stdout.splitlines()[-1].split()).endswith(f"enumerate {command}")

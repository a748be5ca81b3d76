"""What is installed equals what is in the tree: packages, data and licence, nothing else."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import ckrules

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_VERSION = ckrules.__version__
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
MAPPED = {"ckrules": "ckrules", **{f"ckrules/{d}": d for d in ("arch", "constraints", "codegen")}}
"""Folders of the wheel and where they are in the tree."""

_FIRST = (
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_basic_v1_cshuffle_intrawave"
    "_16x16x16_1x1x1_16x16x16_vec1_1_1\n"
)
"""The first kernel of the question below."""

_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.py[co]", "*.egg-info")


def _installed_names(root: Path) -> set[str]:
    """The path in the wheel of each file of the tree's packages."""
    names = set()
    for inside, folder in MAPPED.items():
        for path in (root / folder).rglob("*"):  # does not follow the symlinks in ckrules/
            is_ours = path.is_file() and "__pycache__" not in path.parts
            if is_ours and path.suffix not in {".pyc", ".pyo"}:
                names.add(f"{inside}/{path.relative_to(root / folder).as_posix()}")
    return names


def _sub_packages(root: Path) -> set[str]:
    return {
        name.removesuffix("/__init__.py").replace("/", ".")
        for name in _installed_names(root)
        if name.endswith(".py") and name.endswith("/__init__.py")
    }


def _copy_of_tree(target: Path) -> Path:
    """The parts of the tree that a build reads, where it may leave its files."""
    target.mkdir()
    for entry in ("pyproject.toml", "MANIFEST.in", "LICENSE", "Makefile", *DOCUMENTS):
        shutil.copy(ROOT / entry, target / entry)
    for entry in ("ckrules", "arch", "constraints", "codegen", "docs", "scripts"):
        shutil.copytree(ROOT / entry, target / entry, symlinks=True, ignore=_LEFT_OUT)
    return target


def _build(source: Path, out: Path, *kinds: str) -> Path:
    """Build in ``source``; without an index where the environment's setuptools is new enough."""
    major = int(importlib.metadata.version("setuptools").split(".")[0])
    isolation = ["--no-isolation"] if major >= 77 else []
    command = [sys.executable, "-m", "build", *isolation, *kinds, "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=source.parent)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out


def test_the_version_comes_from_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    dynamic = PROJECT["tool"]["setuptools"]["dynamic"]
    assert dynamic == {"version": {"attr": "ckrules.__version__"}}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to build from, below a folder with spaces in its name."""
    return _copy_of_tree(tmp_path_factory.mktemp("wheel with spaces") / "tree")


@pytest.fixture(scope="module")
def on_disk(tree: Path) -> set[str]:
    """What the wheel should hold, listed before any build leaves files in the copy."""
    return _installed_names(tree)


@pytest.fixture(scope="module")
def built(tree: Path, on_disk: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was made from that sdist."""
    return _build(tree, tmp_path_factory.mktemp("dist"))


def _wheel_names(dist: Path) -> set[str]:
    [wheel] = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_packages_are_those_of_the_tree() -> None:
    """A sub-package that pyproject.toml forgets would be missing only from wheels."""
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    on_disk = _sub_packages(ROOT)

    forgotten = sorted(on_disk - listed)
    assert not forgotten, f"add to [tool.setuptools] packages: {', '.join(forgotten)}"
    gone = sorted(listed - on_disk)
    assert not gone, f"remove from [tool.setuptools] packages: {', '.join(gone)}"


def test_every_folder_with_modules_is_a_package() -> None:
    """A folder without ``__init__.py`` works from the tree and is not installed."""
    folders = {n.rpartition("/")[0] for n in _installed_names(ROOT) if n.endswith(".py")}
    packages = {p.replace(".", "/") for p in _sub_packages(ROOT)}

    assert sorted(folders - packages) == []


def test_the_wheel_made_from_the_sdist_holds_the_tree(built: Path, on_disk: set[str]) -> None:
    """Every module and data file is in it and nothing else is."""
    packed = {n for n in _wheel_names(built) if ".dist-info/" not in n}

    assert sorted(on_disk - packed) == [], "missing from the wheel"
    assert sorted(packed - on_disk) == [], "in the wheel and not in the tree"


def test_the_wheel_made_from_the_tree_is_the_same(built: Path, tree: Path, tmp_path: Path) -> None:
    """Building with or without the detour over the sdist gives the same files."""
    direct = _build(tree, tmp_path / "dist", "--wheel")

    assert _wheel_names(direct) == _wheel_names(built)


def test_the_wheel_installs_no_generic_names(built: Path) -> None:
    """``arch``, ``constraints`` and ``codegen`` stay inside ``ckrules``; the licence is there."""
    names = _wheel_names(built)
    tops = {n.split("/")[0] for n in names}

    assert tops == {"ckrules", f"ckrules-{_VERSION}.dist-info"}
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_the_sdist_has_the_documentation(built: Path) -> None:
    """Folders keep their places, and documents go with them."""
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}

    wanted = {*DOCUMENTS, "LICENSE", "arch/__init__.py", "docs/index.md"}
    assert sorted(wanted - names) == []


def test_the_wheel_works_outside_the_tree(built: Path, tmp_path: Path) -> None:
    """Modules and data files are found where only the wheel is on the path."""
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import ckrules, ckrules.arch, ckrules.constraints, ckrules.codegen\n"
        "assert ckrules.__file__.startswith(sys.path[0]), ckrules.__file__\n"
        "assert ckrules.arch.__file__.startswith(sys.path[0]), ckrules.arch.__file__\n"
        "print(ckrules.arch.load('gfx1201').lds_bytes, len(ckrules.constraints.book().rules) > 50)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (done.stdout, done.stderr) == ("65536 True\n", "")


def test_a_clean_environment_gets_the_commands(built: Path, tmp_path: Path) -> None:
    """pip installs the wheel of the sdist, and the command of the package's name is there.

    The packages that it needs are those of this environment, since there may be no index.
    """
    [wheel] = built.glob("*.whl")
    place = tmp_path / "clean environment"
    venv.create(place, with_pip=False, symlinks=True)
    python, site = place / "bin" / "python", Path(sysconfig.get_path("purelib"))
    [home] = place.glob("lib/python3*/site-packages")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-index", "--no-deps", str(wheel)], check=True)
    (home / "needed.pth").write_text(f"{site}\n", encoding="utf-8")
    assert PROJECT["project"]["name"] in PROJECT["project"]["scripts"]
    words = ["count", "--variant", "bwd_weight", "--arch", "gfx1201", "--dtype", "fp16"]
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    asked = ["-I", "-c", "import ckrules; print(ckrules.__file__)"]
    for command, said in (
        ([place / "bin" / "ckrules", "--version"], f"ckrules, version {_VERSION}\n"),
        ([place / "bin" / "ckrules", *words], "536255010\n"),
        ([place / "bin" / "ckrules", "enumerate", *words[1:], "--limit", "1", "-q"], _FIRST),
        ([python, *asked], f"{home / 'ckrules' / '__init__.py'}\n"),
    ):
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, check=False, cwd=tmp_path,
            env=clean,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == (said, "")


def test_every_extra_is_said() -> None:
    """The README says what each extra is for, and the tests have all that run here."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| extra | for |")[2].partition("\n\n")[0]
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(re.findall(r"`(\w+)`", re.sub(r"\|[^|]*\|$", "", table, flags=re.MULTILINE))) == {
        *extras
    } - {"test", "dev"}
    needed = {n for name in set(extras) - {"test", "dev", "gpu"} for n in extras[name]}
    assert needed - set(extras["test"]) == set()


def test_a_forgotten_sub_package_is_named(tmp_path: Path) -> None:
    """The comparison finds a folder that is in no list."""
    extra = tmp_path / "constraints" / "gemm"
    extra.mkdir(parents=True)
    (extra / "__init__.py").touch()

    assert _sub_packages(tmp_path) == {"ckrules.constraints.gemm"}

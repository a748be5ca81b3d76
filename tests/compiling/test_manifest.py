"""A manifest that a stranger wrote chooses no words, no paths and no tracebacks."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe
from ckrules.compiling.folder import manifests
from ckrules.compiling.tasks import Task
from ckrules.device.built import open_built
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.compiling.fake import build

NAMES = [
    "@../../../evil",
    "-fplugin=./evil.so",
    "../escaped/evil",
    "/tmp/evil",
    "a\0b",
    "a\nb",
    "a/b",
    "..",
    "",
    "é",
    "x" * 201,
    "\ud800",
    7,
    None,
    ["a"],
]


def change(folder: Path, /, **values: Any) -> None:
    """Gives the first line of the manifest other values."""
    first, *rest = (folder / MANIFEST).read_text().splitlines()
    line = json.dumps({**json.loads(first), **values})
    (folder / MANIFEST).write_text("\n".join([line, *rest]) + "\n")


def files(folder: Path) -> set[Path]:
    """Everything at and below a folder."""
    return set(folder.rglob("*"))


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_that_is_none(name: Any, folder: Path, include: Path) -> None:
    change(folder, name=name)
    before = files(folder.parent)
    for words in (
        ("build", str(folder), "--compiler", "hipcc", "--include", str(include)),
        ("validate", str(folder)),
        ("run", "x", "--dir", str(folder), "--problem", "N=1,C=8,K=8,W=9,X=3"),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert done.stderr.startswith(f"error: {folder / MANIFEST}:1: name is ")
        assert done.stderr.count("\n") == 1
    assert files(folder.parent) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("arch", 7),
        ("arch", "gfx942 -o x"),
        ("arch", "-gfx942"),
        ("defines", "X"),
        ("defines", ["X Y"]),
        ("defines", [7]),
        ("ck", None),
        ("rules", "a\x1bb"),
        ("legal", "yes"),
        ("lds_bytes", -1),
        ("lds_bytes", 10**25),
        ("lds_bytes", 1.5),
        ("ck", "../../x"),
        ("ck", []),
        ("config", []),
        ("config", {}),
        ("config", {"variant": 7}),
        ("config", {"variant": "forward", "tile_m": [1]}),
        ("family", 7),
        ("more", 7),
        ("folder", "/tmp"),
    ],
    ids=repr,
)
def test_a_value_that_is_none(key: str, value: Any, folder: Path) -> None:
    change(folder, **{key: value})
    done = run("build", str(folder))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {folder / MANIFEST}:1: ")
    assert key in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"\xff\n", "byte 0xff is not UTF-8"),
        (b"[" * 100_000, "not a JSON object"),
        (b'{"a":' * 100_000, "not a JSON object"),
        (b"7\n", "not a JSON object"),
        (b"\n", "not a JSON object"),
        (b'{"lds_bytes": ' + b"9" * 5000 + b"}", "not a JSON object"),
        (b" " * (2 << 20), "longer than 1 MB"),
    ],
    ids=lambda v: repr(v[:12]),
)
def test_a_line_that_is_none(line: bytes, what: str, folder: Path) -> None:
    text = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_bytes(text + line)
    done = run("build", str(folder))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {folder / MANIFEST}:5: {what}")
    assert done.stderr.count("\n") == 1


def test_a_kernel_that_is_listed_twice(folder: Path) -> None:
    lines = (folder / MANIFEST).read_text().splitlines(keepends=True)
    (folder / MANIFEST).write_text("".join([*lines, lines[1]]))
    with pytest.raises(UsageError, match=r":5: \w+ is listed twice$"):
        manifests(folder)


def elsewhere(folder: Path) -> Path:
    """A folder beside the kernels, with a file."""
    place = folder.parent / "elsewhere"
    place.mkdir()
    (place / "secret").write_text("secret")
    return place / "secret"


def link_source(folder: Path) -> Path:
    path = folder / f"{manifests(folder)[0].name}.cpp"
    path.unlink()
    path.symlink_to(elsewhere(folder))
    return path


def link_header(folder: Path) -> Path:
    path = folder / "runtime" / "ckrules_device.h"
    path.unlink()
    path.symlink_to(elsewhere(folder))
    return path


def link_manifest(folder: Path) -> Path:
    path = folder / MANIFEST
    path.rename(elsewhere(folder))
    path.symlink_to("../elsewhere/secret")
    return path


@pytest.mark.parametrize("link", [link_source, link_header, link_manifest])
def test_a_link_out_of_the_folder(
    link: Callable[[Path], Path], folder: Path, include: Path
) -> None:
    path = link(folder)
    with pytest.raises(UsageError, match=f"^{path}: cannot read: leads out of its folder$"):
        build(folder, include)


def test_the_folder_of_another_gpu_stays_inside(folder: Path) -> None:
    place = folder.parent / "several"
    place.mkdir()
    (place / "gfx942").symlink_to(folder)
    done = run("build", str(place))
    assert done.exit_code == 2
    assert done.stderr.endswith("leads out of its folder\n")


@pytest.mark.parametrize("deep", [False, True])
def test_the_scratch_folder_is_no_link(deep: bool, folder: Path, include: Path) -> None:
    target = folder.parent / "mine"
    (target / "99999999").mkdir(parents=True)
    place = folder / ".ckrules-tmp"
    if deep:
        place.mkdir()
        place /= str(os.getpid())
    place.symlink_to(target)
    with pytest.raises(UsageError, match="a link, expected a folder of ckrules build"):
        build(folder, include)
    assert [p.name for p in target.iterdir()] == ["99999999"]


def task(**changes: Any) -> Task:
    """A task with some values changed."""
    given: dict[str, Any] = {"name": "k", "sources": {"k.cpp": "", "runtime/a.h": ""}, **changes}
    return Task(artifact=Artifact.OBJECT, recipe=Recipe("2025.11", "gfx942", ()), **given)


@pytest.mark.parametrize("path", ["/tmp/x", "../x", "a/../x", "a/b/c.h", "-x", "@x", "", "a\n"])
def test_no_task_leaves_its_folder(path: str) -> None:
    with pytest.raises(UsageError, match="not a file of a generated folder"):
        task(sources={path: ""})


def test_a_worker_checks_what_it_is_sent() -> None:
    good = task()
    assert pickle.loads(pickle.dumps(good)) == good
    sent = pickle.dumps(good).replace(b"runtime/a.h", b"../../../aa")
    with pytest.raises(UsageError, match="not a file of a generated folder"):
        pickle.loads(sent)


def test_what_is_run_stays_in_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "x.hsaco").touch()
    with pytest.raises(UsageError, match="not a kernel name"):
        open_built(home, "../x")
    with pytest.raises(UsageError, match="not built"):
        open_built(home, "x")
    (home / "x.hsaco").symlink_to("../x.hsaco")
    with pytest.raises(UsageError, match="leads out of its folder"):
        open_built(home, "x")


@pytest.mark.parametrize("more", [{}, {"ndim": "a"}, {"ndim": None}, {"ndim": 10**15}])
def test_a_configuration_that_is_none_of_its_variant(more: dict[str, Any], folder: Path) -> None:
    change(folder, config={"variant": "forward", **more})
    name = manifests(folder)[0].name if None not in more.values() else "x"
    words = ("--dir", str(folder), "--problem", "N=1,C=8,K=8,W=9,X=3")
    done = run("run", name, *words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "internal error" not in done.stderr

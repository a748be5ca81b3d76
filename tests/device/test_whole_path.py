"""The whole path as a user types it: enumerate, generate, build, validate, results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.compiling import codeobject, folder
from ckrules.compiling.artifacts import Artifact
from ckrules.device.hostlib import HostLibrary
from tests.compiling import kernels
from tests.device import reference_device, whole_path
from tests.helpers.toolchain import require_toolchain

pytestmark = [pytest.mark.toolchain, pytest.mark.slow, pytest.mark.whole]


def test_points_become_kernels_whose_results_are_right(tmp_path: Path) -> None:
    require_toolchain()
    done = whole_path.build()
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert any(line.startswith("1 kernel; ") for line in said)
    assert said[-1] in ("2 artifacts built", "0 artifacts built, 2 known already")
    out = whole_path.folder() / "out"
    (listed,) = map(json.loads, (out / "ckrules-kernels.jsonl").read_text().splitlines())
    assert listed["legal"]
    name = listed["name"]
    assert HostLibrary(out / f"{name}.host.so").info.config == listed["config"]
    entries = codeobject.entries(out / f"{name}.hsaco")
    (entry,) = (e for e in entries if e.name.startswith(f"{name}__"))
    assert entry.lds_bytes >= listed["lds_bytes"] > 0

    site = str(reference_device.registered(tmp_path / "site"))
    runs = tmp_path / "runs.sqlite"
    done = whole_path.shell(
        f"ckrules validate out --device reference --repeat 2 --results '{runs}'",
        whole_path.folder(),
        PYTHONPATH=site,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == "10 runs: 8 ok, 2 refused\n"
    done = whole_path.shell(f"ckrules results '{runs}' --runs -q --format jsonl", tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["name"] for r in rows] == [name] * 10
    assert all(r["predicted"] == r["supported"] and r["finding"] is None for r in rows)
    assert {r["status"] for r in rows if r["C"] == 7} == {"refused"}
    assert all(r["wrong"] == 0 and r["elements"] > 0 for r in rows if r["status"] == "ok")


def test_the_launcher_and_its_kernels_are_in_the_object() -> None:
    """Nothing of the header is left out of upstream's unit: host code, entry and device code."""
    home = whole_path.built().parent
    with kernels.alone(home):
        done = whole_path.shell("ckrules build out --artifact object", home)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    (listed,) = folder.manifests(home / "out")
    data = listed.result(Artifact.OBJECT).read_bytes()
    for part in (b"_Launcher6launchE", b".hip_fatbin", b"__hipRegisterFunction", b"amdgcn-amd-"):
        assert part in data


def test_a_faulty_kernel_fails_the_path(tmp_path: Path) -> None:
    """The same path ends with 1 if a tile is wrong: the test above can fail."""
    whole_path.built()
    done = whole_path.shell(
        f"ckrules validate out --device reference --results '{tmp_path / 'runs.sqlite'}'",
        whole_path.folder(),
        PYTHONPATH=str(reference_device.registered(tmp_path / "site")),
        **{reference_device.FAULTS: '{"fwd": "last-tile"}'},
    )
    assert done.returncode == 1
    assert "all zeros: last M tile" in done.stdout
    assert "finding: legal by the rules, wrong" in done.stdout

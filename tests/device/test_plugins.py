"""Plug-ins of other people, faulty ones among them: what doctor, validate and run say of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import run

BROKEN = """
import os

from ckrules.device.interface import DeviceInfo


class Raises:
    def discover(self):
        raise RuntimeError("no licence\\nfor this machine")

    def looked_for(self):
        return [("licence", "expired")]


class Ends:
    def discover(self):
        os._exit(7)

    def looked_for(self):
        return []


class Strange:
    def discover(self):
        return ["gfx942"]

    def looked_for(self):
        return []


class Hollow:
    def discover(self):
        return [DeviceInfo(0, "hollow", "")]

    def looked_for(self):
        return []

    def open(self, index):
        return object()


class Nothing:
    def discover(self):
        return []

    def looked_for(self):
        return [("licence", "found"), ("emulator", "not started")]
"""
SAID = {
    "absent": "device absent (no.such.module:Plugin): No module named 'no'",
    "nameless": "module 'broken_devices' has no attribute 'Missing'",
    "raises": "RuntimeError: no licence for this machine",
    "ends": "looking for devices ended by status 7",
    "strange": "the plug-in discovered 'gfx942', expected a DeviceInfo",
    "nothing": "licence: found; emulator: not started",
}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with plug-ins that fail in every way."""
    site = tmp_path / "plug-ins"
    info = site / "broken_devices-1.dist-info"
    info.mkdir(parents=True)
    (site / "broken_devices.py").write_text(BROKEN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-devices\nVersion: 1\n")
    classes = {n: f"broken_devices:{n.title()}" for n in ("raises", "ends", "strange", "nothing")}
    classes |= {"absent": "no.such.module:Plugin", "nameless": "broken_devices:Missing"}
    classes["hollow"] = "broken_devices:Hollow"
    lines = [f"{name} = {place}" for name, place in classes.items()]
    (info / "entry_points.txt").write_text("\n".join(["[ckrules.devices]", *lines, ""]))
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.usefixtures("plugins")
def test_doctor_says_what_each_plug_in_looked_for(double: Callable[..., str]) -> None:
    double(count=2)
    found = {f["what"]: f for f in json.loads(run("doctor", "--format", "json").stdout)}
    for name, said in SAID.items():
        assert not found[f"--device {name}"]["ok"]
        assert said in found[f"--device {name}"]["detail"]
    assert found["--device hollow"]["detail"] == "hollow (any GPU)"
    assert found["--device reference"]["detail"].count("CPU reference (test double)") == 2
    assert {"AMD GPU", "HIP runtime", "HIP for Python", "--device hip"} <= set(found)


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("name", SAID)
def test_a_faulty_plug_in_is_said_in_one_line(name: str, tmp_path: Path) -> None:
    from tests.compiling import fake

    folder = fake.kernels(tmp_path / "out", 1)
    done = run("validate", str(folder), "--device", name)
    assert (done.exit_code, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"no GPU for --device {name}: ")
    assert SAID[name] in line


@pytest.mark.usefixtures("plugins")
def test_a_device_without_members_is_said(tmp_path: Path) -> None:
    from ckrules.device.interface import DeviceError
    from tests.device.test_session import kernel, validate

    with pytest.raises(DeviceError, match=r"device hollow: the plug-in's device has no info, "):
        validate(tmp_path, "hollow", [kernel(tmp_path, "k")])


def test_a_plug_in_that_ends_the_program_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import EntryPoint

    from ckrules.device import registry
    from ckrules.device.interface import DeviceError

    (tmp_path / "ckrules_leaving.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("leaving", "ckrules_leaving:Plugin", registry.GROUP)
    with pytest.raises(DeviceError, match=r"device leaving \(ckrules_leaving:Plugin\): SystemExit"):
        registry._loaded(entry)


def test_an_entry_point_that_names_nothing_is_said() -> None:
    from importlib.metadata import EntryPoint

    from ckrules.device import registry
    from ckrules.device.interface import DeviceError

    entry = EntryPoint("odd", "my emulator:", registry.GROUP)
    with pytest.raises(DeviceError, match=r"^device odd \(my emulator:\): expected module:name$"):
        registry._loaded(entry)


@pytest.mark.usefixtures("plugins")
def test_a_plug_in_called_as_ours_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ckrules.device import registry
    from ckrules.device.interface import DeviceError

    info = tmp_path / "site" / "taken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: taken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ckrules.devices]\ncpu = broken_devices:Hollow\n")
    monkeypatch.syspath_prepend(str(info.parent))
    with pytest.raises(DeviceError, match="plug-in broken_devices:Hollow is called as one of ours"):
        registry.load("cpu")

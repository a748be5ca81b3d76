"""A family from outside whose kernels are for a GPU that the package has no file of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from ckrules.arch import TargetGpu
from ckrules.device.execute import carry_out, room_of
from ckrules.device.hostlib import HostLaunch, Info
from ckrules.device.interface import DeviceError
from ckrules.device.jobs import OPENER, opener_of
from ckrules.kernels.families import families
from ckrules.support.errors import RuleBookError
from tests.cli.run import process

FAMILY = '''
from pathlib import Path

from ckrules.arch import TargetGpu
from ckrules.codegen.model import KernelModel
from ckrules.engine.expr.variables import Enum, Int, Role
from ckrules.engine.rules import rule
from ckrules.engine.rules.book import Vocabulary
from ckrules.kernels.family import Family
from ckrules.kernels.parts import ParsedName

TARGETS = (TargetGpu("sm_77x", ("X77", "X770")),)


@rule("TGT001", "too-many-lanes", kind="launch", source="elsewhere.h: LANES",
      accepts=[{}], rejects=[{"lanes": 64}])
def lanes_are_few(c):
    """There are 32 lanes."""
    return c.lanes <= 32


class Naming:
    prefix = "lanes_"

    def parse(self, text):
        return ParsedName({"variant": "lanes", "lanes": int(text.removeprefix("lanes_"))})

    def format(self, point, spelling=None):
        return f"lanes_{point['lanes']}"

    def span(self, text, name):
        return None

    def without_defaults(self, text):
        return text

    def rule_set_spelling(self, point):
        return {}


class Generation:
    templates = (Path(__file__).parent / "lane_templates",)
    quantities = headers = runtime = ()
    library = "lanes"
    opener = "lanes:open_lanes"
    build_command = "lanes-build FOLDER"

    def kernel(self, point, name, ck, quantities):
        return KernelModel(name, ck, point, quantities)

    def files(self, kernel):
        yield f"{kernel.name}.cu", "lanes.cu.j2"

    def covers(self, kernels):
        return iter(())

    def probe(self, ck):
        return None


class Lanes(Family):
    name = title = "lanes"
    variants = ("lanes",)
    topics = {"TGT": "lanes"}
    headers = "LANES 4.2"
    naming, generation = Naming(), Generation()
    parts = {"targets": "lanes:TARGETS"}

    def vocabulary(self, ck, gpus):
        archs = [g.name for g in gpus]
        words = Vocabulary([
            Enum("variant", self.variants, role=Role.PURPOSE),
            Enum("arch", archs, role=Role.PURPOSE),
            Int("lanes", (8, 16, 32, 64)),
        ])
        words.ck, words.baseline = ck, {"variant": "lanes", "arch": archs[0], "lanes": 8}
        return words

    def rules(self):
        return [lanes_are_few]
'''

Command = Callable[..., CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A distribution with the family."""
    place = tmp_path / "site"
    (place / "lane_templates").mkdir(parents=True)
    info = place / "lanes-1.dist-info"
    info.mkdir()
    (place / "lanes.py").write_text(FAMILY)
    (place / "lane_templates" / "lanes.cu.j2").write_text("int lanes = {{ k.point.lanes }};\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lanes\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ckrules.families]\nlanes = lanes:Lanes\n")
    return place


@pytest.fixture
def command(site: Path) -> Command:
    """The command line in a process that has the family."""
    path = os.pathsep.join((str(site), str(Path(__file__).parents[2])))

    def call(*words: str) -> CompletedProcess[str]:
        return process(*words, env={**os.environ, "PYTHONPATH": path})

    return call


def test_its_points_name_its_own_gpu(command: Command) -> None:
    for arch in ("sm_77x", "X770", "x77"):
        done = command("count", "--variant", "lanes", "--arch", arch, "--format", "json")
        assert json.loads(done.stdout)["count"] == 3, done.stderr
    listed = command("enumerate", "--variant", "lanes", "--limit", "9", "--format", "names")
    assert listed.stdout.split() == ["lanes_8", "lanes_16", "lanes_32"]
    assert listed.stderr == "3 configurations (lanes)\n"  # no evidence: `certify` asks about CK
    checked = command("check", "--arch", "sm_77x", "lanes_64")
    assert (checked.returncode, "TGT001" in checked.stdout) == (1, True)


def test_no_other_family_has_the_gpu(command: Command) -> None:
    done = command("count", "--variant", "forward", "--arch", "sm_77x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sm_77x" in done.stderr
    done = command("count", "--variant", "lanes", "--arch", "gfx942")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown arch 'gfx942': known are sm_77x" in done.stderr
    done = command("count", "--variant", "lanes", "--arch", "sm_77y")
    assert "did you mean 'sm_77x'" in done.stderr


def test_a_folder_holds_its_files_and_none_for_hip(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command("generate", "lanes_8", "lanes_16", "--arch", "sm_77x", "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in out.iterdir()) == [
        "ckrules-kernels.jsonl", "lanes_16.cu", "lanes_8.cu"
    ]  # fmt: skip
    assert (out / "lanes_8.cu").read_text() == "int lanes = 8;\n"
    done = command("build", str(out))
    assert (done.returncode, done.stdout) == (2, "")
    assert "kernels of lanes are built by: lanes-build FOLDER" in done.stderr
    done = command("validate", str(out), "--device", "cpu")
    assert "not built" in done.stderr


@pytest.fixture
def plugged(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """This process has the family."""
    monkeypatch.syspath_prepend(str(site))
    families.cache_clear()
    yield families()["lanes"]
    monkeypatch.undo()
    families.cache_clear()


def test_its_kernels_are_opened_by_its_own_opener(plugged: Any) -> None:
    assert (opener_of("lanes"), opener_of("forward")) == ("lanes:open_lanes", OPENER)


def test_two_gpus_of_a_name_are_said(plugged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckrules.kernels.families import targets

    assert list(targets()) == ["sm_77x"]
    twin = SimpleNamespace(targets=(TargetGpu("gfx942"),))
    monkeypatch.setattr("ckrules.kernels.families.families", lambda: {"twin": twin})
    with pytest.raises(RuleBookError, match="two GPUs are called 'gfx942'"):
        targets()


@pytest.mark.parametrize("name", ["", "SM_90", "../x", "-o", "sm_90a\n"])
def test_a_gpu_has_the_name_of_one(name: str) -> None:
    with pytest.raises(RuleBookError, match="is not a GPU name, expected like 'sm_90a'"):
        TargetGpu(name)


class Plain:
    """A device that starts plain kernels only."""

    info = SimpleNamespace(name="plain", compute_units=4)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def launch(self, *given: Any) -> None:
        self.calls.append(given)

    def resident_blocks(self, *given: Any) -> int:
        return 2


class Wide(Plain):
    """One that starts clusters, too."""

    def launch_clusters(self, *given: Any, **more: Any) -> None:
        self.calls.append((*given, more))

    def resident_with(self, module: Any, entry: str, threads: int, dynamic_bytes: int) -> int:
        return 1


LAUNCH = HostLaunch("k", (8, 1, 1), (384, 1, 1), b"", 0, 200_000, (2, 1, 1))


def test_clusters_go_to_devices_that_start_them() -> None:
    device: Any = Wide()
    carry_out(device, None, [LAUNCH, HostLaunch("k", (8, 1, 1), (384, 1, 1), b"", 0)])
    clustered, plain = device.calls
    assert clustered[-1] == {"cluster": (2, 1, 1), "dynamic_bytes": 200_000}
    assert plain == (None, "k", (8, 1, 1), (384, 1, 1), b"")


def test_other_devices_refuse_them() -> None:
    device: Any = Plain()
    said = "cannot be launched: k: plain starts no clusters of blocks and no dynamic shared memory"
    with pytest.raises(DeviceError, match=said):
        carry_out(device, None, [LAUNCH])
    assert device.calls == []


def test_room_counts_dynamic_shared_memory() -> None:
    info = Info("k", "", "sm_77x", "lanes", "lanes", {}, 32, 384, 0, ("k",), {}, True, 200_000)
    wide: Any = Wide()
    plain: Any = Plain()
    room = room_of(wide, info, None)
    assert room is not None
    assert (room.compute_units, room.blocks_per_cu) == (4, 1)
    with pytest.raises(DeviceError, match="plain starts no clusters"):
        room_of(plain, info, None)

"""Sources of CK 2026 against a double of its interface (tests/data/ck_2026_06/README.md).

The real headers cannot be had here; this finds what is misspelt, missing or in the wrong order.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.generate import Generator
from ckrules.codegen.stamp import Stamp
from ckrules.compiling import toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe, flags
from ckrules.constraints.conv.problem import parse
from ckrules.device.hostlib import Fill, HostLaunch, HostLibrary, Room
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.names import format_name
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.codegen.points import DEPTHWISE, FORWARD, GOLDEN
from tests.helpers.toolchain import require_toolchain

pytestmark = [pytest.mark.toolchain, pytest.mark.whole]

CK = "2026.06"
INCLUDE = Path(__file__).resolve().parents[1] / "data" / "ck_2026_06" / "include"
WEIGHT: dict[str, Any] = {**FORWARD, "variant": "bwd_weight"}
LINEAR: dict[str, Any] = {**WEIGHT, "streamk": "linear"}
TREE: dict[str, Any] = {**WEIGHT, "streamk": "tree", "streamk_persistent": True}
BOTH: dict[str, Any] = {**TREE, "two_stage": True}
PROBLEM = parse("N=2,G=2,C=128,K=512,H=9,W=9,Y=3,X=3,pad=1")
PLACES = (PROBLEM, (0x1000, 0x2000, 0x3000), 0x4000)
"""What a plan takes: the problem, the addresses of its tensors, and the workspace."""


def every_kind() -> list[dict[str, Any]]:
    """A point for each thing that templates decide, all for one GPU."""
    points = [{**p, "arch": "gfx942"} for p in GOLDEN[CK].values()]
    for variant in ("forward", "bwd_data", "bwd_weight"):
        points += [{**FORWARD, "variant": variant, "pipeline": p} for p in words.PIPELINES[CK]]
        for ndim, layout in ((1, "nwgc"), (3, "ndhwgc")):
            points.append({**FORWARD, "variant": variant, "ndim": ndim, "layout": layout})
        points.append({**FORWARD, "variant": variant, "epilogue": "default", "dtype": "bf16"})
    points += [{**FORWARD, "split_image": True}, {**FORWARD, "dtype": "fp32"}, LINEAR, BOTH]
    return list({format_name(p): p for p in points}.values())


def generate(folder: Path, *points: dict[str, Any]) -> None:
    """Writes kernels, legal or not."""
    generator = Generator(Books(CK), folder, force=True, stamp=Stamp("0.0.0", "test"))
    assert generator.run(Config(p) for p in points).kernels == len(points)


def compiled(folder: Path, unit: str, *extra: str) -> None:
    """Checks a unit for both passes."""
    tools = require_toolchain()
    assert isinstance(tools, toolchain.Toolchain)
    words_ = [
        f
        for f in flags(Recipe(CK, "gfx942", ()), Artifact.OBJECT, tools)
        if not f.startswith("-I/")
    ]
    words_ = [w for w in words_ if w not in ("-c", "-w")]
    command = [str(tools.compiler), *words_, f"-I{INCLUDE}", "-Wall", "-Wextra", "-Werror", *extra]
    # Kernels have no use for parameters that their release does not read.
    command += ["-Wno-unused-parameter", "-fsyntax-only", unit]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_september_takes_the_sources_of_june(tmp_path: Path) -> None:
    """What was read of September's interface is June's, so that the double stands for both."""
    texts = []
    for ck in (CK, "2026.09"):
        generator = Generator(Books(ck), tmp_path / ck, force=True, stamp=Stamp("0.0.0", "test"))
        generator.run(Config(p) for p in every_kind())
        found = {p.relative_to(tmp_path / ck): p.read_text() for p in (tmp_path / ck).rglob("*.*")
                 if p.is_file()}  # fmt: skip
        alike = re.compile(rf";\n// that of September [^\n]*alike|{ck}")
        texts.append({path: alike.sub("", text) for path, text in found.items()})
    june, september = texts
    assert june.keys() == september.keys()
    assert [path for path in june if june[path] != september[path]] == []


def key_of(wrapper: Path) -> tuple[str, ...]:
    """What a wrapper writes into the registry's key."""
    return tuple(re.findall(r"^    key\.\w+ += (.+);$", wrapper.read_text(), re.MULTILINE))


def test_the_registry_keeps_every_kernel(tmp_path: Path) -> None:
    """Of equal keys it keeps the first: whatever tells two kernels apart is in the key."""
    others = [
        {**WEIGHT, "explicit_gemm": True}, {**FORWARD, "double_smem_buffer": True},
        {**FORWARD, "pad_k": False}, {**FORWARD, "num_groups_to_merge": 2},
        {**DEPTHWISE, "sub_h": 8}, {**DEPTHWISE, "nbatch": 2},
    ]  # fmt: skip
    generate(tmp_path, *every_kind(), *others)
    wrappers = list((tmp_path / "dispatcher_wrappers").glob("dispatcher_wrapper_*.hpp"))
    assert len(wrappers) == len(registered(every_kind())) + len(others)
    assert len({key_of(w) for w in wrappers}) == len(wrappers)


def registered(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that the dispatcher's backend can run."""
    return [p for p in points if p["ndim"] > 1]


def test_launchers_wrappers_and_registration(tmp_path: Path) -> None:
    points = every_kind()
    generate(tmp_path, *points)
    count = len(registered(points))
    lines = [
        '#include "register_all_grouped_conv_kernels.hpp"',
        *(f'#include "include_all_grouped_conv_{d}_kernels.hpp"'
          for d in ("fwd", "bwd_data", "bwd_weight")),
        *(f'#include "{format_name(p)}.cpp"' for p in points),
        "void use() { ck_tile::dispatcher::register_all_grouped_conv_kernels(); }",
        f"static_assert(ck_tile::dispatcher::get_grouped_conv_kernel_count() == {count});",
        "static_assert(SelectedConvKernelLauncher::NDimSpatial == 2);",
    ]  # fmt: skip
    (tmp_path / "all.cpp").write_text("\n".join(lines) + "\n")
    compiled(tmp_path, "all.cpp")


def test_device_units(tmp_path: Path) -> None:
    points = every_kind()
    generate(tmp_path, *points)
    text = "".join(f'#include "{format_name(p)}.device.cpp"\n' for p in points)
    # They are units of their own, which name the kernel's namespace alike.
    for i, point in enumerate(points):
        unit = tmp_path / f"{format_name(point)}.device.cpp"
        unit.write_text(
            unit.read_text()
            .replace("namespace kernel =", f"namespace kernel{i} =")
            .replace("kernel::", f"kernel{i}::")
            .replace("using Entry1 ", f"using Entry1_{i} ")
            .replace("(Entry1::", f"(Entry1_{i}::")
            .replace("RUN(Entry1{", f"RUN(Entry1_{i}{{")
        )
    (tmp_path / "all.cpp").write_text(text)
    compiled(tmp_path, "all.cpp", "-Wno-macro-redefined")


def test_one_kernel_included_on_the_command_line(tmp_path: Path) -> None:
    generate(tmp_path, WEIGHT)
    (tmp_path / "user.cpp").write_text(
        "static_assert(SelectedConvBwdWeightLauncher::KernelConfig::M_Tile == 128);\n"
        "const char* name() { return CONV_BWD_WEIGHT_KERNEL_NAME; }\n"
    )
    included = ("-DCK_TILE_SINGLE_KERNEL_INCLUDE", "-include", f"{format_name(WEIGHT)}.hpp")
    compiled(tmp_path, "user.cpp", *included)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Host libraries of kernels."""
    require_toolchain()
    place = tmp_path_factory.mktemp("double")
    generate(place, TREE, LINEAR, {**FORWARD, "pipeline": "comp_async"}, DEPTHWISE,
             {**WEIGHT, "two_stage": True}, BOTH)  # fmt: skip
    assert built(place, "host") == "6 artifacts built"
    return place


def built(folder: Path, artifact: str) -> str:
    """What the command says at last that builds one kind of artifact."""
    words = ("--artifact", artifact, "--include", str(INCLUDE), "--optimize", "-O0")
    return run("build", str(folder), *words).stderr.splitlines()[-1]


@pytest.mark.certify
def test_code_objects_are_built_beside_the_libraries(folder: Path) -> None:
    """`test_device_units` compiles such sources already, of more kernels."""
    assert built(folder, "device") == "6 artifacts built"


def library(folder: Path, point: dict[str, Any]) -> HostLibrary:
    """The host library of a point."""
    return HostLibrary(folder / f"{format_name(point)}.host.so")


def test_stream_k_is_laid_out_for_the_room_there_is(folder: Path) -> None:
    kernel = library(folder, TREE)
    assert kernel.info.needs_room
    assert kernel.is_supported(PROBLEM)
    room = Room(76, 2)
    tiles = 2 * 2 * 5  # 256 x 576 outputs a group in tiles of 128
    assert tiles % 152
    size = kernel.workspace_bytes(PROBLEM, room)
    assert size == 2 * 152 * (128 * 128 * 4 + 4)
    fill, launch = kernel.plan(*PLACES, room)
    assert fill == Fill(0x4000, size)
    assert isinstance(launch, HostLaunch)
    assert (launch.grid, launch.block) == ((152, 1, 1), (256, 1, 1))
    assert (0x4000).to_bytes(8, "little") in launch.args
    _, other = library(folder, LINEAR).plan(*PLACES, Room(3, 1))
    assert isinstance(other, HostLaunch)
    assert other.grid == (tiles // 3 * 3 + 3, 1, 1)
    whole = library(folder, LINEAR).plan(*PLACES, Room(20, 1))
    assert [type(step) for step in whole] == [HostLaunch]  # nothing is shared: no workspace


def test_stream_k_in_two_stages_keeps_its_partial_sums_behind_the_result(folder: Path) -> None:
    kernel, room = library(folder, BOTH), Room(76, 2)
    result = 2 * 256 * 64 * 9 * 4  # a multiple of 256
    partials = library(folder, TREE).workspace_bytes(PROBLEM, room)
    assert kernel.workspace_bytes(PROBLEM, room) == result + partials
    fill, main, convert = kernel.plan(*PLACES, room)
    assert fill == Fill(0x4000 + result, partials)
    assert isinstance(main, HostLaunch)
    assert isinstance(convert, HostLaunch)
    assert (0x4000).to_bytes(8, "little") in main.args
    assert (0x4000 + result).to_bytes(8, "little") in main.args
    assert (0x2000).to_bytes(8, "little") in convert.args


def test_stream_k_does_not_guess(folder: Path) -> None:
    kernel = library(folder, TREE)
    with pytest.raises(UsageError, match="ckrules_room is missing"):
        kernel.workspace_bytes(PROBLEM)
    with pytest.raises(UsageError, match="ckrules_room is missing"):
        kernel.plan(*PLACES)
    with pytest.raises(UsageError, match="no compute units, or no blocks"):
        kernel.plan(*PLACES, Room(304, 0))


def test_no_bytes_are_named_for_a_faulty_problem(folder: Path) -> None:
    kernel = library(folder, {**FORWARD, "pipeline": "comp_async"})
    assert kernel.workspace_bytes(PROBLEM) == 0
    with pytest.raises(UsageError, match="stride = 0 is out of range"):
        kernel.workspace_bytes(replace(PROBLEM, stride=(0, 1)))


def test_libraries_answer_for_the_gpu_they_are_built_for(folder: Path) -> None:
    """CK asks the runtime for the GPU: here it hears gfx942, with no runtime at all."""
    assert not library(folder, {**FORWARD, "pipeline": "comp_async"}).is_supported(PROBLEM)
    two_stage = library(folder, {**WEIGHT, "two_stage": True})
    assert not two_stage.info.needs_room
    assert len(two_stage.plan(*PLACES)) == 2
    assert library(folder, DEPTHWISE).info.block_size == 64


def test_only_the_interface_is_shown(folder: Path) -> None:
    path = folder / f"{format_name(TREE)}.host.so"
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in shown.stdout.splitlines()]
    assert names
    assert all(name.startswith("ckrules_") for name in names)

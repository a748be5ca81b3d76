"""The device ``cpu``: its options, and built kernels that come out right, wrong and with faults."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.toolchain import Missing, find_compiler
from ckrules.device import cpu
from ckrules.device.cpu import CpuDevice, CpuPlugin, _check_limits, disassembler, plan_of
from ckrules.device.execute import Runner
from ckrules.device.interface import DeviceError, DeviceInfo, Dim3
from ckrules.device.jobs import Job, RunOutcome
from ckrules.emulator import program
from ckrules.emulator.disassembly import knows
from ckrules.emulator.grid import Plan
from ckrules.emulator.machine import Order
from ckrules.emulator.native import library
from ckrules.kernels.config import Config
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UnknownNameError, UsageError
from tests.compiling import kernels
from tests.device.lds_accesses import held
from tests.helpers.toolchain import require_toolchain

SMALL = "N=1,G=1,C=16,K=16,W=40,X=3,pad=1"
#: A kernel of each GPU and direction that is right in every order of waves.
RIGHT = [
    ("gfx942", "fwd_bf16_nhwgc_2d_compv3", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
    ("gfx942", "bwd_data_fp32_nhwgc_1d_compv3", "N=1,C=32,K=64,W=40,X=3,pad=1"),
    ("gfx942", "bwd_weight_bf16_nhwgc_2d_mem", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
    ("gfx942", "fwd_bf16_nhwgc_3d_mem", "N=1,C=64,K=64,D=2,H=4,W=5,Z=1,Y=1,X=1"),
    ("gfx942", "fwd_fp32_nhwgc_2d_compv4", "N=1,C=32,K=32,H=6,W=7,Y=3,X=3,pad=1"),
    (
        "gfx1201",
        "bwd_weight_fp16_nhwgc_3d_compv4",
        "N=1,C=64,K=64,D=2,H=4,W=5,Z=1,Y=3,X=1,pad=0x1x0",
    ),
    ("gfx90a", "bwd_weight_bf16_nhwgc_2d_compv4", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
    ("gfx90a", "fwd_fp16_nhwgc_1d_compv4", "N=1,C=64,K=64,W=40,X=3,pad=1"),
    ("gfx90a", "fwd_fp16_nhwgc_2d_compv3", "N=1,C=16,K=64,H=5,W=5,Y=3,X=3,pad=1"),
    ("gfx90a", "bwd_data_fp16_nhwgc_1d_compv3", "N=1,C=64,K=64,W=40,X=3,pad=1"),
    ("gfx1201", "fwd_fp16_nhwgc_2d_basic_v1", "N=1,C=16,K=32,H=5,W=5,Y=3,X=3,pad=1"),
    ("gfx1201", "fwd_fp16_nhwgc_1d_compv3", "N=1,C=64,K=64,W=40,X=3,pad=1"),
    ("gfx1201", "fwd_bf16_nhwgc_2d_compv4", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
    ("gfx1201", "bwd_weight_bf16_nhwgc_2d_compv3", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
    ("gfx1201", "bwd_weight_bf16_nhwgc_2d_mem", "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"),
]

#: Several block tiles of a kernel that `make test` compiles for other tests, too.
SEVERAL = (*RIGHT[1][:2], "N=2,C=32,K=64,W=100,X=3,pad=1")
#: Those whose epilogue does not share every kind of access to LDS with the main loop.
SEEN = [each for each in RIGHT if "bwd_data_fp32" not in each[1]]


def outcome(arch: str, part: str, problem: str, **options: str) -> RunOutcome:
    """What a built kernel of the tests comes to on a problem."""
    kernel = built(arch, part)
    device = CpuPlugin().open(0, options)
    parsed = problems_of(kernel.config.variant).parse(problem)
    return Runner(device).run(Job(kernel.folder, kernel.name, parsed, 0, 0))


def point_of(arch: str, part: str) -> Mapping[str, Any]:
    """The first kernel of the tests for a GPU whose name has the part."""
    configs = (Config(p) for p in kernels.convolutions().points if p["arch"] == arch)
    fit = (c for c in configs if f"grouped_conv_{part}" in str(c.name))
    return min(fit, key=lambda c: str(c.name)).point


def built(arch: str, part: str) -> kernels.Kernel:
    """That kernel, compiled."""
    return kernels.convolutions().build(point_of(arch, part))


def params(cases: Iterable[tuple[str, str, str]]) -> list[Any]:
    """Cases as parameters of tests, marked as their kernels are."""
    marks = kernels.convolutions().marks
    return [pytest.param(*each, marks=marks(point_of(*each[:2]))) for each in cases]


def test_what_a_gpu_would_not_start_is_refused() -> None:
    _check_limits("gfx942", 65536, (1024, 1, 1))
    for lds, threads, what in ((65537, 64, "65537 bytes of LDS"), (0, 1088, "1088 threads")):
        with pytest.raises(DeviceError, match=f"cannot be launched: {what}"):
            _check_limits("gfx942", lds, (threads, 1, 1))
    _check_limits("gfx_of_somebody", 1 << 30, (4096, 1, 1))


def test_options() -> None:
    assert plan_of({"jobs": "1"}) == Plan(tuple(Order), 0, None, 1)
    assert plan_of({"order": "reversed", "blocks": "4", "jobs": "2"}).sample == 4
    assert CpuPlugin().open(0, {"units": "7"}).info.compute_units == 7
    assert CpuPlugin().open(0).info.compute_units == 3
    assert CpuPlugin().open(0, {"banks": "1"}).banks
    assert not CpuPlugin().open(0).banks
    with pytest.raises(UsageError, match="units=few: a whole number is expected"):
        CpuPlugin().open(0, {"units": "few"})
    with pytest.raises(UnknownNameError, match="did you mean 'order'"):
        plan_of({"ordr": "forward"})
    with pytest.raises(UnknownNameError, match="did you mean 'forward'"):
        plan_of({"order": "forwards"})
    with pytest.raises(UsageError, match="blocks=many: a whole number is expected"):
        plan_of({"blocks": "many"})


def test_memory_is_given_out_and_taken_back() -> None:
    device = CpuDevice(DeviceInfo(0, "CPU", ""))
    first, second = device.allocate(100), device.allocate(5000)
    device.fill(first, 7, 100)
    device.write(second + 4, b"abc")
    assert device.read(first, 100) == bytes([7]) * 100
    assert device.read(second + 4, 3) == b"abc"
    assert second - first >= 4096
    device.free(first)
    device.free(second)


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize(("arch", "part", "problem"), params(RIGHT))
def test_right_kernels_are_right(arch: str, part: str, problem: str) -> None:
    found = outcome(arch, part, problem, jobs="1")
    assert (found.status, found.detail, found.wrong) == ("ok", "", 0)


@dataclass
class Recorded(CpuDevice):
    """A device that keeps what each launch left: wave instructions, memory, faults."""

    left: list[tuple[int, bytes, str]] = field(default_factory=list)

    def launch(self, module: Any, entry: str, grid: Dim3, block: Dim3, args: bytes) -> None:
        """Runs a kernel to its end."""
        super().launch(module, entry, grid, block, args)
        memory = self._memory.bytes[: self._memory.top].tobytes()
        faults = "; ".join(f"{each.kind}: {each.detail}" for each in self.observed())
        self.left.append((self.steps, hashlib.sha256(memory).digest(), faults))


_REST = [pytest.mark.certify]
#: One of each GPU and direction; the rest is for `make certify`.
BOTH = [
    pytest.param(
        *case.values, marks=[*case.marks, *([] if i in (0, 1, 5, 7) else [pytest.mark.certify])]
    )
    for i, case in enumerate(params(RIGHT))
]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(library.compiler() is None, reason="native code needs clang")
@pytest.mark.parametrize(("arch", "part", "problem"), BOTH)
def test_native_code_leaves_what_numpy_leaves(
    arch: str, part: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit by bit, after each launch, in every order of waves and blocks."""
    kernel = built(arch, part)
    parsed = problems_of(kernel.config.variant).parse(problem)
    monkeypatch.setattr(program, "_WORTH", 0)
    found = []
    for word in ("0", "1"):
        monkeypatch.setenv(library.VARIABLE, word)
        library.compiler.cache_clear()
        cpu._program.cache_clear()
        device = Recorded(DeviceInfo(0, "CPU", ""), plan_of({"jobs": "1"}))
        ran = Runner(device).run(Job(kernel.folder, kernel.name, parsed, 0, 0))
        found.append((ran.status, device.left))
    library.compiler.cache_clear()
    cpu._program.cache_clear()
    assert found[0] == found[1]
    assert found[0][1]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize(("arch", "part", "problem"), params(SEEN))
def test_accesses_to_lds_are_those_of_the_model(arch: str, part: str, problem: str) -> None:
    """What is drawn of kernels is what they do: each kind of access, so often a block tile.

    The epilogue's accesses come on top; those of the main loop all happen equally often.
    """
    kernel = built(arch, part)
    held(kernel.config, kernel.folder, problem)


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_sample_compares_what_it_wrote() -> None:
    arch, part, problem = SEVERAL
    whole = outcome(arch, part, problem, order="forward", jobs="1")
    some = outcome(arch, part, problem, order="forward", jobs="2", blocks="1")
    assert some.status == "ok"
    assert some.elements is not None
    assert whole.elements is not None
    assert 0 < some.elements < whole.elements


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_sample_of_all_blocks_is_no_sample() -> None:
    """What nobody wrote is then known to be unwritten."""
    arch, part, problem = SEVERAL
    whole = outcome(arch, part, problem, order="forward", jobs="1")
    same = outcome(arch, part, problem, order="forward", jobs="1", blocks="64")
    assert (same.status, same.elements) == ("ok", whole.elements)


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_basic_v1_reads_its_operands() -> None:
    """Upstream's instances with the intrawave scheduler multiply registers that nothing fills.

    `make certify` compiles it.
    """
    part = "fwd_fp16_nhwgc_2d_basic_v1_cshuffle_intrawave_32x32x16"
    found = outcome("gfx1201", part, "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1", jobs="1")
    assert found.status == "ok"


def test_folders_are_not_touched(tmp_path: Path) -> None:
    """A kernel that is not there is an error of the run."""
    device = CpuDevice(DeviceInfo(0, "CPU", ""))
    job = Job(tmp_path, "no_such_kernel", problems_of("forward").parse(SMALL), 0, 0)
    assert Runner(device).run(job).status == "error"
    assert list(tmp_path.iterdir()) == []


# -- the disassembler --------------------------------------------------------------------------

ASKED = """#!/bin/sh
for word in "$@"; do [ "$word" = --mcpu=help ] && { printf 'CPUs:\\n%s'; exit 1; }; done
"""


def _objdump(folder: Path, version: int, *gpus: str) -> Path:
    lines = "".join(f"  {gpu}  - Select the {gpu} processor.\\n" for gpu in gpus)
    program = folder / f"llvm-objdump-{version}"
    program.write_text(ASKED.replace("%s", lines))
    program.chmod(0o755)
    return program


def test_the_disassembler_is_one_that_knows_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(cpu, "_DISASSEMBLERS", ("llvm-objdump-91", "llvm-objdump-92"))
    monkeypatch.setattr(cpu, "target", lambda code: code.decode())
    with pytest.raises(DeviceError, match="no llvm-objdump on PATH: apt-get install llvm-22"):
        disassembler(b"gfx942")
    new = _objdump(tmp_path, 91, "gfx942", "gfx950")
    old = _objdump(tmp_path, 92, "gfx803", "gfx942")
    assert disassembler() == disassembler(b"gfx942") == new
    assert disassembler(b"gfx950") == new
    assert disassembler(b"gfx803") == old
    with pytest.raises(DeviceError, match="llvm-objdump-91, llvm-objdump-92 does not know gfx77"):
        disassembler(b"gfx77")


@pytest.mark.toolchain
@pytest.mark.parametrize("gpu", ["gfx942", "gfx950"])
def test_code_objects_say_their_gpu(gpu: str, tmp_path: Path) -> None:
    compiler = find_compiler(arch=gpu)
    if isinstance(compiler, Missing):
        require_toolchain()  # fails where it has to be there
        pytest.skip(str(compiler))
    (tmp_path / "k.s").write_text(".text\nk: s_endpgm\n")
    words = ["--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-c", "k.s", "-o", "k.o"]
    subprocess.run([str(compiler[1]), *words], cwd=tmp_path, check=True)
    code = (tmp_path / "k.o").read_bytes()
    assert knows(disassembler(), code, gpu)
    assert not knows(disassembler(), code, "gfx1")

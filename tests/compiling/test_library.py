"""The dispatcher library: upstream's calls from C and ctypes, over a stand-in HIP runtime.

The stand-in (`standin_hip.c`, a test double) hands memory and launches to the device `cpu` where a
test wants to see what is computed.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.compiling import library, toolchain
from ckrules.compiling.folder import manifests
from ckrules.compiling.manifest import ManifestEntry
from ckrules.device.cpu import CpuDevice, CpuPlugin
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.families import families, problems_of
from ckrules.support.errors import UsageError
from tests.compiling import kernels
from tests.device import whole_path
from tests.helpers.toolchain import require_toolchain
from tests.runtime import doubles

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent
#: A small product that compiles fast, as programs declare it for upstream's dispatcher.
GEMM = """
DECL_KERNEL(Signature().dtype("fp16").layout("rcr"),
            Algorithm().tile(32, 32, 32).wave(1, 2, 1).warp(16, 16, 16).pipeline("basic_v1")
                .scheduler("default").epilogue("default").pad(false, false, false), "gfx942");
"""


def entries(place: Path, **configs: Any) -> list[ManifestEntry]:
    return manifests(doubles.folder(place, **configs))


def test_upstreams_calls_run_what_they_can_say(tmp_path: Path) -> None:
    stream_k = {**doubles.CONV, "variant": "bwd_weight", "streamk": "tree"}
    several = {**doubles.GEMM, "variant": "multi_d", "num_d": 1, "elementwise_op": "add"}
    listed = entries(
        tmp_path, f=doubles.CONV, w={**doubles.CONV, "variant": "bwd_weight"}, s=stream_k,
        g=doubles.GEMM, m=several, d=doubles.DEPTHWISE, i={**doubles.CONV, "illegal": True},
    )  # fmt: skip
    rows, notes = library.chosen(listed)
    calls = {r.kernel.name: r.facts.upstream for r in rows}
    assert calls == {"f": 2, "w": 2, "s": 0, "g": 1, "m": 0}
    has = "conv, gemm, fmha, fmha_bwd, fmha_steps, fmha_v3"
    left = f"1 kernel of depthwise: the C library has {has}; from Python ckrules.runtime runs"
    assert notes == [f"left out: {left} them all"]
    with pytest.raises(UsageError, match="breaks no rule; left out: 1 kernel of depthwise"):
        library.chosen([k for k in listed if k.name in "di"])


def test_calls_that_could_mean_several_kernels_are_told(tmp_path: Path) -> None:
    both = {"a": doubles.GEMM, "b": {**doubles.GEMM, "layout": "rrr"}}
    _, notes = library.chosen(entries(tmp_path, **both))
    (note,) = notes
    assert note.startswith(
        "upstream's dispatcher_init will refuse: its calls name no dtype, dtype_c"
    )
    assert note.endswith("there are kernels of fp16 fp16 rcr; fp16 fp16 rrr")
    other = {"a": doubles.CONV, "b": {**doubles.CONV, "dtype": "bf16"}}
    _, notes = library.chosen(entries(tmp_path / "conv", **other))
    assert "conv_dispatcher_init will refuse" in notes[0]


@pytest.mark.parametrize("variant", ["forward", "standard", "fmha_fwd_v3"])
def test_every_size_of_a_problem_has_its_member(variant: str) -> None:
    problems = problems_of(variant)
    _, members = problems.members()
    assert set(members) == {domain_of(f).name for f in problems.fields()}


def test_what_rules_know_of_wrong_sums_is_in_the_list(tmp_path: Path) -> None:
    """compv4 sums wrong where there are exactly three block tiles along K."""
    config = {**doubles.GEMM, "pipeline": "compv4", "double_smem_buffer": True}
    rows, _ = library.chosen(entries(tmp_path, k=config))
    product = problems_of("standard").parse
    times = [
        library.MeasuredTime("k", product("M=8,N=8,K=64"), 7.5),
        library.MeasuredTime("k", product("M=8,N=8,K=128"), -1.0, right=False),
        library.MeasuredTime("other", product("M=8,N=8,K=128"), 1.0),
    ]
    text = dict(library.headers(rows, times))["ckrules_listed.cpp"]
    assert "static bool right_0(const void* data)" in text
    assert text.count("whole(3LL)") == 1
    assert '{0, 1, 7.5, "\\x08' in text
    assert '{0, 0, -1, "\\x08' in text
    assert "kernels, 1, times, 2," in text


def test_the_registry_has_upstreams_form(tmp_path: Path) -> None:
    rows, _ = library.chosen(entries(tmp_path, mine=doubles.GEMM))
    found = library.registry_json(rows)
    assert list(found) == ["metadata", "statistics", "kernels"]
    assert found["metadata"]["total_kernels"] == 1
    assert found["statistics"]["by_datatype"] == {"fp16": 1}
    (exported,) = found["kernels"]
    assert exported["identifier"] == "128x128x64_2x2x1_32x32x16_nopers"
    assert exported["algorithm"]["tile_shape"] == {"m": 128, "n": 128, "k": 64}
    assert exported["algorithm"]["block_size"] == 256
    assert exported["algorithm"]["double_buffer"] is False


class Standin:
    """The stand-in runtime with memory and launches of the device `cpu`."""

    def __init__(self, path: Path, code: bytes) -> None:
        self.library = ctypes.CDLL(str(path))
        self.device: CpuDevice = CpuPlugin().open(0, {"order": "forward", "jobs": "1"})
        self._module = self.device.load(code)
        self.launched = 0
        word, data, names = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p
        sizes = ctypes.POINTER(ctypes.c_uint32)
        kinds: Any = (
            (word, word), (None, word), (None, word, data, word), (None, word, data, word),
            (None, word, ctypes.c_int, word), (None, names, sizes, sizes, data, word),
        )  # fmt: skip
        functions = (
            self.device.allocate, self.device.free, self._write, self._read, self.device.fill,
            self._launch,
        )  # fmt: skip
        made = [ctypes.CFUNCTYPE(*k)(f) for k, f in zip(kinds, functions, strict=True)]
        self._kept = made
        table = (ctypes.c_void_p * 6)(*(ctypes.cast(f, ctypes.c_void_p) for f in made))
        self.library.standin_hooks(table)

    def _write(self, address: int, data: int, size: int) -> None:
        self.device.write(address, ctypes.string_at(data, size))

    def _read(self, address: int, data: int, size: int) -> None:
        ctypes.memmove(data, self.device.read(address, size), size)

    def _launch(self, entry: bytes, grid: Any, block: Any, args: int, size: int) -> None:
        self.launched += 1
        if self.launched > 1:  # the same again: to be timed, not to be computed
            return
        shape: Any = tuple(grid[:3]), tuple(block[:3])
        self.device.launch(self._module, entry.decode(), *shape, ctypes.string_at(args, size))


def compile_c(source: Path, target: Path, *words: str) -> Path:
    found = toolchain.find_compiler()
    assert not isinstance(found, toolchain.Missing)
    command = [str(found[1]), "--driver-mode=gcc", "-O1", "-o", str(target), str(source), *words]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stand-in, which libraries are told to use."""
    require_toolchain()
    standin = compile_c(HERE / "standin_hip.c", tmp_path / "libstandin.so", "-shared", "-fPIC")
    monkeypatch.setenv("CKRULES_HIP_LIBRARY", str(standin))
    return tmp_path


@pytest.fixture(scope="module")
def convolution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a copy of the whole path's kernel, made by the command."""
    home = tmp_path_factory.mktemp("library")
    place = home / "kernels"
    shutil.copytree(whole_path.built(), place)
    done = whole_path.shell("ckrules build kernels --library", home)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == f"kernels/{library.NAME}: 1 kernel"
    assert (place / library.HEADER).exists()
    registry = json.loads((place / library.REGISTRY).read_text())
    assert registry["metadata"]["total_kernels"] == 1
    return place / library.NAME


PROBLEM = """
    N G C K input_d input_h input_w filter_z filter_y filter_x stride_d stride_h stride_w
    pad_d pad_h pad_w dilation_d dilation_h dilation_w direction split_k
"""


class ConvProblemC(ctypes.Structure):
    """As programs against upstream's library declare it (version 2.0.0)."""

    _fields_ = tuple((name, ctypes.c_int) for name in PROBLEM.split())


SIZES = (1, 1, 8, 8, 1, 5, 6, 1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1)


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_c_program_uses_it_unchanged(home: Path, convolution: Path) -> None:
    built = convolution
    words = (str(built), str(home / "libstandin.so"), f"-Wl,-rpath,{built.parent}:{home}")
    program = compile_c(HERE / "library_user.c", home / "user", *words)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "before init: 0", "kernels: 0 1", "supported: 1", "name: grouped_conv_fw", "time: 0.25",
        "launches: 13", "odd: 0 -2", "null: -1", "gemm: 0 -2 -1", "left: 0",
    ]  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_c_program_uses_the_header(home: Path, convolution: Path) -> None:
    """It chooses, asks for the workspace, launches on a stream and reads why calls fail."""
    built = convolution
    words = (
        *(str(built), str(home / "libstandin.so"), f"-I{built.parent}"),
        *(f"-Wl,-rpath,{built.parent}:{home}", "-Wall", "-Werror"),
    )
    program = compile_c(HERE / "header_user.c", home / "user", *words)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    (name,) = (p.stem for p in built.parent.glob("*.hsaco"))
    assert done.stdout.splitlines() == [
        f"1 {name}", "fields: 1", f"chosen: 0 {name} 1 1 1", "workspace: 0", "launched: 0 1",
        "measured: 0 0.25 8", "no buffers: -1 no buffers are given",
        "other type: -2 no kernel of variant forward has these fields",
        "field: -1 no kernel has a field as in 'typ=fp16'", "name: -1 no kernel is named nobody",
        f"odd: -2 {name}:", "padded: 0 8 8 1", "launched: 0 9",
        "tensors: -1 2 tensors, expected 3", "left: 0",
    ]  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_convolution_is_computed_through_it(home: Path, convolution: Path) -> None:
    """By ctypes, with tensors in the device's memory."""
    built = convolution
    (code,) = built.parent.glob("*.hsaco")
    standin = Standin(home / "libstandin.so", code.read_bytes())
    lib = ctypes.CDLL(str(built))
    lib.conv_dispatcher_run.argtypes = [ctypes.c_void_p] * 5
    lib.conv_dispatcher_run.restype = ctypes.c_float
    lib.conv_dispatcher_version.restype = ctypes.c_char_p
    assert lib.conv_dispatcher_init() == 0
    assert lib.conv_dispatcher_version() == b"2.0.0"
    has = [
        getattr(lib, f"conv_dispatcher_has_{w}")() for w in ("kernels", "bwd_data", "bwd_weight")
    ]
    assert has == [1, 0, 0]
    problem = ConvProblemC(*SIZES)
    assert ctypes.sizeof(problem) == 84
    assert lib.conv_dispatcher_is_supported(ctypes.byref(problem)) == 1
    name = ctypes.create_string_buffer(200)
    assert lib.conv_dispatcher_get_kernel_name(0, name, 200) == 0
    assert name.value.decode() == code.stem
    random = np.random.default_rng(1)
    x = random.integers(-2, 3, (1, 5, 6, 1, 8)).astype(np.float16)
    w = random.integers(-2, 3, (1, 8, 3, 3, 8)).astype(np.float16)
    places = [standin.device.allocate(n) for n in (x.nbytes, w.nbytes, 480)]
    standin.device.write(places[0], x.tobytes())
    standin.device.write(places[1], w.tobytes())
    assert lib.conv_dispatcher_run(*places, ctypes.addressof(problem), None) == 0.25
    assert standin.launched == 13
    found = np.frombuffer(standin.device.read(places[2], 480), np.float16).reshape(5, 6, 8)
    wide = np.pad(x[0, :, :, 0].astype(np.float32), ((1, 1), (1, 1), (0, 0)))
    right = sum(
        np.einsum("hwc,kc->hwk", wide[i : i + 5, j : j + 6], w[0, :, i, j].astype(np.float32))
        for i in range(3)
        for j in range(3)
    )
    assert np.array_equal(found, right)
    problem.direction = 1
    assert lib.conv_dispatcher_run(*places, ctypes.addressof(problem), None) == -2.0
    lib.conv_dispatcher_cleanup()
    assert standin.library.standin_left() == 0


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_product_is_computed_through_it(home: Path) -> None:
    """By ctypes, with matrices on the host, as upstream's GEMM library takes them."""
    require_toolchain()
    place = toolchain.root() / "tests" / "declared-2025.11"
    with kernels.alone(place):
        (place / "kernels.hpp").write_text(GEMM)
        done = whole_path.shell("ckrules build kernels.hpp -o out --ck 2025.11 --library", place)
        built = shutil.copytree(place / "out", home / "kernels") / library.NAME
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].startswith("1 kernel; ")
    assert done.stderr.splitlines()[-1] == f"out/{library.NAME}: 1 kernel"
    (code,) = built.parent.glob("*.hsaco")
    standin = Standin(home / "libstandin.so", code.read_bytes())
    lib = ctypes.CDLL(str(built))
    sizes = [ctypes.c_int64] * 3
    lib.dispatcher_is_supported.argtypes = sizes
    lib.dispatcher_run_gemm.argtypes = [*[ctypes.c_void_p] * 3, *sizes, ctypes.c_void_p]
    lib.dispatcher_select_kernel.argtypes = [*sizes, ctypes.c_char_p, ctypes.c_int]
    lib.dispatcher_export_registry_json.restype = ctypes.c_char_p
    assert lib.dispatcher_is_supported(64, 32, 64) == 0
    assert (lib.dispatcher_init(), lib.dispatcher_get_kernel_count()) == (0, 1)
    assert lib.dispatcher_is_supported(64, 32, 64) == 1
    assert lib.dispatcher_is_supported(64, 32, -64) == 0
    name = ctypes.create_string_buffer(200)
    assert lib.dispatcher_select_kernel(64, 32, 64, name, 200) == 0
    assert name.value.decode() == code.stem
    shape = [ctypes.c_int() for _ in range(9)]
    assert lib.dispatcher_get_kernel_config(*map(ctypes.byref, shape)) == 0
    assert [s.value for s in shape] == [32, 32, 32, 16, 16, 16, 1, 2, 1]
    registry = json.loads(lib.dispatcher_export_registry_json())
    assert registry["kernels"][0]["name"] == code.stem
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, s).astype(np.float16) for s in ((64, 64), (32, 64)))
    c, time = np.zeros((64, 32), np.float16), ctypes.c_float()
    given = (a.ctypes.data, b.ctypes.data, c.ctypes.data, 64, 32, 64, ctypes.addressof(time))
    assert lib.dispatcher_run_gemm(*given) == 0
    assert time.value == 0.25
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    odd = (*given[:3], 64, 32, 63, ctypes.addressof(time))
    assert (lib.dispatcher_run_gemm(*odd), time.value) == (-2, -1.0)
    lib.dispatcher_cleanup()
    assert standin.library.standin_left() == 0


@pytest.mark.toolchain
def test_the_same_kernels_make_the_same_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, whenever it is built, but for the time that is given."""
    require_toolchain()
    monkeypatch.setattr(library, "_OPTIMIZE", "-O0")  # what is stamped does not depend on it
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    place = doubles.folder(tmp_path, k=doubles.CONV, g=doubles.GEMM)
    (place / "runtime").mkdir()

    def made() -> list[bytes]:
        library.build(place)
        return [(place / name).read_bytes() for name in (library.NAME, library.REGISTRY)]

    first = made()
    time.sleep(1.0 - time.time() % 1.0)  # stamps count whole seconds
    assert made() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    third = made()
    assert all(a != b for a, b in zip(third, first, strict=True))
    assert json.loads(third[1])["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"


LOADS = r"""
#include <unistd.h>
#include "ckrules_kernels.hpp"
const ckrules_list ckrules_all{};
static int status = 1, current = 0, modules = 0;
static int device(int* found) { *found = current; return 0; }
static int load(void** module, const void*)
{
    *module = status ? nullptr : new int{current};
    modules += status == 0;
    return status;
}
static int unload(void*) { return --modules < 0; }
static int function(void** found, void* module, const char*)
{
    *found = module;
    return *static_cast<int*>(module) == current ? 0 : 101; /* HIP ends the process */
}
static int launched(void* found, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, void*, void**, void**)
{
    return *static_cast<int*>(found) == current ? 0 : 101;
}
int main(int, char** names)
{
    using namespace ckrules_runtime;
    if(chdir("/") != 0)
        return 1;
    hip.device          = device;
    hip.module_load     = load;
    hip.module_unload   = unload;
    hip.module_function = function;
    hip.launch          = launched;
    for(int i : {1, 2})
    {
        ckrules_listed listed{};
        listed.name = names[i];
        Kernel k;
        k.listed = &listed;
        status   = 1;
        for(int again = 0; again < 3; ++again)
            std::printf("%d", load_code(k));
        status = 0;
        const bool good = load_code(k);
        std::printf(" %d %zu %s\n", good, k.on->code.size(), error.c_str());
        ckrules_step step{};
        step.entry = "entry";
        for(const int gpu : {0, 1, 0, 2, 1, 2})
        {
            current = gpu;
            if(good && (!load_code(k) || !launch(k, step, nullptr)))
                std::printf("on GPU %d: %s\n", gpu, error.c_str());
        }
        current = 0;
        std::printf("%d modules", modules);
        close(k);
        std::printf(", %d left\n", modules);
    }
    ckrules_listed listed{};
    for(int i : {3, 4})
    {
        Kernel k;
        listed.name = names[i];
        k.listed    = &listed;
        std::printf("%d %s\n", open_kernel(k), error.c_str());
    }
}
"""


def test_code_is_loaded_whole_and_once(tmp_path: Path) -> None:
    """On every GPU that is used, however often the runtime refused it, and wherever programs go.

    A file that cannot be read to its end is no code, and a host library of another version of the
    interface is not asked.
    """
    require_toolchain()
    found = toolchain.find_compiler()
    assert not isinstance(found, toolchain.Missing)
    for name, text in library.headers(
        library.chosen(entries(tmp_path / "k", k=doubles.CONV))[0], ()
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "main.cpp").write_text(LOADS)
    (tmp_path / "whole.hsaco").write_bytes(b"x" * 70_000)
    (tmp_path / "folder.hsaco").mkdir()
    data = Path(library.__file__).parent / "data"
    command = [str(found[1]), "--driver-mode=g++", "-std=c++17", f"-I{tmp_path / 'runtime'}"]
    command += [f"-I{data}", "-o", str(tmp_path / "main"), str(tmp_path / "main.cpp"), "-ldl"]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    shared = ("-shared", "-fPIC", f"-I{tmp_path / 'runtime'}")
    compile_c(HERE / "standin_host.c", tmp_path / "old.host.so", *shared, "-DVERSION=2")
    compile_c(HERE / "standin_hip.c", tmp_path / "other.host.so", *shared)
    names = ["whole", "folder", "old", "other"]
    done = subprocess.run(
        ["./main", *names], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    whole, its_modules, none, no_modules, old, other = done.stdout.splitlines()
    assert whole.startswith("000 1 70000 ")
    assert its_modules == "3 modules, 0 left"
    assert none.startswith("000 0 0 ")
    assert none.endswith("folder.hsaco: cannot be read to its end")
    assert no_modules == "0 modules, 0 left"
    assert old == f"0 {tmp_path}/old.host.so: interface 2, expected 3: build it again"
    assert other == f"0 {tmp_path}/other.host.so: not a host library of a kernel"


def test_the_header_has_every_problem_of_the_library(tmp_path: Path) -> None:
    """It left out attention's, and is C as programs of any kind compile it."""
    require_toolchain()
    listed = library.chosen(entries(tmp_path / "k", k=doubles.CONV))[0]
    (tmp_path / "runtime").mkdir()
    for name, text in library.headers(listed, ()):
        (tmp_path / name).write_text(text)
    shutil.copy(Path(library.__file__).parent / "data" / library.HEADER, tmp_path)
    kinds = {
        problems_of(variant).members()[0]
        for family in families().values()
        for variant in family.variants
        if family.library is not None
    }
    assert len(kinds) == 3
    sizes = " + ".join(f"sizeof({kind})" for kind in sorted(kinds))
    text = f'#include "{library.HEADER}"\nint main(void) {{ return !({sizes}); }}\n'
    for name, standard in (("user.c", "-std=c99"), ("user.cpp", "-std=c++11")):
        (tmp_path / name).write_text(text)
        words = (standard, "-pedantic-errors", "-Wall", "-Werror", "-fsyntax-only")
        compile_c(tmp_path / name, tmp_path / "user", *words)


def test_the_compilers_words_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_toolchain()
    listed = entries(tmp_path, k=doubles.CONV)
    broken = replace(listed[0], config={**listed[0].config, "variant": "forward"})
    bad = [("runtime/ckrules_kernel.h", "#error no"), ("ckrules_listed.cpp", "")]
    monkeypatch.setattr(library, "headers", lambda *_: bad)
    with pytest.raises(library.LibraryError, match=r"libckrules_dispatcher.so: .*error"):
        library.build(broken.folder)
    assert not (tmp_path / library.NAME).exists()

"""`HipDevice` over a stand-in for the HIP binding."""

from __future__ import annotations

import sys
import threading
import types
from pathlib import Path

import pytest

from ckrules.device.execute import Runner
from ckrules.device.hip import HipDevice, HipPlugin, binding
from ckrules.device.interface import Device, DeviceError
from tests.cli.run import run
from tests.device.descriptors import described
from tests.device.fake_hip import FakeHip, hipError_t


@pytest.mark.parametrize("old", [False, True])
def test_what_is_known_of_a_gpu(old: bool) -> None:
    (info,) = HipPlugin(FakeHip(old=old)).discover()
    assert (info.name, info.arch, info.runtime) == ("Radeon", "gfx942", "HIP 6.3.42134")
    assert (info.memory_bytes, info.clock_mhz, info.memory_clock_mhz) == (1 << 36, 2100, 1300)
    assert info.compute_units == 304
    assert info.driver


def test_the_older_package_is_taken_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rocm", "rocm.bindings", "rocm.bindings.hip", "hip", "hip.hip"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DeviceError, match=r"pip install 'ckrules\[gpu\]'"):
        binding()
    older = types.ModuleType("hip.hip")
    monkeypatch.setitem(sys.modules, "hip", types.ModuleType("hip"))
    monkeypatch.setitem(sys.modules, "hip.hip", older)
    assert binding() is older


def test_no_gpu_is_no_error() -> None:
    assert HipPlugin(FakeHip(devices=0)).discover() == []


def test_what_was_looked_for() -> None:
    found = dict(HipPlugin(FakeHip()).looked_for())
    assert list(found) == ["/dev/kfd", "libamdhip64", "HIP for Python"]
    assert found["HIP for Python"] == "found: fake_hip"


def test_memory_goes_there_and_back() -> None:
    device = HipPlugin(FakeHip()).open(0)
    assert isinstance(device, Device)
    address = device.allocate(64)
    device.fill(address, 0xFF, 64)
    device.write(address + 8, b"12345678")
    assert device.read(address, 24) == b"\xff" * 8 + b"12345678" + b"\xff" * 8
    device.free(address)
    with pytest.raises(KeyError):
        device.free(address)


def test_arguments_are_passed_as_bytes() -> None:
    hip = FakeHip()
    device = HipDevice(0, hip)
    module = device.load(b"code")
    start, stop = device.event(), device.event()
    device.record(start)
    device.launch(module, "kernel", (7, 2, 1), (256, 1, 1), b"arguments")
    device.record(stop)
    assert hip.launched == [(b"kernel", (7, 2, 1, 256, 1, 1), b"arguments")]
    assert device.elapsed_ms(start, stop) == 0.25
    device.unload(module)


def test_stream_k_kernels_are_told_what_there_is_room_for(tmp_path: Path) -> None:
    hip = FakeHip()
    job = described(
        tmp_path, "k", "N=2,C=64,K=32,H=7,W=8,Y=3,X=3,pad=1", variant="bwd_weight", streamk="tree"
    )
    outcome = Runner(HipDevice(0, hip)).run(job)
    assert outcome.status == "wrong"
    # Once more over other bits, since nothing was written.
    assert [sizes for _, sizes, _ in hip.launched] == [(304 * 4, 1, 1, 128, 1, 1)] * 2


def test_errors_are_named() -> None:
    device = HipDevice(0, FakeHip())
    with pytest.raises(DeviceError, match=r"hipModuleGetFunction: hipErrorNotFound \(named symbol"):
        device.launch(device.load(b"x"), "missing", (1, 1, 1), (64, 1, 1), b"")
    with pytest.raises(DeviceError, match="hipGetDeviceProperties: hipErrorInvalidValue"):
        HipDevice(3, FakeHip())


def test_closing_frees_what_is_left() -> None:
    hip = FakeHip()
    device = HipDevice(0, hip)
    for _ in range(3):
        device.allocate(16)
    device.close()
    assert hip.freed == 3


def test_a_whole_run_over_the_binding(tmp_path: Path) -> None:
    """The stand-in computes nothing, which is what the run has to find out."""
    hip = FakeHip()
    device = HipDevice(0, hip)
    job = described(tmp_path, "k", "N=2,C=64,K=32,H=7,W=8,Y=3,X=3,pad=1")
    outcome = Runner(device).run(job)
    assert (outcome.status, outcome.where) == ("wrong", "not written: everywhere")
    assert outcome.wrong == outcome.elements == 2 * 32 * 7 * 8
    (entry, sizes, args), again = hip.launched
    assert again == (entry, sizes, args)  # over other bits, since nothing was written
    assert (entry, sizes) == (b"k__hot", (7, 1, 1, 128, 1, 1))
    assert len(args) == 24
    assert hip.freed == 3


@pytest.mark.gpu
def test_built_kernels_are_right_on_this_gpu(tmp_path: Path) -> None:
    """Every kernel of the build tests that is for the GPU that is here."""
    from ckrules.device.pool import discover
    from tests.compiling import kernels

    devices = discover("hip").devices
    here = {d.arch for d in devices}
    points = [p for p in kernels.convolutions().points if p["arch"] in here]
    if not points:
        pytest.skip("no GPU that the build tests have kernels for")
    for point in points:
        place = str(kernels.convolutions().build(point).folder)
        done = run("validate", place, "--results", str(tmp_path / "runs.sqlite"))
        assert done.exit_code == 0, done.stdout


def test_everything_goes_to_the_stream_that_is_used() -> None:
    hip = FakeHip()
    device = HipDevice(0, hip)
    module = device.load(b"code")
    place = device.allocate(64)
    device.write(place, bytes(range(64)))
    device.use_stream(77)
    device.fill(place + 32, 0, 32)
    device.copy_rows(place + 32, 8, place, 4, 3, 2)
    device.launch(module, "entry", (1, 1, 1), (64, 1, 1), b"")
    device.record(device.event())
    assert hip.streams == [(what, 77) for what in ("fill", "copy", "launch", "event")]
    assert device.read(place + 32, 16) == bytes([0, 1, 2, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0])
    device.use_stream(0)
    device.fill(place, 0, 4)
    assert hip.streams[-1] == ("fill", None)
    device.close()


def test_calls_go_to_the_device_and_leave_the_thread_its_own() -> None:
    """PyTorch allocates on the thread's current GPU, which a device with another index moved."""
    hip = FakeHip(devices=3)
    device = HipDevice(1, hip)
    device.synchronize()
    thread = threading.Thread(target=device.synchronize)  # HIP has a current device for each
    thread.start()
    thread.join()
    assert hip.hipGetDevice() == (hipError_t.hipSuccess, 0)
    hip.hipSetDevice(2)
    device.use_stream(7)
    device.synchronize()
    with pytest.raises(DeviceError):
        device.launch(device.load(b"x"), "missing", (1, 1, 1), (64, 1, 1), b"")
    assert hip.hipGetDevice() == (hipError_t.hipSuccess, 2)
    assert hip.waited == [1, 1, 1]

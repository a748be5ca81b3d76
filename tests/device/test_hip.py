"""`HipDevice` over a stand-in for the HIP binding."""

from __future__ import annotations

import pytest

from ckrules.device.hip import HipDevice, HipPlugin
from ckrules.device.interface import Device, DeviceError
from tests.device.fake_hip import FakeHip


@pytest.mark.parametrize("old", [False, True])
def test_what_is_known_of_a_gpu(old: bool) -> None:
    (info,) = HipPlugin(FakeHip(old=old)).discover()
    assert (info.name, info.arch, info.runtime) == ("Radeon", "gfx942", "HIP 6.3.42134")
    assert (info.memory_bytes, info.clock_mhz, info.memory_clock_mhz) == (1 << 36, 2100, 1300)
    assert info.driver


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


def test_errors_are_named() -> None:
    device = HipDevice(0, FakeHip())
    with pytest.raises(DeviceError, match=r"hipModuleGetFunction: hipErrorNotFound \(named symbol"):
        device.launch(device.load(b"x"), "missing", (1, 1, 1), (64, 1, 1), b"")
    with pytest.raises(DeviceError, match="hipSetDevice: hipErrorInvalidValue"):
        HipDevice(3, FakeHip())


def test_closing_frees_what_is_left() -> None:
    hip = FakeHip()
    device = HipDevice(0, hip)
    for _ in range(3):
        device.allocate(16)
    device.close()
    assert hip.freed == 3

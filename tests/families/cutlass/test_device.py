"""The device ``cuda`` on a double of the driver, and kernels that break it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckrules.device.execute import Runner
from ckrules.device.interface import Clustered, DeviceError, DeviceLostError
from ckrules.device.jobs import Job, RunStatus
from ckrules.device.worker import checked
from tests.families.cutlass.fake_cuda import FakeCuda


def device(fake: FakeCuda) -> Any:
    from ckrules_cutlass.device import CudaDevice
    from ckrules_cutlass.driver import CudaDriver

    return CudaDevice(0, CudaDriver(fake))


def test_it_has_every_member_and_says_what_it_is() -> None:
    found = checked(device(FakeCuda()))
    assert isinstance(found, Clustered)
    assert (found.info.arch, found.info.name) == ("sm_90a", "Test double")
    assert (found.info.compute_units, found.info.clock_mhz) == (132, 1980)
    assert found.info.driver == "CUDA 13.0"


def test_memory_is_written_filled_read_and_given_back() -> None:
    fake = FakeCuda()
    opened = device(fake)
    first, second = opened.allocate(16), opened.allocate(8)
    opened.write(first, b"\0\1\2\3")
    assert opened.read(first, 4) == b"\0\1\2\3"
    opened.fill(second, 0xFF, 8)
    assert opened.read(second, 8) == b"\xff" * 8
    opened.free(first)
    assert list(fake.memory) == [second]
    opened.close()
    assert fake.memory == {}
    assert fake.calls[-1] == "cuDevicePrimaryCtxRelease_v2"


def test_launches_have_clusters_and_shared_memory() -> None:
    fake = FakeCuda()
    opened = device(fake)
    module = opened.load(b"cubin")
    for _ in range(2):
        opened.launch_clusters(
            module, "k", (8, 2, 1), (384, 1, 1), b"args", cluster=(2, 1, 1), dynamic_bytes=200_000
        )
    assert fake.launches[0] == {
        "grid": (8, 2, 1), "block": (384, 1, 1), "shared": 200_000, "cluster": (2, 1, 1),
        "attribute": 4, "args": b"args", "count": 1,
    }  # fmt: skip
    assert fake.attributes == [(8, 200_000), (14, 1)]  # once
    assert fake.calls.count("cuModuleGetFunction") == 1
    opened.launch(module, "k", (1, 1, 1), (32, 1, 1), b"args")
    assert fake.launches[-1]["cluster"] == (1, 1, 1)
    assert opened.resident_with(module, "k", 384, 200_000) == 1
    assert opened.resident_blocks(module, "k", 384) == 2
    assert opened.elapsed_ms(opened.event(), opened.event()) == 1.5


def test_errors_are_in_the_drivers_words_and_those_that_stay_are_told_apart() -> None:
    fake = FakeCuda()
    opened = device(fake)
    fake.fails = {"cuMemAlloc_v2": 2}
    with pytest.raises(DeviceError, match=r"cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY \(words") as e:
        opened.allocate(1)
    assert not isinstance(e.value, DeviceLostError)
    fake.fails = {"cuCtxSynchronize": 700}
    with pytest.raises(DeviceLostError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        opened.synchronize()


@pytest.mark.parametrize(
    ("fails", "count", "said"),
    [({}, 1, ""), ({"cuInit": 100}, 0, ""), ({"cuInit": 999}, 0, "cuInit: CUDA_ERROR_UNKNOWN")],
)
def test_devices_are_discovered(fails: dict[str, int], count: int, said: str) -> None:
    from ckrules_cutlass.device import CudaPlugin
    from ckrules_cutlass.driver import CudaDriver

    plugin = CudaPlugin(CudaDriver(FakeCuda(fails)))
    if said:
        with pytest.raises(DeviceError, match=said):
            plugin.discover()
    else:
        assert len(plugin.discover()) == count
    assert [what for what, _ in plugin.looked_for()] == ["/dev/nvidiactl", "libcuda.so.1"]


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from ckrules_cutlass import driver
    from ckrules_cutlass.device import CudaPlugin

    monkeypatch.setattr(driver, "LIBRARY", "libcuda-of-nobody.so.1")
    with pytest.raises(DeviceError, match=r"no CUDA driver: libcuda-of-nobody\.so\.1"):
        CudaPlugin().discover()


def test_a_kernel_that_breaks_the_device_crashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner says so, and that no further job can run."""
    runner = Runner(device(FakeCuda()))

    def lost(job: Job) -> Any:
        raise DeviceLostError("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(runner, "_run", lost)
    outcome = runner.run(Job(Path(), "k", None))  # type: ignore[arg-type]
    assert (outcome.status, runner.lost) == (RunStatus.CRASH, True)
    assert "ILLEGAL_ADDRESS" in outcome.detail


def test_a_crash_says_where_it_began_and_not_what_failed_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 32 crashes on a GPU all said cuModuleUnload, which gives back what the kernel broke."""
    fake = FakeCuda()
    runner = Runner(device(fake))

    def lost(job: Job) -> Any:
        try:
            runner.device.synchronize()
        finally:
            runner.device.unload(runner.device.load(b"cubin"))

    monkeypatch.setattr(runner, "_run", lost)
    fake.fails = {"cuCtxSynchronize": 700, "cuModuleUnload": 716}
    outcome = runner.run(Job(Path(), "k", None))  # type: ignore[arg-type]
    assert outcome.detail.startswith("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS")

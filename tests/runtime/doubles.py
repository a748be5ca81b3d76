"""TEST DOUBLES: described kernels of every family, and a device that computes with the reference.

A described kernel is a JSON file with its configuration; it refuses what its vectors do not divide.
The device is the one of `tests.device.reference_device`, for any family, with streams if asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.constraints import book
from ckrules.device.hostlib import Fill, HostLaunch, Info, Room
from ckrules.device.tensors import from_memory, inputs, results, size, to_memory
from ckrules.kernels.families import family_of, problems_of
from tests.device import descriptors
from tests.device.reference_device import ReferenceDevice

OPENER = "tests.runtime.doubles:open_kernel"

CONV = {**descriptors.CONFIG, "num_groups_to_merge": 1}
DEPTHWISE: dict[str, Any] = {
    "variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2,
    "layout": "ngchw", "in_vec": 4, "two_stage": False,
}  # fmt: skip
GEMM: dict[str, Any] = {
    **book("standard").vocabulary.baseline, "arch": "gfx942", "dtype": "fp16", "layout": "rcr",
}  # fmt: skip


class DescribedGemm:
    """Refuses K and N that 8 does not divide."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        problem = problems_of("standard").parse("M=8,N=8,K=8")
        tensors = problems_of(config["variant"]).tensors(problem, config).all
        self.info = Info(
            name, "2025.11", config["arch"], "gemm", config["variant"], config, 64, 256, 8192,
            (f"{name}__one",), {t.name: t.direction for t in tensors},
        )  # fmt: skip

    def reason(self, problem: Any) -> str | None:
        for letter, n in (("K", problem.k), ("N", problem.n)):
            if n % 8:
                return f"{letter} is not a multiple of the vector size!"
        return None

    def is_supported(self, problem: Any) -> bool:
        return self.reason(problem) is None

    def workspace_bytes(self, problem: Any, room: Room | None = None) -> int:
        return 0

    def plan(
        self, problem: Any, addresses: Sequence[int], workspace: int = 0, room: Any = None
    ) -> Sequence[Fill | HostLaunch]:
        args = b"".join(a.to_bytes(8, "little") for a in addresses)
        launch = HostLaunch(self.info.entries[0], (1, 1, 1), (256, 1, 1), args, 8192)
        return [Fill(addresses[-1], 2 * problem.m * problem.n), launch]


class DescribedDepthwise(descriptors.DescribedKernel):
    """Refuses groups that ``in_vec`` does not divide, and more than one channel of a group."""

    def reason(self, problem: Any) -> str | None:
        if problem.in_channels != problem.groups or problem.out_channels != problem.groups:
            return "one channel of a group is expected!"
        if problem.groups % self.info.config["in_vec"]:
            return "groups are not a multiple of the vector size!"
        return None

    def plan(
        self, problem: Any, addresses: Sequence[int], workspace: int = 0, room: Any = None
    ) -> Sequence[Fill | HostLaunch]:
        args = b"".join(a.to_bytes(8, "little") for a in addresses)
        return [HostLaunch(self.info.entries[0], (1, 1, 1), (64, 1, 1), args, 8192)]


def open_kernel(folder: Path, name: str) -> tuple[Any, bytes]:
    """What opens a described kernel of any family."""
    config = json.loads((folder / f"{name}.json").read_text())
    kinds = {"gemm": DescribedGemm, "depthwise": DescribedDepthwise}
    kind = kinds.get(family_of(config["variant"]).name, descriptors.DescribedKernel)
    return kind(name, config), name.encode()


def folder(place: Path, **kernels: Mapping[str, Any]) -> Path:
    """A folder as `ckrules build` leaves it, of described kernels."""
    place.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, config in kernels.items():
        (place / f"{name}.json").write_text(json.dumps(config))
        for artifact in RUNNABLE:
            (place / Artifact(artifact).result(name)).touch()
        lines.append({
            "name": name, "ck": "2025.11", "arch": config["arch"], "defines": [],
            "rules": "test", "legal": not config.get("illegal"), "lds_bytes": None,
            "config": {k: v for k, v in config.items() if k != "illegal"},
        })  # fmt: skip
    (place / MANIFEST).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


class AnyDevice(ReferenceDevice):
    """Computes what is launched of any family; counts waits."""

    def __init__(self, faults: Mapping[str, str] | None = None) -> None:
        super().__init__(faults=faults)
        self.waits = self.reads = 0
        self.streams: list[int] = []
        self.opened = True

    def launch(self, module: bytes, entry: str, grid: Any, block: Any, args: bytes) -> None:
        work = self._work
        assert work is not None
        self.launched.append(entry)
        self._clock += 0.5
        tensors = problems_of(work.config["variant"]).tensors(work.problem, work.config)
        (result,) = results(tensors)
        target = work.addresses[result.name]
        if target.to_bytes(8, "little") not in args:
            return  # the first stage of two
        data = {
            t.name: from_memory(t, super(AnyDevice, self).read(work.addresses[t.name], size(t)))
            for t in inputs(tensors)
        }
        values = tensors.reference(data)[result.name]
        self.write(target, to_memory(result, values).tobytes())

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        return super().read(address, size)

    def synchronize(self) -> None:
        self.waits += 1

    def close(self) -> None:
        super().close()
        self.opened = False


class StreamingDevice(AnyDevice):
    """With streams and copies of rows, as HIP has them."""

    def use_stream(self, stream: int) -> None:
        self.streams.append(stream)

    def copy_rows(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int
    ) -> None:
        for i in range(rows):
            row = ReferenceDevice.read(self, source + i * source_pitch, width)
            self.write(target + i * target_pitch, row)

"""Kernels described by JSON files in place of host libraries, for tests without the toolchain."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckrules.constraints.conv.device import reference
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.device.hostlib import Fill, HostLaunch, Info, Room
from ckrules.device.jobs import Job
from ckrules.kernels.families import family_of, problems_of

OPENER = "tests.device.descriptors:open_descriptor"

CONFIG: dict[str, Any] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc",
    "tile_m": 64, "tile_n": 32, "tile_k": 32, "wave_m": 2, "wave_n": 1, "wave_k": 1,
    "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "compv3",
    "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8,
    "two_stage": False,
}  # fmt: skip


class DescribedKernel:
    """Refuses channels that the vectors do not divide, and plans like the generated libraries."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        variant, any_problem = config["variant"], parse("N=1,C=1,K=1,H=1,W=1,Y=1,X=1")
        tensors = problems_of(variant).tensors(any_problem, config).all
        self.info = Info(
            name, "2025.11", config["arch"], family_of(variant).name, variant, config, 64, 128,
            8192, (f"{name}__hot",), {t.name: t.direction for t in tensors},
            config.get("streamk", "off") != "off",
        )  # fmt: skip

    def is_supported(self, problem: Convolution) -> bool:
        return self.reason(problem) is None

    def reason(self, problem: Convolution) -> str | None:
        config = self.info.config
        if problem.in_channels // problem.groups % config["vector_b"]:
            return "Conv C is not a multiple of vector load size for input image!"
        if problem.out_channels // problem.groups % config["vector_c"]:
            return "Conv K is not a multiple of vector store size for output image!"
        return None

    def _elements(self, problem: Convolution) -> int:
        channels = problem.in_channels * problem.out_channels // problem.groups
        return channels * math.prod(problem.filter)

    def workspace_bytes(self, problem: Convolution, room: Room | None = None) -> int:
        if self.info.needs_room:
            assert room is not None
            return 4096 * room.compute_units * room.blocks_per_cu
        return 4 * self._elements(problem) if self.info.config["two_stage"] else 0

    def plan(
        self,
        problem: Convolution,
        addresses: Sequence[int],
        workspace: int = 0,
        room: Room | None = None,
    ) -> Sequence[Fill | HostLaunch]:
        config, entry = self.info.config, self.info.entries[0]
        size = 4 if config["dtype"] == "fp32" else 2
        args = b"".join(p.to_bytes(8, "little") for p in addresses)
        image, weight, _ = addresses
        launch = HostLaunch(entry, (7, 1, 1), (128, 1, 1), args, 8192)
        if self.info.needs_room:
            assert room is not None
            blocks = room.compute_units * room.blocks_per_cu
            return [Fill(workspace, 4096 * blocks), replace(launch, grid=(blocks, 1, 1))]
        pixels = problem.batch * problem.in_channels * math.prod(problem.input)
        if config["variant"] == "bwd_data":
            return [Fill(image, size * pixels), launch]
        if config["variant"] == "bwd_weight" and config["two_stage"]:
            first = HostLaunch(entry, (7, 1, 1), (128, 1, 1), b"", 8192)
            return [Fill(workspace, 4 * self._elements(problem)), first, launch]
        if config["variant"] == "bwd_weight" and problem.split_k > 1:
            return [Fill(weight, size * self._elements(problem)), launch]
        return [launch]


def open_descriptor(folder: Path, name: str) -> tuple[DescribedKernel, bytes]:
    """What a worker calls to open a described kernel."""
    config = json.loads((folder / f"{name}.json").read_text())
    return DescribedKernel(name, config), b"code"


def open_without_reference(folder: Path, name: str) -> tuple[DescribedKernel, bytes]:
    """`open_descriptor`, and an end of the process when the reference is to be computed."""

    def compute(*_: object) -> type[Any]:
        os.abort()

    reference.precision = compute
    return open_descriptor(folder, name)


def described(folder: Path, name: str, problem: str, **changes: Any) -> Job:
    """A job on a described kernel."""
    (folder / f"{name}.json").write_text(json.dumps({**CONFIG, **changes}))
    return Job(folder, name, parse(problem), warmup=1, repeat=2, opener=OPENER)

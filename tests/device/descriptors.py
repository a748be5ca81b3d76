"""Kernels described by JSON files in place of host libraries, for tests without the toolchain."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckrules.build.hostlib import Buffers, ConvShape, Fill, Info, Launch, Room
from ckrules.device.jobs import Job
from ckrules.device.problem import parse

OPENER = "tests.device.descriptors:open_descriptor"

CONFIG: dict[str, Any] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc",
    "tile_m": 64, "tile_n": 32, "tile_k": 32, "wave_m": 2, "wave_n": 1, "wave_k": 1,
    "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "compv3",
    "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8, "two_stage": False,
}  # fmt: skip


class DescribedKernel:
    """Refuses channels that the vectors do not divide, and plans like the generated libraries."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.info = Info(
            name, "2025.11", config["arch"], config["variant"], config, config["ndim"], 64, 128,
            8192, (f"{name}__hot",), config.get("streamk", "off") != "off",
        )  # fmt: skip

    def is_supported(self, shape: ConvShape) -> bool:
        return self.reason(shape) is None

    def reason(self, shape: ConvShape) -> str | None:
        config = self.info.config
        if shape.in_channels % config["vector_b"]:
            return "Conv C is not a multiple of vector load size for input image!"
        if shape.out_channels % config["vector_c"]:
            return "Conv K is not a multiple of vector store size for output image!"
        return None

    def _elements(self, shape: ConvShape) -> int:
        channels = shape.groups * shape.in_channels
        return channels * shape.out_channels * math.prod(shape.filter)

    def workspace_bytes(self, shape: ConvShape, room: Room | None = None) -> int:
        if self.info.needs_room:
            assert room is not None
            return 4096 * room.compute_units * room.blocks_per_cu
        return 4 * self._elements(shape) if self.info.config["two_stage"] else 0

    def plan(
        self, shape: ConvShape, buffers: Buffers, room: Room | None = None
    ) -> Sequence[Fill | Launch]:
        config, entry = self.info.config, self.info.entries[0]
        size = 4 if config["dtype"] == "fp32" else 2
        places = (buffers.input, buffers.weight, buffers.output)
        args = b"".join(p.to_bytes(8, "little") for p in places)
        launch = Launch(entry, (7, 1, 1), (128, 1, 1), args, 8192)
        if self.info.needs_room:
            assert room is not None
            blocks = room.compute_units * room.blocks_per_cu
            return [Fill(buffers.workspace, 4096 * blocks), replace(launch, grid=(blocks, 1, 1))]
        image = shape.batch * shape.groups * shape.in_channels * math.prod(shape.input)
        if config["variant"] == "bwd_data":
            return [Fill(buffers.input, size * image), launch]
        if config["variant"] == "bwd_weight" and config["two_stage"]:
            first = Launch(entry, (7, 1, 1), (128, 1, 1), b"", 8192)
            return [Fill(buffers.workspace, 4 * self._elements(shape)), first, launch]
        if config["variant"] == "bwd_weight" and shape.k_batch > 1:
            return [Fill(buffers.weight, size * self._elements(shape)), launch]
        return [launch]


def open_descriptor(folder: Path, name: str) -> tuple[DescribedKernel, bytes]:
    """What a worker calls to open a described kernel."""
    config = json.loads((folder / f"{name}.json").read_text())
    return DescribedKernel(name, config), b"code"


def described(folder: Path, name: str, problem: str, **changes: Any) -> Job:
    """A job on a described kernel."""
    (folder / f"{name}.json").write_text(json.dumps({**CONFIG, **changes}))
    return Job(folder, name, parse(problem), warmup=1, repeat=2, opener=OPENER)

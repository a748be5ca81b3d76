"""The typed model between a configuration and the templates: one `Kernel` for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ckrules.codegen import words
from ckrules.codegen.variants import Entry, entries, prefetch_stages
from ckrules.codegen.words import Direction, Pipeline
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import Value

_SIZES = {"fp16": 2, "bf16": 2, "fp32": 4}


@dataclass(frozen=True, slots=True)
class Resources:
    """What the rule book says of a kernel; None where it cannot."""

    lds_bytes: int | None
    wave_size: int
    adds_atomically: bool = True
    """Whether results can be added to memory, as split-K needs."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as templates see it."""

    name: str  # ex) grouped_conv_fwd_fp16_nhwgc_2d_compv3_…
    ck: str  # ex) 2025.11
    point: Mapping[str, Value]
    resources: Resources
    direction: Direction
    pipeline: Pipeline | None  # None: depthwise
    entries: tuple[Entry, ...]
    stages: int  # prefetch stages of the mem pipeline

    @property
    def config(self) -> str:
        """The configuration as one line of JSON, as ``ckrules check`` reads it."""
        return json.dumps(dict(self.point), ensure_ascii=True)

    @property
    def arch(self) -> str:
        """The GPU."""
        return str(self.point["arch"])

    @property
    def generation(self) -> int:
        """The GPU's major number, as HIP tells it: 9 for gfx942, 12 for gfx1201."""
        return int(self.arch.removeprefix("gfx")[:-2])

    @property
    def dtype(self) -> str:
        """The type of input, weight and output."""
        return str(self.point["dtype"])

    @property
    def element(self) -> str:
        """The C++ type of input, weight and output."""
        return words.ELEMENTS[self.dtype]

    @property
    def ndim(self) -> int:
        """Spatial dimensions."""
        return int(self.point["ndim"])

    @property
    def layouts(self) -> tuple[str, str, str]:
        """Input, weight and output layout."""
        return words.LAYOUTS[self.ndim]

    @property
    def depthwise(self) -> bool:
        """True for a depthwise kernel, which is no GEMM."""
        return self.pipeline is None

    @property
    def tile(self) -> tuple[Value, ...]:
        """The block tile along M, N and K."""
        return self._triple("tile")

    @property
    def waves(self) -> tuple[Value, ...]:
        """The waves of a block along M, N and K."""
        return self._triple("wave")

    @property
    def warp_tile(self) -> tuple[Value, ...]:
        """The MFMA or WMMA tile."""
        return self._triple("warp_tile")

    def _triple(self, stem: str) -> tuple[Value, ...]:
        return tuple(self.point[f"{stem}_{d}"] for d in "mnk")

    @property
    def specialization(self) -> str:
        """The enumerator of ConvolutionSpecialization."""
        return words.SPECIALIZATIONS[str(self.point["specialization"])]

    @property
    def scheduler(self) -> str:
        """The enumerator of GemmPipelineScheduler."""
        return words.SCHEDULERS[str(self.point["scheduler"])]

    @property
    def epilogue(self) -> str:
        """The enumerator of the dispatcher's Epilogue."""
        return words.EPILOGUES[str(self.point["epilogue"])]

    @property
    def reduction(self) -> str | None:
        """The enumerator of StreamKReductionStrategy; None without stream-K."""
        return words.REDUCTIONS.get(str(self.point.get("streamk")))

    @property
    def two_stage(self) -> bool:
        """Whether a second kernel converts an fp32 workspace into the result."""
        return bool(self.point.get("two_stage", False))

    @property
    def splits_k(self) -> bool:
        """Whether there is an instantiation for sums that are split into parts."""
        return any(e.operation != "set" for e in self.entries)

    @property
    def blocks_per_cu(self) -> int:
        """The second launch bound."""
        return words.blocks_per_cu(
            str(self.point["pipeline"]), bool(self.point["double_smem_buffer"])
        )

    @property
    def load_waves(self) -> int:
        """Waves that only load."""
        return words.WAVELET_LOAD_WAVES if self.point.get("pipeline") == "wavelet" else 0


def kernel(point: Mapping[str, Value], name: str, ck: str, resources: Resources) -> Kernel:
    """The model of a point for one CK release.

    Raises:
        UsageError: For a release, or an operator of it, that there are no templates for.
    """
    if ck not in words.PIPELINES:
        raise unknown("CK release with templates", ck, words.PIPELINES)
    variant = str(point["variant"])
    pipeline, stages = None, 2
    if variant != "forward_depthwise":
        pipeline = words.PIPELINES[ck][str(point["pipeline"])]
        stages = prefetch_stages(point, _SIZES[str(point["dtype"])])
    elif ck == "2025.11":
        raise UsageError(f"CK {ck} has no depthwise kernels")
    return Kernel(
        name=name,
        ck=ck,
        point=point,
        resources=resources,
        direction=words.DIRECTIONS[variant],
        pipeline=pipeline,
        entries=entries(ck, point, stages, resources.adds_atomically),
        stages=stages,
    )

"""What the templates of grouped convolutions see as ``k``."""

from __future__ import annotations

from dataclasses import dataclass

from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.conv.cpp_names import ConvPipelineName, Direction
from ckrules.codegen.entries import TemplateEntry
from ckrules.codegen.model import KernelModel
from ckrules.codegen.tile_gemm import TileGemmModel


@dataclass(frozen=True, slots=True)
class GroupedConvModel(KernelModel):
    """What convolution and depthwise kernels share: all that units and the dispatcher ask."""

    direction: Direction
    entries: tuple[TemplateEntry, ...]

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
    def registered(self) -> bool:
        """Whether the dispatcher can run it: its backend has two and three dimensions."""
        return self.ndim > 1

    @property
    def layouts(self) -> tuple[str, ...]:
        """Input, weight and output layout; none where the kernel takes no types for them."""
        return ()

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

    def entry_class(self, entry: TemplateEntry) -> str:
        """The kernel class behind an entry, inside the kernel's namespace."""
        return f"Variant<{entry.cpp}>::Kernel" if self.ck == "2025.11" else "Reference"


@dataclass(frozen=True, slots=True)
class ConvModel(GroupedConvModel, TileGemmModel):
    """A convolution that is computed as a GEMM."""

    pipeline: ConvPipelineName

    @property
    def layouts(self) -> tuple[str, ...]:
        """Input, weight and output layout."""
        return words.LAYOUTS[str(self.point["layout"])]

    @property
    def specialization(self) -> str:
        """The enumerator of ConvolutionSpecialization."""
        return words.SPECIALIZATIONS[str(self.point["specialization"])]

    @property
    def scheduler(self) -> str:
        """The enumerator of GemmPipelineScheduler."""
        return words.SCHEDULERS[str(self.point["scheduler"])]

    @property
    def problem_scheduler(self) -> str:
        """The enumerator of GemmPipelineScheduler that makes the pipeline compute right."""
        pipeline, scheduler = str(self.point["pipeline"]), str(self.point["scheduler"])
        return words.problem_scheduler(self.ck, pipeline, scheduler)

    @property
    def key_specialization(self) -> str:
        """The specialization in the dispatcher's key, with what the key has no field for.

        The registry keeps one kernel of those whose keys are equal.
        """
        p = self.point
        marks = ("two_stage", "explicit_gemm", "double_smem_buffer")
        pads = "".join(str(int(bool(p[f"pad_{d}"]))) for d in "mnk")
        return "_".join([
            str(p["specialization"]), *(m for m in marks if p[m]),
            *([f"pad{pads}"] if pads != "111" else []),
        ])  # fmt: skip

    @property
    def blocks_per_cu(self) -> int:
        """The second launch bound."""
        return int(self.resources["launch_blocks"])

    @property
    def load_waves(self) -> int:
        """Waves that only load."""
        known = self.resources
        return int(known["launch_threads"] - known["threads"]) // int(known["wave_size"])

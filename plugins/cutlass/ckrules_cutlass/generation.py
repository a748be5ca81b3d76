"""How kernels become CUDA C++: one unit a kernel, which has the kernel and its host library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.model import KernelModel
from ckrules.kernels.parts import Point
from ckrules_cutlass.words import AUTO, NONE, OPERANDS, SCHEDULES, TYPES

HEADER = "ckrules_cutlass.h"
_LAYOUTS = {"t": "RowMajor", "n": "ColumnMajor"}
_GEMM, _EPILOGUE = "cutlass::gemm", "cutlass::epilogue"


class CutlassModel(KernelModel):
    """A kernel as the template sees it."""

    def _word(self, field: str) -> str:
        return str(self.point[field])

    @property
    def element_ab(self) -> str:
        """The C++ type of A and B."""
        return TYPES[OPERANDS[self._word("dtype")][1]][2]

    @property
    def element_c(self) -> str:
        """The C++ type of C; void where none is read."""
        return "void" if self._word("c_dtype") == NONE else TYPES[self._word("c_dtype")][2]

    @property
    def element_d(self) -> str:
        """The C++ type of D."""
        return TYPES[self._word("d_dtype")][2]

    @property
    def accumulator(self) -> str:
        """The C++ type of the sums."""
        return TYPES[self._word("acc")][2]

    @property
    def compute(self) -> str:
        """The C++ type in which C is added: that of the sums, but fp32 for int8 results."""
        whole = self._word("acc") == "int32" and self._word("d_dtype") != "int32"
        return "float" if whole else self.accumulator

    @property
    def layout_a(self) -> str:
        """CUTLASS's tag of A's layout."""
        return _LAYOUTS[self._word("layout")[0]]

    @property
    def layout_b(self) -> str:
        """CUTLASS's tag of B's layout."""
        return _LAYOUTS[self._word("layout")[1]]

    @property
    def layout_c(self) -> str:
        """CUTLASS's tag of the layout of C and D."""
        return _LAYOUTS[self._word("layout")[2]]

    def _aligned(self, dtype: str) -> int:
        """Elements of 16 bytes; one where the epilogue needs no alignment."""
        return 16 // TYPES[dtype][1] if self._word("epilogue") == "tma" else 1

    @property
    def align_c(self) -> int:
        """Elements to which C is aligned."""
        own = self._word("c_dtype")
        return self._aligned(self._word("d_dtype") if own == NONE else own)

    @property
    def align_d(self) -> int:
        """Elements to which D is aligned."""
        return self._aligned(self._word("d_dtype"))

    @property
    def _cooperates(self) -> bool:
        chosen = self._word("schedule")
        return chosen == "cooperative" or (chosen == AUTO and self.point["tile_m"] != 64)

    @property
    def epilogue_tile(self) -> str:
        """CUTLASS's tag or the shape of the epilogue's tile."""
        if not self.point["epilogue_n"]:
            return f"{_EPILOGUE}::collective::EpilogueTileAuto"
        rows = 128 if self._cooperates else 64
        return f"cute::Shape<cute::Int<{rows}>, cute::Int<{self.point['epilogue_n']}>>"

    @property
    def epilogue_schedule(self) -> str:
        """CUTLASS's tag of the epilogue."""
        if self._word("epilogue") == AUTO:
            return f"{_EPILOGUE}::collective::EpilogueScheduleAuto"
        if self._word("epilogue") == "nosmem":
            return f"{_EPILOGUE}::NoSmemWarpSpecialized"
        tail = "Cooperative" if self._cooperates else ""
        return f"{_EPILOGUE}::TmaWarpSpecialized{tail}"

    @property
    def kernel_schedule(self) -> str:
        """CUTLASS's tag of the mainloop."""
        if self._word("schedule") == AUTO:
            return f"{_GEMM}::collective::KernelScheduleAuto"
        tail = "FP8FastAccum" if self.point["fast_accum"] else ""
        return f"{_GEMM}::{SCHEDULES[self._word('schedule')][1]}{tail}"

    @property
    def stage_count(self) -> str:
        """CUTLASS's tag of the stages."""
        if self.point["stages"]:
            return f"{_GEMM}::collective::StageCount<{self.point['stages']}>"
        size = "static_cast<int>(sizeof(typename Epilogue::SharedStorage))"
        return f"{_GEMM}::collective::StageCountAutoCarveout<{size}>"

    @property
    def streams(self) -> bool:
        """Blocks share the K steps of tiles."""
        return self._word("tile_scheduler") == "stream_k"

    @property
    def tile_scheduler(self) -> str:
        """CUTLASS's tag of the tile scheduler."""
        return f"{_GEMM}::{'StreamK' if self.streams else 'Persistent'}Scheduler"


class CutlassGeneration:
    """A unit for each kernel, and the header that they share."""

    templates = (Path(__file__).parent / "templates",)
    quantities = ("shared_bytes", "stage_count", "threads")
    headers = (HEADER,)
    runtime = ()
    library = "cutlass"
    opener = "ckrules_cutlass.built:open_kernel"
    build_command = "python -m ckrules_cutlass.build FOLDER"
    builder = "ckrules_cutlass.build:BUILDER"

    def kernel(
        self, point: Point, name: str, ck: str, quantities: Mapping[str, Any]
    ) -> CutlassModel:
        """The model."""
        return CutlassModel(name, ck, point, quantities)

    def files(self, kernel: CutlassModel) -> Iterator[tuple[str, str]]:
        """One unit."""
        yield f"{kernel.name}.cu", "kernel.cu.j2"

    def covers(
        self, kernels: Sequence[CutlassModel]
    ) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The header."""
        yield HEADER, "ckrules_cutlass.h.j2", {}

    def probe(self, ck: str) -> str | None:
        """Nothing asks the compiler but the build."""
        return None

    def probe_values(self, point: Point) -> Mapping[str, Any]:
        """There is no probe."""
        return {}


GENERATION = CutlassGeneration()

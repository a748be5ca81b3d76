"""How GEMMs become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.ck_options import REGISTERS_READ_EARLY, CkOption, stores_products
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm import probe
from ckrules.codegen.gemm.model import GemmModel, entries
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class GemmGeneration:
    """GEMM kernels, written against CK 2025.11."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime = ("ckrules_gemm.h", "ckrules_gemm.hpp")
    library = "gemm"
    headers = ("{name}.hpp",)
    template = "gemm_2025_11.hpp.j2"
    """The header of a kernel."""
    device = "gemm_device.cpp.j2"
    """The unit of its device code."""
    unit = "gemm_unit.cpp.j2"
    """The unit of its launcher."""
    probed = probe.TEMPLATE
    """The question to the compiler."""
    probe_values = staticmethod(probe.values)
    pipelines: Mapping[str, words.GemmPipelineName] = words.PIPELINES
    """The classes of pipelines by their words."""
    quantities: Sequence[str] = (
        *("lds_bytes", "wave_size", "threads", "launch_threads", "mem_stages", "splits_k"),
    )

    def kernel(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> GemmModel:
        """The model of a point.

        Raises:
            UsageError: For a release that there are no templates for, or words without C++.
        """
        if ck != probe.CK:
            raise UsageError(f"there are templates of GEMMs for CK {probe.CK} only, not for {ck}")
        for key, known in (("pipeline", self.pipelines), ("epilogue", words.EPILOGUES)):
            if point[key] not in known:
                raise UsageError(f"CK {ck} has no {key} {point[key]} for GEMMs")
        return self.model(point, name, ck, quantities)

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> GemmModel:
        """The model of a point whose words there is C++ for."""
        found = entries(point, int(quantities["mem_stages"] or 2), bool(quantities["splits_k"]))
        return GemmModel(
            name, ck, point, quantities, found, words.PIPELINES[str(point["pipeline"])]
        )

    def build_options(self, point: Mapping[str, Any]) -> Sequence[CkOption]:
        """The hot loop of pre-shuffled weights is scheduled wrong before LLVM 20."""
        early = (REGISTERS_READ_EARLY,) if point.get("pipeline") == "preshufflev2" else ()
        return (*early, *stores_products(point))

    def files(self, kernel: GemmModel) -> Iterator[tuple[str, str]]:
        """Header and units of a kernel."""
        yield f"{kernel.name}.hpp", self.template
        yield f"{kernel.name}.cpp", self.unit
        yield f"{kernel.name}.device.cpp", self.device
        yield f"{kernel.name}.host.cpp", "gemm_host.cpp.j2"

    def covers(self, kernels: Sequence[GemmModel]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The header that includes every kernel."""
        header = f"include_all_{self.library}_kernels.hpp"
        yield header, "include_all.hpp.j2", {"kernels": kernels, "kind": "GEMM"}

    def probe(self, ck: str) -> str | None:
        """The release whose headers can be had."""
        return self.probed if ck == probe.CK else None


GENERATION = GemmGeneration()

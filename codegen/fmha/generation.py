"""How attention becomes C++: the files of a kernel forward, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.fmha import probe
from ckrules.codegen.fmha.model import AttentionModel
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"

BUILT = ("fmha_fwd",)
"""The variants that can be built; the others are asked of the compiler only."""


class AttentionGeneration:
    """Kernels of attention forward, written against CK 2025.11."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime: tuple[str, ...] = ("ckrules_attention.h",)
    library = "fmha"
    headers: tuple[str, ...] = ("{name}.hpp",)
    quantities: tuple[str, ...] = ("lds_bytes", "wave_size")

    def kernel(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> AttentionModel:
        """The model of a point.

        Raises:
            UsageError: For a release or a kernel that there are no templates for.
        """
        if ck != probe.CK:
            raise UsageError(
                f"there are templates of attention for CK {probe.CK} only, not for {ck}"
            )
        if point["variant"] not in BUILT:
            raise UsageError(
                f"{point['variant']} kernels cannot be generated: "
                "there is no C++ for them but what `ckrules certify` asks the compiler with"
            )
        return AttentionModel(name, ck, point, quantities, probe.words_of(point))

    def files(self, kernel: AttentionModel) -> Iterator[tuple[str, str]]:
        """Header and units of a kernel."""
        yield f"{kernel.name}.hpp", "fmha_2025_11.hpp.j2"
        yield f"{kernel.name}.cpp", "fmha_unit.cpp.j2"
        yield f"{kernel.name}.device.cpp", "fmha_device.cpp.j2"
        yield f"{kernel.name}.host.cpp", "fmha_host.cpp.j2"

    def covers(
        self, kernels: Sequence[AttentionModel]
    ) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The header that includes every kernel."""
        yield "include_all_fmha_kernels.hpp", "fmha_include_all.hpp.j2", {"kernels": kernels}

    def probe(self, ck: str) -> str | None:
        """The template for the release whose headers can be had."""
        return probe.TEMPLATE if ck == probe.CK else None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The words of a point as the probe takes them."""
        return {"w": probe.words_of(point)}


GENERATION = AttentionGeneration()

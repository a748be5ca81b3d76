"""How attention becomes C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ckrules.codegen.ck_options import REGISTERS_READ_EARLY, CkOption, has_wmma
from ckrules.codegen.fmha import probe
from ckrules.codegen.fmha.model import AttentionModel
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class AttentionGeneration:
    """Kernels of attention, written against CK 2025.11; others than forward derive from it."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime: tuple[str, ...] = ("ckrules_attention.h",)
    library = "fmha"
    headers: tuple[str, ...] = ("{name}.hpp",)
    quantities: tuple[str, ...] = ("lds_bytes", "wave_size")
    model: ClassVar[type[AttentionModel]] = AttentionModel
    words = staticmethod(probe.words_of)
    """The C++ words of a point."""

    def why_not(self, point: Mapping[str, Value]) -> str:
        """Why a kernel cannot be built; empty: it can."""
        paged, variant = point["paged_kv"], point["variant"]
        if paged and variant == "fmha_fwd":
            return "K and V lie in pages"
        if paged and point["v_layout"] == "col":
            return "columns of V lie in pages"
        return ""

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
        if why := self.why_not(point):
            raise UsageError(
                f"{point['variant']} cannot be generated ({why}): "
                "there is no C++ for it but what `ckrules certify` asks the compiler with"
            )
        return self.model(name, ck, point, quantities, self.words(point))

    def build_options(self, point: Mapping[str, Any]) -> tuple[CkOption, ...]:
        """The compiler options that a kernel needs beside those of CK.

        Those of kernels over pages, and of qr that holds heads of 256 on waves of 64 lanes: of all
        its kernels these alone have ``sched_group_barrier``, and some are scheduled wrong.

        >>> [o.text for o in GENERATION.build_options({"pipeline": "qr_pagedkv"})]
        ['-mllvm -enable-misched=0']
        >>> point = {"variant": "fmha_fwd", "pipeline": "qr", "tile_k0max": 256}
        >>> [len(GENERATION.build_options({**point, "arch": a})) for a in ("gfx942", "gfx1201")]
        [1, 0]
        """
        marked = (
            (point.get("variant"), point.get("pipeline")) == ("fmha_fwd", "qr")
            and point["tile_k0max"] == 256
            and not has_wmma(str(point["arch"]))
        )
        early = marked or point.get("pipeline") == "qr_pagedkv"
        return (REGISTERS_READ_EARLY,) if early else ()

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
        values = {"kernels": kernels, "kind": "attention"}
        yield "include_all_fmha_kernels.hpp", "include_all.hpp.j2", values

    def probe(self, ck: str) -> str | None:
        """The template for the release whose headers can be had."""
        return probe.TEMPLATE if ck == probe.CK else None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The words of a point as the probe takes them."""
        return {"w": self.words(point)}


GENERATION = AttentionGeneration()

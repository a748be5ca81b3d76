"""How attention becomes C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ckrules.codegen.ck_options import REGISTERS_READ_EARLY, CkOption, has_wmma
from ckrules.codegen.fmha import cpp_names as words
from ckrules.codegen.fmha.model import AttentionModel
from ckrules.codegen.probing import Point, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha.vocabulary import PADS, TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha.words import LISTED
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

CK = "2025.11"

_COMMON = ("logits", "lse", "squant")
#: The switches that the template takes of each kernel. Forward lacks one of those that FMHA013 is
#: about, so that certification keeps to that rule: a trait that a kernel lacks has no C++.
_SWITCHES: Mapping[str, Sequence[str]] = {
    "fmha_fwd": (*_COMMON, "dropout", "skip", "trload"),
    "fmha_fwd_splitkv": (*_COMMON, "paged_kv"),
    "fmha_fwd_pagedkv": (*_COMMON, "skip", "paged_kv"),
    "fmha_batch_prefill": (*_COMMON, "dropout", "skip", "trload"),
}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field, or has sinks or pages of batch prefill.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    for name, usual in {"sink": False, **LISTED}.items():
        if (value := point.get(name, usual)) != usual:
            raise UsageError(f"there is no C++ for {name} = {value}, which CK {CK} lacks")
    variant, kernel = text(point, "variant"), pick(point, "variant", words.KERNELS)
    return {
        "types_template": "fmha_types.hpp.j2",
        "variant": variant,
        "types": pick(point, "dtype", words.TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "row_major": cpp(pick(point, "v_layout", words.ROW_MAJOR)),
        "pads": [cpp(truth(point, name)) for name in PADS],
        **{name: cpp(truth(point, name)) for name in _SWITCHES[variant]},
        "bias": pick(point, "bias", words.BIASES),
        "mask": pick(point, "mask", words.MASKS),
        "group_mode": cpp(pick(point, "mode", words.MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
        "pipeline": pick(point, "pipeline", words.PIPELINES[variant]),
        "kernel": kernel,
    }


TEMPLATES = Path(__file__).resolve().parent / "templates"


class AttentionGeneration:
    """Kernels of attention, written against CK 2025.11; others than forward derive from it."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime: tuple[str, ...] = ("ckrules_attention.h",)
    library = "fmha"
    headers: tuple[str, ...] = ("{name}.hpp",)
    quantities: tuple[str, ...] = ("lds_bytes", "wave_size")
    model: ClassVar[type[AttentionModel]] = AttentionModel
    words = staticmethod(words_of)
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
        if ck != CK:
            raise UsageError(f"there are templates of attention for CK {CK} only, not for {ck}")
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
        return "fmha_probe_2025_11.cpp.j2" if ck == CK else None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The words of a point as the probe takes them."""
        return {"w": self.words(point)}


GENERATION = AttentionGeneration()

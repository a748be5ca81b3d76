"""How grouped convolutions become C++: the files of a kernel, and those that cover a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.ck_options import CkOption, stores_products
from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.conv.model import ConvModel, GroupedConvModel
from ckrules.codegen.entries import MAIN, TemplateEntry, tails
from ckrules.codegen.probing import Point, geometry, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError, unknown


def entries(
    ck: str, point: Mapping[str, Value], stages: int, adds: bool
) -> tuple[TemplateEntry, ...]:
    """The entries of a kernel's device object, the most used first.

    Args:
        stages: Block tiles that the pipeline ``mem`` has under way (`mem_stages` of the rules).
        adds: Whether the kernel can add results to memory (`adds_atomically` of the rules); of
            CK 2025.11 only backward weight does, where a sum is split.
    """
    if ck != "2025.11":
        return (MAIN,)
    splits = adds and point["variant"] == "bwd_weight"
    operations = ("set", "atomic_add") if splits else ("set",)
    return tuple(
        TemplateEntry(f"{'hot' if hot else 'cold'}_{tail.lower()}_{op}", hot, tail, op)
        for op in operations
        for hot, tail in tails(str(point["pipeline"]), stages)
    )


CK = "2025.11"
"""The release that the template is written against."""


def _scheduler(point: Point) -> str:
    pick(point, "scheduler", words.SCHEDULERS)
    return words.problem_scheduler(CK, text(point, "pipeline"), text(point, "scheduler"))


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    element = pick(point, "dtype", words.ELEMENTS)
    direction = pick(point, "variant", words.DIRECTIONS)
    ndim = integer(point, "ndim")
    if ndim not in (1, 2, 3):
        raise UsageError(f"ndim is {ndim} where a convolution has 1, 2 or 3 spatial dimensions")
    pick(point, "epilogue", words.EPILOGUES)
    return {
        "elem": element,
        "stored": words.ELEMENTS["fp32"] if truth(point, "two_stage") else element,
        **geometry(point),
        "vectors": [integer(point, f"vector_{d}") for d in "abc"],
        "pads": [cpp(truth(point, f"pad_{d}")) for d in "mnk"],
        "ndim": ndim,
        "layouts": pick(point, "layout", words.LAYOUTS),
        "specialization": pick(point, "specialization", words.SPECIALIZATIONS),
        "groups": integer(point, "num_groups_to_merge"),
        "wave_groups": integer(point, "num_wave_groups"),
        "split_image": cpp(truth(point, "split_image")),
        "explicit_gemm": truth(point, "explicit_gemm"),
        "double_smem_buffer": cpp(truth(point, "double_smem_buffer")),
        "streamk": pick(point, "streamk", {"off": "", **words.REDUCTIONS}),
        "persistent": cpp(truth(point, "streamk_persistent")),
        "scheduler": _scheduler(point),
        "pipeline": pick(point, "pipeline", words.PIPELINES[CK]).cls,
        "epilogue": point["epilogue"],
        "kernel": direction.kernel,
        "direction": direction.short,
    }


TEMPLATES = Path(__file__).resolve().parent / "templates"


class GroupedConvGeneration:
    """What upstream calls grouped_conv: convolutions of every kind, with one dispatcher."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime = ("ckrules_conv.h", "ckrules_conv.hpp")
    library = "grouped_conv"
    headers = ("{name}.hpp",)

    def files(self, kernel: GroupedConvModel) -> Iterator[tuple[str, str]]:
        """Header, units and dispatcher wrapper of a kernel."""
        name = kernel.name
        yield f"{name}.hpp", f"kernel_{words.INTERFACES[kernel.ck]}.hpp.j2"
        yield f"{name}.cpp", "unit.cpp.j2"
        yield f"{name}.device.cpp", "device.cpp.j2"
        yield f"{name}.host.cpp", "host.cpp.j2"
        if kernel.registered:
            yield f"dispatcher_wrappers/dispatcher_wrapper_{name}.hpp", "dispatcher/wrapper.hpp.j2"

    def covers(
        self, kernels: Sequence[GroupedConvModel]
    ) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The headers that include every kernel of a direction, and that register all."""
        groups = [(d, [k for k in kernels if k.direction is d]) for d in words.DIRECTIONS.values()]
        for direction, members in groups:
            yield (
                f"include_all_grouped_conv_{direction.tag}_kernels.hpp",
                "dispatcher/include_all.hpp.j2",
                {"direction": direction, "kernels": members},
            )
        registration = "register_all_grouped_conv_kernels.hpp"
        registered = [(d, [k for k in members if k.registered]) for d, members in groups]
        yield (
            f"dispatcher_wrappers/{registration}",
            "dispatcher/register_all.hpp.j2",
            {"groups": registered, "count": sum(len(members) for _, members in registered)},
        )
        yield registration, "dispatcher/register_beside.hpp.j2", {}

    def build_options(self, point: Mapping[str, Any]) -> Sequence[CkOption]:
        """The compiler options that a kernel needs beside those of CK."""
        return stores_products(point)

    def probe(self, ck: str) -> str | None:
        """Nothing asks the compiler."""
        return None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """There is no probe."""
        return {}


class ConvGeneration(GroupedConvGeneration):
    """Convolutions that are computed as GEMMs."""

    quantities = (
        *("lds_bytes", "wave_size", "threads", "launch_threads"),
        *("adds_atomically", "mem_stages", "launch_blocks"),
    )
    probe_values = staticmethod(values)

    def kernel(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> ConvModel:
        """The model of a point for one CK release.

        Raises:
            UnknownNameError: For a release that there are no templates for.
        """
        if ck not in words.PIPELINES:
            raise unknown("CK release with templates", ck, words.PIPELINES)
        stages, adds = int(quantities["mem_stages"]), bool(quantities["adds_atomically"])
        return ConvModel(
            name=name,
            ck=ck,
            point=point,
            resources=quantities,
            direction=words.DIRECTIONS[str(point["variant"])],
            entries=entries(ck, point, stages, adds),
            pipeline=words.PIPELINES[ck][str(point["pipeline"])],
        )

    def probe(self, ck: str) -> str | None:
        """The release whose headers can be had."""
        return "probe_2025_11.cpp.j2" if ck == CK else None


GENERATION = ConvGeneration()

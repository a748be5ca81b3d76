"""How grouped convolutions become C++: the files of a kernel, and those that cover a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.ck_options import CkOption, stores_products
from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.conv import probe
from ckrules.codegen.conv.entries import entries
from ckrules.codegen.conv.model import ConvModel, GroupedConvModel
from ckrules.engine.expr import Value
from ckrules.support.errors import unknown

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
    probe_values = staticmethod(probe.values)

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
        return probe.TEMPLATE if ck == probe.CK else None


GENERATION = ConvGeneration()

"""How the kernels become C++: no CK in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.model import KernelModel
from ckrules.kernels.parts import Point


class Model(KernelModel):
    """A kernel as the templates see it."""

    @property
    def element(self) -> str:
        """The C++ type of the matrix."""
        return {"fp32": "float", "fp16": "_Float16"}[str(self.point["dtype"])]


class RowSumGeneration:
    """Three units for each kernel."""

    templates = (Path(__file__).parent / "templates",)
    quantities = ("lds_bytes", "wave_size")
    headers = ()
    runtime = ()
    library = "rowsum"

    def kernel(self, point: Point, name: str, ck: str, quantities: Mapping[str, Any]) -> Model:
        """The model."""
        return Model(name, ck, point, quantities)

    def files(self, kernel: Model) -> Iterator[tuple[str, str]]:
        """Units for a program, a code object and a host library."""
        yield f"{kernel.name}.cpp", "unit.cpp.j2"
        yield f"{kernel.name}.device.cpp", "unit.cpp.j2"
        yield f"{kernel.name}.host.cpp", "host.cpp.j2"

    def covers(self, kernels: Sequence[Model]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Nothing covers them."""
        return iter(())

    def probe(self, ck: str) -> str | None:
        """Nothing asks the compiler."""
        return None

    def probe_values(self, point: Point) -> Mapping[str, Any]:
        """There is no probe."""
        return {}


GENERATION = RowSumGeneration()

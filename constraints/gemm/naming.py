"""How GEMM kernels are called: the usual names, and those of tools, which are read as well."""

from __future__ import annotations

from ckrules.constraints.gemm import names
from ckrules.constraints.gemm.tool_names import BEGINNINGS, STYLES, of_text
from ckrules.constraints.tile_gemm.names import Names, Read
from ckrules.kernels.parts import ParsedName, Point


class GemmNames(Names):
    """The usual names of GEMMs."""

    prefix = "gemm_"
    beginnings = BEGINNINGS
    grammar = names.GRAMMAR
    spellings = ("pipeline",)
    styles = STYLES

    def other(self, text: str) -> Read | None:
        return of_text(text)

    def read(self, text: str) -> ParsedName:
        return names.parse(text)

    def write(self, point: Point) -> str:
        return names.write(point)


NAMING = GemmNames()

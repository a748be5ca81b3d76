"""How GEMM kernels are called: the usual names, and those of tools, which are read as well."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.gemm import names
from ckrules.constraints.gemm.tool_names import BEGINNINGS, STYLES, of_text
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import unknown


class GemmNames:
    """The usual names, which say every field but the GPU, and the reading of the others."""

    prefix = "gemm_"
    #: What names of tools begin with that do not begin as the usual ones.
    beginnings = BEGINNINGS

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`; names of tools are read as well."""
        other = of_text(text)
        return names.parse(text) if other is None else other.parse(text)

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt = dict(spelling or {})
        if style := spelt.pop("style", None):
            return STYLES[style].format(point)
        for key in spelt.keys() - {"pipeline"}:
            raise unknown("spelling", key, ("pipeline", "style"))
        return names.write(point)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        other = of_text(text)
        return names.GRAMMAR.span(text, name) if other is None else other.span(text, name)

    def without_defaults(self, text: str) -> str:
        """The text without ``_wg1`` and ``_kbpc1``."""
        return names.GRAMMAR.without_defaults(text) if of_text(text) is None else text

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """Nothing: upstream's lists spell values as everybody does."""
        return {}


NAMING = GemmNames()

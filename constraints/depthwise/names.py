"""Names of depthwise kernels, as upstream's generator of June 2026 writes them.

They are::

    grouped_conv_fwd_depthwise_{dtype}_{layout}_{ndim}d_{tile_h}x{tile_w}_f{filter}
        _s{stride_h}x{stride_w}_p{pad_h}x{pad_w}_nb{nbatch}_sub{h}x{w}_vec{in}_{out}
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.conv.names import layout_word, refuse_other_forms, start
from ckrules.constraints.depthwise.words import LAYOUTS
from ckrules.kernels.name_grammar import Grammar, literal, number, numbers
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError, unknown

NUMBERS = (
    "tile_h", "tile_w", "filter", "stride_h", "stride_w", "pad_h", "pad_w", "nbatch",
    "sub_h", "sub_w", "in_vec", "out_vec",
)  # fmt: skip
"""The numbers of a kernel in the order in which names and lines write them."""


def _disagree(text: str, begins: Mapping[str, int]) -> tuple[int, str] | None:
    at = begins["ndim"]
    if int(text[at]) in LAYOUTS:
        return None
    return at, f"ndim ({', '.join(f'{n}d' for n in LAYOUTS)})"


GRAMMAR = Grammar(
    (
        *start({"fwd_depthwise": "forward_depthwise"}, LAYOUTS.values()),
        *numbers(("tile_h", "tile_w"), "x"), literal("_f"), number("filter"),
        literal("_s"), *numbers(("stride_h", "stride_w"), "x"),
        literal("_p"), *numbers(("pad_h", "pad_w"), "x", low=0),
        literal("_nb"), number("nbatch"), literal("_sub"), *numbers(("sub_h", "sub_w"), "x"),
        literal("_vec"), *numbers(("in_vec", "out_vec"), "_"),
    ),
    ahead={"layout": [f"{word}_{n}d" for n, word in LAYOUTS.items()]},
    disagree=_disagree,
    refuse=refuse_other_forms,
)  # fmt: skip


class DepthwiseNames:
    """The names of depthwise kernels, which have one spelling."""

    prefix = "grouped_conv_fwd_depthwise"

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`."""
        return ParsedName(GRAMMAR.parse(text)[0])

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt = dict(spelling or {})
        if "pipeline" in spelt:
            raise UsageError("a depthwise kernel has no pipeline to spell")
        for key in spelt.keys() - {"layout"}:
            raise unknown("spelling", key, ("layout",))
        if "layout" not in point:
            raise UsageError("a configuration without 'layout' has no name")
        layout = layout_word(point, LAYOUTS, spelt.get("layout"))
        return GRAMMAR.format({**point, "layout": layout})

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field; of the dimensions the digit alone."""
        found = GRAMMAR.span(text, name)
        return (found[0], found[0] + 1) if found and name == "ndim" else found

    def without_defaults(self, text: str) -> str:
        """The text: a depthwise name has no suffixes."""
        return text

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """Nothing: upstream's lists spell these kernels as everybody does."""
        return {}


NAMING = DepthwiseNames()

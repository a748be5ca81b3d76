"""Grouped convolution: the three directions that are computed as GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.constraints.conv.words import LAYOUTS, PIPELINE_ALIASES, SYNONYMS, UPSTREAM_LAYOUT
from ckrules.constraints.tile_gemm import TOPICS
from ckrules.constraints.tile_gemm.tile_gemm_family import TileGemmFamily
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import RuleDef
    from ckrules.kernels.parts import Point


class GroupedConvolution(TileGemmFamily):
    """Forward, backward data and backward weight."""

    name = "conv"
    title = "grouped_conv"
    variants = ("forward", "bwd_data", "bwd_weight")
    since = "2025.11"
    rank = 0
    topics = {  # noqa: RUF012 - a constant of the class
        "OP": "operator features: layouts, padding, group merging, explicit GEMM, split image",
        **{k: text for k, text in TOPICS.items() if k != "HW"},
        "SK": "stream-K",
        "HW": TOPICS["HW"],
        "PROB": "problems that a kernel accepts (`ckrules check --problem`)",
        "DISP": "upstream's dispatcher filter (profile dispatcher)",
        "BLDR": "upstream's instance builder (profile builder)",
        "CAT": "membership of a catalog (`ckrules catalogs`)",
    }
    profiles = {  # noqa: RUF012
        **Family.profiles,
        "dispatcher": "what upstream's dispatcher filter of June 2026 lets through to its generator",
        "builder": "what upstream's instance builder of June 2026 accepts",
    }
    aliases = {"pipeline": PIPELINE_ALIASES}  # noqa: RUF012
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "readers": "ckrules.constraints.conv.readers:TABLES",
        "naming": "ckrules.constraints.conv.names:NAMING",
        "problems": "ckrules.constraints.conv.problems:ConvProblems",
        "generation": "ckrules.codegen.conv.generation:GENERATION",
        "walk": "ckrules.constraints.conv.catalog_walk:WALK",
        "timing": "ckrules.constraints.conv.device.timing:TIMING",
        "padding": "ckrules.constraints.conv.device.padding:ConvPadding",
        "library": "ckrules.constraints.conv.library:ConvLibrary",
    }

    def rules(self) -> list[RuleDef]:
        import tomllib

        from ckrules.constraints import conv, tile_gemm
        from ckrules.engine.rules import Examples
        from ckrules.engine.rules.book import collect

        text = Path(__file__).with_name("examples.toml").read_text(encoding="utf-8")
        more = {code: Examples(**said) for code, said in tomllib.loads(text).items()}
        return collect(tile_gemm, conv, examples=more)

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.conv.vocabulary import DEFAULTS

        layout = LAYOUTS.get(ndim) if isinstance(ndim, int) else None
        return {**DEFAULTS, **({"layout": layout} if layout else {})}

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """Also takes upstream's word for the layout of any number of dimensions."""
        super().complete(full, spelling)
        ndim, layout = full.get("ndim"), full.get("layout")
        if type(ndim) is not int or ndim not in LAYOUTS:
            return
        if layout is None:
            full.setdefault("layout", LAYOUTS[ndim])
        elif ndim != 2 and layout in (LAYOUTS[ndim], UPSTREAM_LAYOUT):
            full["layout"], spelling["layout"] = LAYOUTS[ndim], layout

    def widen(self, bound: dict[str, tuple[Value, ...]]) -> None:
        """Reads ``nhwgc`` beside other dimensions than two as upstream does: channels last."""
        dims, layouts = bound.get("ndim", ()), bound.get("layout", ())
        if UPSTREAM_LAYOUT in layouts and dims and 2 not in dims:
            meant = [LAYOUTS[d] for d in LAYOUTS if d in dims]
            bound["layout"] = tuple(dict.fromkeys([*layouts, *meant]))

    def short_name(self, point: Point) -> str:
        from ckrules.constraints.conv.names import short_name

        return short_name(point)


FAMILY = GroupedConvolution()

"""A plain GEMM as a family of the shared rules: layouts of A and B are fields, widths computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.arch import load, of_release
from ckrules.constraints import tile_gemm
from ckrules.constraints.tile_gemm import fields as shared
from ckrules.constraints.tile_gemm.facts import facts
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import BoolExpr, EnumExpr, IntExpr, minimum
from ckrules.engine.expr.variables import Enum, Role
from ckrules.engine.rules import Examples
from ckrules.engine.rules.book import RuleBook, collect, quantity

ARCHS = ("gfx942", "gfx950", "gfx1201")
TYPES = {d: (d, d, "fp32") for d in ("fp16", "bf16", "fp32")}
BASELINE: Mapping[str, Any] = {
    "layout_a": "row", "layout_b": "column", "arch": "gfx942", "dtype": "fp16",
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16,
    "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "double_smem_buffer": False, "num_wave_groups": 1,
}  # fmt: skip


class PlainGemm(TileGemm):
    """C = A B with the layouts of A and B as fields; C is row-major."""

    layout_a: EnumExpr
    layout_b: EnumExpr

    @property
    def a_transposed(self) -> BoolExpr:
        return self.layout_a == "column"

    @property
    def b_transposed(self) -> BoolExpr:
        return self.layout_b == "row"

    @quantity
    def vector_a(self) -> IntExpr:
        """Elements of A that a thread loads at once."""
        return self.computed_vector_a

    @quantity
    def vector_b(self) -> IntExpr:
        """Elements of B that a thread loads at once."""
        return self.computed_vector_b

    @quantity
    def vector_c(self) -> IntExpr:
        """Elements of C that a thread stores at once."""
        return minimum(self.warp_tile_n * self.wave_n, 16 // self.output_bytes)


#: Rules that computed widths always meet: these divide the tile and a thread's share of it.
ALWAYS_MET = {
    "2025.11": {"VEC001", "VEC006", "VEC008", "EPI008", "EPI012"},
    "2026.06": {"VEC001", "VEC008", "PIPE006", "PIPE020", "EPI001", "EPI008", "EPI010", "EPI012"},
}
TURNED = {"layout_a": "column", "layout_b": "row"}
_ASYNC = {"arch": "gfx950", "pipeline": "basic_async_v1"}


def _widths(*rejects: Mapping[str, Any], accepts: Mapping[str, Any] | None = None) -> Examples:
    """In place of examples that set a width, which is not a field here."""
    return Examples([accepts or {}], rejects, instead=True)


EXAMPLES: Mapping[str, Examples] = {
    "EPI001": _widths({"warp_tile_m": 4, "warp_tile_n": 4}),
    "EPI003": _widths({"wave_n": 3, "warp_tile_n": 4}),
    "EPI005": _widths({"wave_n": 3}),
    "EPI006": _widths(
        {"@ck": "2025.11", "tile_m": 192, "warp_tile_n": 4},
        {"@ck": "2026.06", "wave_m": 1, "wave_n": 1, "num_wave_groups": 2},
    ),
    "EPI007": _widths({"arch": "gfx1201", "dtype": "fp32", "warp_tile_n": 64, "wave_n": 3}),
    "PIPE010": _widths({**_ASYNC, "tile_m": 16, "tile_k": 16}, accepts=_ASYNC),
    "VEC004": _widths({"wave_n": 3}),
    "PIPE013": Examples(rejects=[{"pipeline": "basic_v1", "layout_b": "row"}]),
    "WAVE004": Examples(
        rejects=[
            {
                "layout_b": "row",
                "num_wave_groups": 4,
                "tile_n": 32,
                "tile_k": 16,
                "warp_tile_n": 16,
                "warp_tile_m": 16,
            }
        ],
    ),
    "PIPE014": Examples(rejects=[{"pipeline": "compv5", "layout_a": "column"}]),
    "PIPE019": Examples(
        rejects=[
            {"pipeline": "comp_async", "double_smem_buffer": True, **layout}
            for layout in ({"layout_a": "column"}, {"layout_b": "row"})
        ],
    ),
    "VEC005": Examples(rejects=[{"tile_n": 48, "tile_k": 96}]),
    "VEC007": Examples(
        accepts=[{"layout_b": "row"}],
        rejects=[{"layout_b": "row", "warp_tile_n": 4, "wave_m": 3}],
    ),
    "VEC009": Examples(rejects=[{"layout_a": "column", "num_wave_groups": 2}]),
    "LDS002": Examples(
        accepts=[{"@ck": "2025.11", **TURNED}, {"@ck": "2026.06"}],
        rejects=[
            {"@ck": "2025.11", **TURNED, "tile_k": 96},
            {"@ck": "2026.06", "arch": "gfx1201", "layout_b": "row", "wave_m": 1, "tile_k": 96},
        ],
    ),
    "LDS003": Examples(accepts=[{"layout_b": "row"}], rejects=[{"layout_b": "row", "tile_n": 96}]),
    "WARP003": Examples(
        accepts=[{"arch": "gfx950", **TURNED}],
        rejects=[{"arch": "gfx950", **TURNED, "warp_tile_m": 4, "warp_tile_n": 64}],
    ),
}


def book(ck: str) -> RuleBook:
    """The shared rules over plain GEMMs."""
    gpus = [load(name) for name in ARCHS]
    words = PlainGemm(
        [
            *(Enum(f"layout_{o}", ("row", "column"), role=Role.PURPOSE) for o in "ab"),
            shared.arch(ARCHS), shared.dtype(tuple(TYPES), "type of A, B and C"),
            *shared.geometry(), *shared.methods(), *shared.buffers(),
        ],
        facts(gpus, ck, TYPES),
        ck,
    )  # fmt: skip
    words.baseline = BASELINE
    met = of_release(ALWAYS_MET, ck)
    declared = [r for r in collect(tile_gemm, examples=EXAMPLES) if r.code not in met]
    built = [r.build(words) for r in declared]
    return RuleBook("plain_gemm", words, [r for r in built if r.valid_for(ck)])

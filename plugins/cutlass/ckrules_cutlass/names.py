"""Kernel names as cutlass_library writes them, both ways.

Source: cutlass_library/gemm_operation.py GemmOperation.procedural_name, extended_name_3x (CUTLASS
4.2.0). What the library cannot say has suffixes of its own behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.kernels.name_grammar import Grammar, Suffix, flag, literal, number, numbers, one_of
from ckrules.kernels.parts import ParsedName
from ckrules_cutlass.vocabulary import VARIANT
from ckrules_cutlass.words import AUTO, EPILOGUES, LAYOUTS, NONE, OPERANDS, SCHEDULES, TYPES

PREFIX = "cutlass3x_sm90_tensorop_"

_WORDS = {word: name for name, (word, _, _) in TYPES.items()}
_SUMS = {_: t for _, t in _WORDS.items() if t in ("fp32", "fp16", "int32")}

GRAMMAR = Grammar(
    (
        literal(PREFIX), one_of("dtype", {w: d for d, (w, _) in OPERANDS.items()}), literal("_"),
        one_of("acc", _SUMS), literal("_"), one_of("c_dtype", {"void": NONE, **_WORDS}),
        literal("_"), one_of("d_dtype", _WORDS), literal("_"),
        *numbers(("tile_m", "tile_n", "tile_k"), "x"), literal("_"),
        *numbers(("cluster_m", "cluster_n"), "x"), literal("x1_"), number("stages", 0),
        literal("_"), one_of("layout", LAYOUTS), literal("_align"), number("align"),
    ),
    (
        Suffix("_stream_k", "_stream_k", (one_of("tile_scheduler", {"_stream_k": "stream_k"}),),
               {"tile_scheduler": "persistent"}),
        Suffix("_warpspecialized", "_warpspecialized…",
               (one_of("schedule", {w: s for s, (w, _) in SCHEDULES.items()}),),
               {"schedule": AUTO}),
        flag("_fp8_fastaccum", "fast_accum"),
        Suffix("_epi_", "_epi_…", (one_of("epilogue", {w: e for e, w in EPILOGUES.items()}),),
               {"epilogue": AUTO}),
        Suffix("_epin", "_epinN", (literal("_epin"), number("epilogue_n")), {"epilogue_n": 0}),
        Suffix("_swizzle", "_swizzleN", (literal("_swizzle"), number("swizzle")), {"swizzle": 1}),
    ),
)  # fmt: skip


class CutlassNaming:
    """Names of kernels.

    >>> point = NAMING.parse(
    ...     "cutlass3x_sm90_tensorop_gemm_f16_f16_f32_void_f16_128x256x64_2x1x1_0_tnn_align8"
    ...     "_warpspecialized_cooperative_epi_tma").point
    >>> point["schedule"], point["tile_n"], point["stages"]
    ('cooperative', 256, 0)
    """

    prefix = PREFIX

    def parse(self, text: str) -> ParsedName:
        """The point that a name says."""
        return ParsedName({"variant": VARIANT, **GRAMMAR.parse(text)[0]})

    def format(self, point: Mapping[str, Any], spelling: Mapping[str, str] | None = None) -> str:
        """The name of a point."""
        return GRAMMAR.format(point, spelling)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes a field."""
        return GRAMMAR.span(text, name)

    def without_defaults(self, text: str) -> str:
        """The text without suffixes that say what their absence says."""
        return GRAMMAR.without_defaults(text)

    def rule_set_spelling(self, point: Mapping[str, Any]) -> dict[str, str]:
        """The library has one spelling."""
        return {}


NAMING = CutlassNaming()

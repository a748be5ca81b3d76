"""Names of GEMMs with scales.

The usual ones are our own, since upstream's leave types out::

    scaled_{variant}_{dtype}_{dtype_c}_{pipeline}_{scheduler}_{scales}
        _{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_epi_default][_dsb][_wg{n}][_pad{m}{n}{k}][_persist][_tc][_permuteN][_kbpc{n}]
        [_groups{n}][_rows{n}][_aqrm][_stage{n}][_{activation}][_MulRoutedWeight][_HasBias][_SplitK]
        [_masked]

`STYLES` has the forms of aiter and upstream's of MX, which are read here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ckrules.constraints.scaled import words as w
from ckrules.constraints.scaled.vocabulary import DEFAULTS
from ckrules.constraints.tile_gemm.aiter import instance_name
from ckrules.constraints.tile_gemm.names import (
    BITS,
    TILES,
    Form,
    Names,
    ToolNames,
    shapes,
    switches,
)
from ckrules.kernels.name_grammar import (
    Grammar,
    KernelNameError,
    Suffix,
    flag,
    literal,
    number,
    numbers,
    one_of,
)
from ckrules.kernels.parts import ParsedName, Point, Style

_PIPELINES = tuple(p for found in w.PIPELINES.values() for p in found)

#: aiter's words for what scales of experts belong to.
_SCALES = {"per_token": "row_column", **{word: word for word in w.SCALES[2:]}}


def _counted(head: str, name: str, low: int = 1) -> Suffix:
    absent: dict[str, Any] = {name: DEFAULTS[name]}
    return Suffix(head, f"{head}N", (literal(head), number(name, low)), absent)


GRAMMAR = Grammar(
    [
        literal("scaled_"), one_of("variant", w.VARIANTS), literal("_"),
        one_of("dtype", tuple(w.TYPES)), literal("_"), one_of("dtype_c", w.OUTPUTS), literal("_"),
        one_of("pipeline", _PIPELINES), literal("_"), one_of("scheduler", w.SCHEDULERS),
        literal("_"), one_of("scales", w.SCALES), *shapes(),
    ],
    (
        Suffix("_epi_default", "_epi_default", (literal("_epi_"), one_of("epilogue", ("default",))),
               {"epilogue": "cshuffle"}),
        flag("_dsb", "double_smem_buffer"),
        _counted("_wg", "num_wave_groups"),
        Suffix("_pad", "_padMNK",
               (literal("_pad"), *(one_of(f"pad_{x}", BITS) for x in "mnk")),
               {f"pad_{x}": False for x in "mnk"}),
        flag("_persist", "persistent"),
        flag("_tc", "transpose_c"),
        flag("_permuteN", "permute_n"),
        _counted("_kbpc", "k_block_per_cu"),
        _counted("_groups", "partition_groups"),
        _counted("_rows", "partition_m01"),
        flag("_aqrm", "scale_rows"),
        _counted("_stage", "stage"),
        Suffix("_act", "_act_WORD", (literal("_act_"), one_of("activation", w.ACTIVATIONS[1:])),
               {"activation": "no"}),
        flag("_MulRoutedWeight", "routed_weight"),
        flag("_HasBias", "bias"),
        flag("_SplitK", "split_k"),
        Suffix("_masked", "_masked", (one_of("grouping", {"_masked": "masked"}),), {"grouping": "no"}),
    ),
)  # fmt: skip


def check_threads(grammar: Grammar, text: str, said: Mapping[str, Any]) -> None:
    """Raises for a number of threads that is not that of the waves."""
    threads = said["wave_m"] * said["wave_n"] * 64
    if said["block_size"] != threads:
        at = (grammar.span(text, "block_size") or (0, 0))[0]
        raise KernelNameError(text, at + 1, f"{threads} threads, as the waves say")


class _Form(Form):
    style, tool = "aiter", "aiter"
    fixed: Mapping[str, Any] = {}
    """What every kernel of the form has."""

    def parse(self, text: str) -> ParsedName:
        said, _ = self.grammar.parse(text)
        self.check(text, said)
        taken = {**self.taken, **self.guessed(said)}
        point = {**DEFAULTS, **self.fixed, **taken, **self.meant(said), "variant": self.variant}
        point.setdefault("pipeline", w.PIPELINES[self.variant][0])
        return ParsedName(point, {"style": self.style}, taken)

    def check(self, text: str, said: Mapping[str, Any]) -> None:
        """Raises for numbers that contradict each other."""

    def guessed(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is taken by the rest of the name."""
        return {}

    def meant(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of what the name says."""
        return dict(said)


class _Preshuffled(_Form):
    """Pre-shuffled weights, scales by row and column."""

    variant, begins = "flatmm", "a8w8_bpreshuffle_cktile_"
    taken: Mapping[str, Any] = {"dtype": "fp8", "dtype_c": "bf16"}
    fixed: Mapping[str, Any] = {"scales": "row_column"}

    def __init__(self) -> None:
        self.grammar = Grammar([
            literal(self.begins), one_of("transpose_c", BITS), literal("x"),
            one_of("sparse", {"0": False}), literal("x"), number("partition_groups"), literal("x"),
            number("partition_m01"), literal("x"), number("num_wave_groups"), literal("x"),
            one_of("double_smem_buffer", BITS), literal("x"), one_of("pad_m", BITS), literal("x"),
            one_of("pad_n", BITS), literal("x"), one_of("pad_k", BITS), literal("x"),
            number("k_block_per_cu"), *shapes(), literal("_"), one_of("scheduler", w.SCHEDULERS),
        ])  # fmt: skip

    def meant(self, said: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in said.items() if k != "sparse"}

    def said(self, point: Point) -> Mapping[str, Any]:
        return {**point, "sparse": False}


class _Groups(_Form):
    """Groups of masked rows, whose names have tile_k in bytes and say no type: those of fp8 are meant.

    The K of the warp tile is 64 bytes, whatever the name says, so that 64 is written.

    Facts: csrc/ck_deepgemm/deepgemm.cu ``rowwise_heuristic_dispatch`` (ROCm/aiter @ 60853cc), the wrapper
    beside it ``MGroupedFlatmmConfig`` (@ 9853791) and, as the list that it came from,
    csrc/ck_m_grouped_gemm/m_grouped_gemm_common.py ``kernelInstance.name`` (@ 5a7fc71).
    """

    variant, begins = "flatmm", "deepgemm_"
    taken: Mapping[str, Any] = {"dtype": "fp8", "dtype_c": "bf16", "scales": "row_column"}
    fixed: Mapping[str, Any] = {
        "grouping": "masked", "scheduler": "default", "wave_k": 1, "warp_tile_k": 64,
        "partition_groups": 8, "partition_m01": 4,
    }  # fmt: skip

    def __init__(self) -> None:
        self.grammar = Grammar([
            literal(self.begins), number("block_size"), literal("x"), *numbers(TILES[0], "x"), literal("_"),
            *numbers(TILES[2][:2], "x"), literal("x"), one_of("warp_tile_k", {"64": 64, "32": 32}),
            literal("_"), *numbers(TILES[1][:2], "x"),
        ])  # fmt: skip

    def makes(self, point: Point) -> bool:
        return super().makes(point) and point["grouping"] == "masked"

    def check(self, text: str, said: Mapping[str, Any]) -> None:
        check_threads(self.grammar, text, said)

    def meant(self, said: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in said.items() if k not in ("block_size", "warp_tile_k")}

    def said(self, point: Point) -> Mapping[str, Any]:
        return {**point, "block_size": point["wave_m"] * point["wave_n"] * 64}


#: The third of four switches, ``DoubleSmemBuffer``, which names had until the winter of 2026.
_BUFFERS = re.compile(r"(?<=_[01]x[01])x0(?=x[01]_[0-9]+$)")


class _Blocks(_Form):
    """Scales of blocks, whose names of 2025 say that LDS has one buffer, too.

    Facts: csrc/ck_gemm_a8w8_blockscale/gemm_a8w8_blockscale_cktile_instance.py ``TileKernelInstance.name``
    and ``candidate_kernels_cktile_dict``, where no kernel has two (ROCm/aiter, copyright 2024-2025).
    """

    variant, begins = "abquant", "a8w8_blockscale_cktile_"
    taken: Mapping[str, Any] = {"dtype": "fp8", "dtype_c": "bf16", "pad_n": False, "pad_k": False}
    fixed: Mapping[str, Any] = {"scales": "blocks", "pad_m": True}

    def __init__(self) -> None:
        head = instance_name(self.begins, w.SCHEDULERS)
        self.grammar = Grammar(head, [flag("_aqrm", "scale_rows")])

    def parse(self, text: str) -> ParsedName:
        return super().parse(_BUFFERS.sub("", text))

    def meant(self, said: Mapping[str, Any]) -> dict[str, Any]:
        many = said["wave_m"] * said["wave_n"] * said["wave_k"] == 8
        eight = many and said["warp_tile_k"] == w.GROUP
        return {**said, "pipeline": w.EIGHT_WAVES if eight else "abquant"}


class _Micro(_Form):
    """4-bit operands with a scale for each 32 along K, whose wrapper pads M.

    Facts: csrc/ck_gemm_a4w4_blockscale/gemm_a4w4_blockscale_common.py ``tileKernelInstance``, and the wrapper
    beside it (ROCm/aiter @ 0055ba9).
    """

    variant, begins = "mx_gemm", "a4w4_blockscale_cktile_"
    taken: Mapping[str, Any] = {"dtype": "fp4", "dtype_c": "bf16"}
    fixed: Mapping[str, Any] = {
        "scales": "per_1x32", "pad_m": True, "partition_groups": 8, "partition_m01": 4,
    }  # fmt: skip

    def __init__(self) -> None:
        self.grammar = Grammar(instance_name(self.begins, w.SCHEDULERS))


class _Experts(_Form):
    """The two GEMMs of a mixture of experts, whose names do not say types."""

    variant, begins = "moe_flatmm", "moe_cktile2stages_gemm"
    taken: Mapping[str, Any] = {"dtype_c": "bf16"}
    fixed: Mapping[str, Any] = {"wave_k": 1, "scheduler": "default"}

    def __init__(self) -> None:
        self.grammar = Grammar(
            [
                literal(self.begins), one_of("stage", {"1": 1, "2": 2}), literal("_"),
                number("block_size"), literal("x"), *numbers(TILES[0], "x"), literal("_"),
                *numbers(TILES[1][:2], "x"), literal("_"), *numbers(TILES[2], "x"), literal("_"),
                number("k_block_per_cu"), literal("perCU_"), one_of("scales", _SCALES),
            ],
            (
                flag("_MulRoutedWeight", "routed_weight"),
                flag("_HasBias", "bias"),
                Suffix("_", "_ACTIVATION", (literal("_"), one_of("activation", w.ACTIVATIONS)),
                       {"activation": ""}),
                flag("_SplitK", "split_k"),
            ),
        )  # fmt: skip

    def check(self, text: str, said: Mapping[str, Any]) -> None:
        check_threads(self.grammar, text, said)

    def guessed(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """fp8, or 4-bit weights beside bf16 where the K of the warp tile is bf16's."""
        return {"dtype": "bf16_fp4" if said["warp_tile_k"] <= 32 else "fp8"}

    def meant(self, said: Mapping[str, Any]) -> dict[str, Any]:
        kept = {k: v for k, v in said.items() if k != "block_size"}
        return {**kept, "activation": said["activation"] or "no"}

    def said(self, point: Point) -> Mapping[str, Any]:
        first = point["stage"] == 1
        threads = point["wave_m"] * point["wave_n"] * 64
        return {**point, "block_size": threads, "activation": point["activation"] if first else ""}


class _Upstream(_Form):
    """tile_engine's names of MX GEMMs, which the dispatcher's bridge has from it::

        mx_gemm_{dtype}_rcr_{pipeline}_cshuffle_intrawave_{pad_m}_{pad_n}_{pad_k}_{persistent}
            _{tile}_{waves}_{warp tile}

    Those of other pipelines than weight_preshuffle are not read.

    Facts: tile_engine/ops/gemm/gemm_validation_utils.py ``GEMM_MX_PIPELINES_BY_ARCH``, ``validate_gemm_mx``
    and dispatcher/codegen/unified_mx_gemm_codegen.py ``_validate`` (CK 2026.09, read in
    ROCm/rocm-libraries @ d67e7e8); tile_engine/ops/gemm/gemm_instance_builder.py ``_format_kernel_name``,
    ``populate_kernel_dtype_layout``, ``populate_initialization`` (@ 029d7b0).
    """

    variant, begins = "mx_gemm", "mx_gemm_"
    taken: Mapping[str, Any] = {"k_block_per_cu": 1}
    fixed: Mapping[str, Any] = {
        "dtype_c": "fp16", "scales": "per_1x32", "partition_groups": 8, "partition_m01": 4,
    }  # fmt: skip

    def __init__(self, style: str, tool: str) -> None:
        self.style, self.tool = style, tool
        self.grammar = Grammar([
            literal(self.begins), one_of("dtype", ("fp4", "fp8")), literal("_rcr_"),
            one_of("pipeline", w.PIPELINES["mx_gemm"]), literal("_"),
            one_of("epilogue", ("cshuffle",)), literal("_"), one_of("scheduler", ("intrawave",)),
            *switches(("pad_m", "pad_n", "pad_k", "persistent")), *shapes(),
        ])  # fmt: skip


AITER = (_Groups(), _Preshuffled(), _Blocks(), _Micro(), _Experts())
UPSTREAM = _Upstream("tile_engine_2026", "tile_engine")
FORMS: tuple[_Form, ...] = (*AITER, UPSTREAM)


#: By the word for them.
STYLES: Mapping[str, ToolNames] = {
    "aiter": ToolNames(AITER), UPSTREAM.style: ToolNames((UPSTREAM,)),
    "dispatcher": ToolNames((_Upstream("dispatcher", "the dispatcher"),)),
}  # fmt: skip


class ScaledNames(Names):
    """The usual names of GEMMs with scales."""

    prefix = "scaled_"
    beginnings = tuple(form.begins for form in FORMS)
    grammar = GRAMMAR

    @property
    def styles(self) -> Mapping[str, Style]:
        return STYLES

    def other(self, text: str) -> _Form | None:
        return next((form for form in FORMS if text.startswith(form.begins)), None)


NAMING = ScaledNames()

"""Names of quantised GEMMs.

The usual ones are our own, since upstream's leave types and pads out::

    quant_{variant}_{dtype}_{layout}_{pipeline}_{epilogue}_{scheduler}_{pad_m}_{pad_n}_{pad_k}
        _{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}[_qg{M}x{N}x{K}]
        [_preshufflequant][_permuteN][_out_{dtype_c}][_scale_{dtype_scale}][_tc][_kbpc{n}]
        [_single|_double]

Groups of 1x1x1 are left out, and so are C of fp16, scales of fp32, and the LDS buffers that follow
from the pipeline. `DISPATCHER` and `TILE_ENGINE` have upstream's forms, which are read here, too.

Facts: ``make_quant_kernel_name`` of dispatcher/codegen/codegen_common.py, and the builders of
tile_engine/ops/gemm/block_scale_gemm/{gemm_aquant,gemm_bquant}, ROCm/rocm-libraries of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.words import EPILOGUES, SCHEDULERS
from ckrules.constraints.gemm.words import PIPELINES as GEMM_PIPELINES
from ckrules.constraints.quant import words as w
from ckrules.constraints.quant.vocabulary import DEFAULTS
from ckrules.constraints.tile_gemm.aiter import instance_name
from ckrules.constraints.tile_gemm.names import TRUTH, Form, Names, ToolNames, shapes, switches
from ckrules.kernels.name_grammar import (
    Grammar,
    KernelNameError,
    Piece,
    Suffix,
    flag,
    literal,
    number,
    numbers,
    one_of,
)
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError

_PADS = ("pad_m", "pad_n", "pad_k")
_GROUPS = ("group_m", "group_n", "group_k")
_NO_GROUPS: Mapping[str, Any] = dict.fromkeys(_GROUPS, 1)


def _head(dtypes: Mapping[str, str], pipelines: Mapping[str, str]) -> list[Piece]:
    return [
        one_of("dtype", dtypes), literal("_"), one_of("layout", w.LAYOUTS), literal("_"),
        one_of("pipeline", pipelines), literal("_"), one_of("epilogue", EPILOGUES), literal("_"),
        one_of("scheduler", SCHEDULERS),
    ]  # fmt: skip


_GROUPED = Suffix(
    "_qg", "_qgMxNxK", (literal("_qg"), *numbers(_GROUPS, "x")), {**_NO_GROUPS},
)  # fmt: skip
GRAMMAR = Grammar(
    [
        literal("quant_"), one_of("variant", w.VARIANTS), literal("_"),
        *_head({d: d for d in w.TYPES}, {p: p for p in GEMM_PIPELINES}), *switches(_PADS),
        *shapes(),
    ],
    (
        _GROUPED,
        flag("_preshufflequant", "preshuffle_quant"),
        flag("_permuteN", "permute_n"),
        Suffix("_out", "_out_TYPE", (literal("_out_"), one_of("dtype_c", w.OUTPUTS)),
               {"dtype_c": "fp16"}),
        Suffix("_scale", "_scale_TYPE", (literal("_scale_"), one_of("dtype_scale", w.SCALES)),
               {"dtype_scale": "fp32"}),
        flag("_tc", "transpose_c"),
        Suffix("_kbpc", "_kbpcN", (literal("_kbpc"), number("k_block_per_cu")),
               {"k_block_per_cu": 1}),
        Suffix("_buffers", "_single, _double",
               (literal("_"), one_of("buffers", ("single", "double"))), {"buffers": ""}),
    ),
)  # fmt: skip


def _two_buffers(pipeline: object) -> bool:
    return pipeline == "preshufflev2"


class _Form(Form):
    def meant(self, said: dict[str, Any]) -> dict[str, Any]:
        """The fields of what the name says."""
        return said

    def parse(self, text: str) -> ParsedName:
        said = self.meant(self.grammar.parse(text)[0])
        point = {
            **DEFAULTS, "dtype_c": "fp16", **_NO_GROUPS, **self.taken, **said,
            "variant": self.variant,
        }  # fmt: skip
        point["double_smem_buffer"] = _two_buffers(point["pipeline"])
        taken = {k: point[k] for k in (*self.taken, "dtype_c", "dtype_scale") if k not in said}
        return ParsedName(point, {"style": self.style}, taken)


#: Upstream's words for types, without ``_``.
_PLAIN = {d.replace("_", ""): d for d in w.TYPES}
#: What names of tools begin with, by variant.
PREFIXES: Mapping[str, str] = {
    "aquant": "gemm_aquant_", "bquant": "gemm_bquant_", "rowcol_quant": "gemm_rowcolquant_",
    "tensor_quant": "gemm_tensor_quant_",
}  # fmt: skip


class _Dispatched(_Form):
    """The dispatcher's names, which leave pads out and call permuted columns an epilogue::

    gemm_{aquant|bquant|rowcolquant|tensor_quant}_{dtype}_{layout}_{pipeline}_{epilogue}
        _{scheduler}_{tile}_{waves}_{warp tile}[_qg{M}x{N}x{K}][_preshufflequant][_preshuffleb]
    """

    style, tool = "dispatcher", "the dispatcher"
    taken: Mapping[str, Any] = {"pad_m": False, "pad_n": False, "pad_k": True, "k_block_per_cu": 1}

    def __init__(self, variant: str) -> None:
        self.variant, self.begins = variant, PREFIXES[variant]
        pipelines = {"compv3": "compv3", "mem": "mem"}
        head = _head(_PLAIN, pipelines)
        at = next(i for i, piece in enumerate(head) if piece.field == "epilogue")
        head[at] = one_of("epilogue", ("cshuffle", "default", "permute_n"))
        suffixes: list[Suffix] = []
        if variant in w.GROUPED:
            suffixes = [_GROUPED]
        if variant == "aquant":
            suffixes.append(flag("_preshufflequant", "preshuffle_quant"))
        if variant == "bquant":
            suffixes.append(flag("_preshuffleb", "preshuffle_b"))
        self.grammar = Grammar([literal(self.begins), *head, *shapes()], suffixes)

    def meant(self, said: dict[str, Any]) -> dict[str, Any]:
        """Pre-shuffled weights have a pipeline of their own here, and permuted columns a switch."""
        if said.pop("preshuffle_b", False):
            said["pipeline"] = "preshufflev2"
        said["permute_n"] = said["epilogue"] == "permute_n"
        if said["permute_n"]:
            said["epilogue"] = "cshuffle"
        return said

    def said(self, point: Point) -> Mapping[str, Any]:
        """The words of upstream for these."""
        shuffled = point["pipeline"] == "preshufflev2"
        permuted = point["permute_n"] and point["epilogue"] == "cshuffle"
        return {
            **point,
            "pipeline": "compv3" if shuffled else point["pipeline"],
            "epilogue": "permute_n" if permuted else point["epilogue"],
            "preshuffle_b": shuffled,
        }


class _Listed(_Form):
    """tile_engine's names of 2026, which say pads and what is shuffled, and leave groups out::

    gemm_aquant_{dtype}_{layout}_{pipeline}_{epilogue}_{scheduler}_{pad_m}_{pad_n}_{pad_k}
        _{shuffled scales}_{tile}_{waves}_{warp tile}
    gemm_bquant_…_{pad_k}_{shuffled scales}_{shuffled B}_…
    """

    style, tool = "tile_engine_2026", "tile_engine"
    taken: Mapping[str, Any] = {"group_k": w.GROUP, "k_block_per_cu": 1}

    def __init__(self, variant: str) -> None:
        self.variant, self.begins = variant, PREFIXES[variant]
        more = (
            ("preshuffle_quant",) if variant == "aquant" else ("preshuffle_quant", "preshuffle_b")
        )
        types = {d: d for d in ("fp8", "bf8")}
        head = _head(types, {"compv3": "compv3", "mem": "mem"})
        pads = switches((*_PADS, *more))
        self.grammar = Grammar([literal(self.begins), *head, *pads, *shapes()])

    def meant(self, said: dict[str, Any]) -> dict[str, Any]:
        """Pre-shuffled weights have a pipeline of their own here."""
        if said.pop("preshuffle_b", False):
            said["pipeline"] = "preshufflev2"
        return said

    def said(self, point: Point) -> Mapping[str, Any]:
        """The words of upstream for these."""
        shuffled = point["pipeline"] == "preshufflev2"
        plain = "compv3" if shuffled else point["pipeline"]
        return {**point, "pipeline": plain, "preshuffle_b": shuffled}


class _RowsAndColumns(_Form):
    """aiter's names of a8w8 with a scale for each row and column, in which types are left out.

    Facts: csrc/ck_gemm_a8w8/gemm_a8w8_common.py ``tileKernelInstance``, and the wrapper beside it,
    which transposes no C and is not persistent whatever the list says (ROCm/aiter @ 10788a1).
    """

    style, tool = "aiter", "aiter"
    variant, begins = "rowcol_quant", "a8w8_cktile_"
    taken: Mapping[str, Any] = {
        "dtype": "fp8", "layout": "rcr", "dtype_c": "bf16", "pipeline": "compv3",
    }  # fmt: skip

    def __init__(self) -> None:
        self.grammar = Grammar(instance_name(self.begins, SCHEDULERS))

    def meant(self, said: dict[str, Any]) -> dict[str, Any]:
        """Without what the wrapper does not ask for."""
        return {k: v for k, v in said.items() if k not in ("transpose_c", "persistent")}

    def said(self, point: Point) -> Mapping[str, Any]:
        """Its lists have ``TransposeC``."""
        return {**point, "transpose_c": True, "persistent": False}


DISPATCHED = tuple(_Dispatched(v) for v in w.VARIANTS)
LISTED = tuple(_Listed(v) for v in w.GROUPED)


AITER = _RowsAndColumns()


def _form(text: str) -> _Form | None:
    """The form that a text is one of: tile_engine's say pads behind the scheduler."""
    if text.startswith(AITER.begins):
        return AITER
    found = next((form for form in DISPATCHED if text.startswith(form.begins)), None)
    if found is None:
        return None
    listed = next((form for form in LISTED if form.variant == found.variant), None)
    says_pads = any(f"_{word}_" in text for word in TRUTH)
    return listed if listed is not None and says_pads else found


#: By the word for them.
STYLES: Mapping[str, ToolNames] = {
    "dispatcher": ToolNames(DISPATCHED), "tile_engine_2026": ToolNames(LISTED),
    "aiter": ToolNames((AITER,)),
}  # fmt: skip


class QuantNames(Names):
    """The usual names of quantised GEMMs."""

    prefix = "quant_"
    beginnings = (*PREFIXES.values(), AITER.begins)
    grammar = GRAMMAR
    spellings = ("pipeline",)
    styles = STYLES

    def other(self, text: str) -> _Form | None:
        return _form(text)

    def read(self, text: str) -> ParsedName:
        said, _ = GRAMMAR.parse(text)
        buffers = said.pop("buffers")
        usual = _two_buffers(said["pipeline"])
        if buffers and (buffers == "double") == usual:
            at = (GRAMMAR.span(text, "buffers") or (0, 0))[0]
            raise KernelNameError(text, at + 1, "no buffers, which follow from the pipeline")
        said["double_smem_buffer"] = usual != bool(buffers)
        return ParsedName(said)

    def write(self, point: Point) -> str:
        for key in ("pipeline", "double_smem_buffer"):
            if key not in point:
                raise UsageError(f"a point without {key!r} has no name")
        two = point["double_smem_buffer"]
        apart = two != _two_buffers(point["pipeline"])
        return GRAMMAR.format(
            {**point, "buffers": ("double" if two else "single") if apart else ""}
        )


NAMING = QuantNames()

"""Names of the kernels before and after attention, as upstream's generator calls them::

    fmha_fwd_splitkv_combine_d{hdim}_{dtype}_{mode}_b{tile_dv}[_o{block_per_cu}]_unused_{pads}
        _{lse}_{squant}
    fmha_fwd_appendkv_d{hdim}_{dtype}_b{tile: s sk d dv}[_o{block_per_cu}]_v{r|c}[_{pads}][_{rope}]
        [_pagedkv]
    fmha_bwd_dot_do_o_d{hdim}_{dtype}_b{tile_s}_{mode}_o{block_per_cu}_{pads}
    fmha_bwd_convert_dq_d{hdim}_{dtype}_b{tile_s}x{tile_sk}_{mode}_o{block_per_cu}_{pads}
        _{deterministic}

Facts: example/ck_tile/01_fmha/codegen/ops/fmha_{fwd_splitkv,fwd_appendkv,bwd}.py, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ckrules.constraints.fmha.trait_names import (
    BOUNDS,
    SUFFIXED_BOUNDS,
    V_LETTERS,
    KernelForm,
    TargetNames,
    TraitNames,
    pad_word,
    pads,
    switch,
)
from ckrules.constraints.fmha_steps import words as w
from ckrules.constraints.fmha_steps.vocabulary import ABSENT, OWN
from ckrules.kernels.name_grammar import Grammar, Piece, flag, literal, number, numbers, one_of

_APPEND_PADS = ("pad_s", "pad_sk", "pad_d", "pad_dv")


def _head(variant: str) -> list[Piece]:
    return [literal(f"{variant}_d"), number("hdim"), literal("_"), one_of("dtype", w.DTYPES)]


def _mode() -> list[Piece]:
    return [literal("_"), one_of("mode", w.MODES)]


def _no_pads() -> dict[str, str]:
    """The words for paddings where none is the empty word."""
    every = product((False, True), repeat=4)
    return {f"_{p}" if p else "": p for p in (pad_word(_APPEND_PADS, v, "") for v in every)}


_COMBINE = Grammar([
    *_head(w.COMBINE), *_mode(), literal("_b"), number("tile_dv"), one_of("block_per_cu", SUFFIXED_BOUNDS),
    literal("_unused_"), pads(("pad_s", "pad_dv")), *switch("lse", "lse"),
    *switch("squant", "squant"),
])  # fmt: skip
_APPEND = Grammar([
    *_head(w.APPEND), literal("_b"), number("tile_s", 0), literal("x"),
    *numbers(("tile_sk", "tile_d", "tile_dv"), "x"),
    one_of("block_per_cu", SUFFIXED_BOUNDS), literal("_v"), one_of("v_layout", V_LETTERS),
    one_of("pads", _no_pads()), one_of("rope", {"": "no", "_inter": "inter", "_half": "halves"}),
], [flag("_pagedkv", "paged_kv")])  # fmt: skip
_DOT = Grammar([
    *_head(w.DOT), literal("_b"), number("tile_s"), *_mode(), literal("_o"),
    one_of("block_per_cu", BOUNDS), literal("_"), pads(("pad_s", "pad_dv")),
])  # fmt: skip
_CONVERT = Grammar([
    *_head(w.CONVERT), literal("_b"), number("tile_s"), literal("x"), number("tile_sk", 0),
    *_mode(), literal("_o"), one_of("block_per_cu", BOUNDS), literal("_"),
    pads(("pad_s", "pad_d")), *switch("deterministic", "deterministic"),
])  # fmt: skip


def _named(variant: str, grammar: Grammar, padded: Sequence[str], bare: str = "npad") -> KernelForm:
    fixed = {k: v for k, v in ABSENT.items() if k not in OWN[variant]}
    return KernelForm(variant, grammar, fixed, padded, bare)


class StepNames(TraitNames):
    """The names of the kernels before and after attention."""

    prefix = f"{w.COMBINE}_d"
    beginnings = tuple(f"{v}_d" for v in w.VARIANTS[1:])
    kernels = (
        _named(w.COMBINE, _COMBINE, ("pad_s", "pad_dv")),
        _named(w.APPEND, _APPEND, _APPEND_PADS, ""),
        _named(w.DOT, _DOT, ("pad_s", "pad_dv")),
        _named(w.CONVERT, _CONVERT, ("pad_s", "pad_d")),
    )


NAMING = StepNames()
STYLES = {"generator": TargetNames(NAMING, lambda point: point["variant"] in (w.DOT, w.CONVERT))}

"""SDSP: which kernels before and after attention upstream's dispatcher writes since June 2026.

One tile of each, multiplied with features. Facts: ``_expand_splitkv`` (its combine kernels),
``_expand_appendkv`` and ``_expand_bwd`` of dispatcher/codegen/fmha/instance_gen.py with
fmha_arch_specs.json, FmhaKernelConfig of dispatcher/python/fmha_utils.py, ROCm/composable_kernel of
June 2026 (read; not installed anywhere to be run).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.dispatcher import CONFIG, DTYPES, HDIMS, INSTANCES, SPECS
from ckrules.constraints.fmha.words import HALVES
from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT, AN_APPEND, appended_traits
from ckrules.constraints.fmha_steps.vocabulary import StepQuantities
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_PROFILE = ("dispatcher",)

_OPEN: Mapping[str, Any] = {"block_per_cu": -1}
_PRODUCT: Mapping[str, Any] = {**A_DOT, **_OPEN}
_CONVERTED: Mapping[str, Any] = {**A_CONVERT, **_OPEN, "tile_sk": 128}
_APPENDED: Mapping[str, Any] = AN_APPEND
_EIGHT: Mapping[str, Any] = {"dtype": "fp8", "hdim": 64}
#: ``splitkv_combine`` and ``bwd_tiles``: head dimensions by type.
HEADS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(HALVES, (32, 64, 96, 128, 256)), "fp8": (64, 128, 256),
}  # fmt: skip

_TYPES = Table.relation(
    "dispatcher_step_types", ("variant", "arch", "dtype"),
    [(v, gpu, dtype) for v in (COMBINE, APPEND, DOT, CONVERT) for gpu, types in DTYPES.items()
     for dtype in types if dtype in HALVES or (dtype == "fp8" and v in (COMBINE, APPEND))],
    source=SPECS,
)  # fmt: skip
_HEADS = Table.relation(
    "dispatcher_step_heads", ("dtype", "hdim"),
    [(dtype, n) for dtype, heads in HEADS.items() for n in heads], source=SPECS,
)  # fmt: skip
_PAIRS = Table.relation(
    "dispatcher_appended_heads", ("dtype", "hdim", "tile_dv"),
    [(dtype, *pair) for dtype in HEADS for pair in HDIMS[dtype]],
    source=f"{SPECS}: supported_hdims",
)  # fmt: skip


@rule(
    "SDSP001", "step-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has no {variant} of {dtype} on {arch}",
          "the dispatcher has no {variant} of {dtype} with head dimension {hdim}"],
    source=[f"{SPECS}: supported_dtypes, splitkv_combine, dot_do_o_hdims, convert_dq_hdims, supported_hdims",
            f"{INSTANCES}: get_splitkv_combine_pipelines, get_appendkv_pipelines, _expand_bwd"],
    accepts=[_OPEN, _APPENDED, _PRODUCT, _CONVERTED, {**_OPEN, **_EIGHT}],
    rejects=[{**_OPEN, "hdim": 160}, {**_PRODUCT, **_EIGHT}, {**_OPEN, **_EIGHT, "arch": "gfx90a"}],
)  # fmt: skip
def step_is_known(c: StepQuantities) -> BoolExpr:
    """GPU, type and head dimension are in the dispatcher's tables.

    Why: five GPUs are listed; fp8 is joined and appended where the GPU has it. Appended heads are
    those of forward, in pairs.
    """
    return all_of(
        rel(_TYPES, c.variant, c.arch, c.dtype),
        ite(c.variant == APPEND, rel(_PAIRS, c.dtype, c.hdim, c.tile_dv),
            rel(_HEADS, c.dtype, c.hdim)),
    )  # fmt: skip


@rule(
    "SDSP002", "step-tile-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has one tile of {variant}, and not this one",
          "the dispatcher leaves launch bounds to the pipeline: block_per_cu = {block_per_cu}"],
    source=[f"{INSTANCES}: _expand_splitkv, _expand_appendkv, _expand_bwd", f"{CONFIG}: tile_n0"],
    accepts=[_OPEN, _APPENDED, _PRODUCT, _CONVERTED],
    rejects=[{**_OPEN, "tile_dv": 16}, A_DOT, {**_CONVERTED, "tile_sk": 0}],
)  # fmt: skip
def step_tile_is_the_only_one(c: StepQuantities) -> BoolExpr:
    """Combining takes 32 columns, appending 64 rows of whole heads, the others 64 rows.

    Why: dQ is converted by 128 rows of K whatever the head, which is the default of a field that
    nobody sets; the generator has as many as the tile of dQ.

    Fix: use that tile.
    """
    appended = all_of(c.tile_s == 64, c.tile_sk == 64, c.tile_d == c.hdim)
    return all_of(
        any_of(
            all_of(c.variant == COMBINE, c.tile_dv == 32),
            all_of(c.variant == APPEND, appended),
            all_of(c.variant == DOT, c.tile_s == 64),
            all_of(c.variant == CONVERT, c.tile_s == 64, c.tile_sk == 128),
        ),
        c.block_per_cu == -1,
    )


@rule(
    "SDSP003", "step-traits-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher pads Q's sequence of groups: pad_s = {pad_s}",
          "the dispatcher does not scale O where it joins splits: squant = {squant}",
          "the dispatcher stores no LSE of {dtype}",
          "the dispatcher does not append with rope = {rope} and these paddings, pages or layout of V"],
    source=[f"{INSTANCES}: get_splitkv_combine_pipelines, get_appendkv_pipelines, _expand_splitkv, _expand_bwd",
            f"{CONFIG}.to_codegen_json (fp8_static_quant)"],
    accepts=[{**_OPEN, "mode": "group", "pad_s": True}, {**_OPEN, "lse": True}, _APPENDED],
    rejects=[{**_OPEN, "mode": "group"}, {**_OPEN, **_EIGHT, "squant": True},
             {**_OPEN, **_EIGHT, "lse": True}, {**_APPENDED, "pad_d": True}],
)  # fmt: skip
def step_traits_are_dispatched(c: StepQuantities) -> BoolExpr:
    """Paddings and traits are joined as in the generator, but O is never scaled.

    Why: kernels of fp8 are listed as quantised, and the flag is dropped before they are written.

    Fix: use listed traits.
    """
    narrow = c.dtype == "fp8"
    return all_of(
        implies(c.mode == "group", c.pad_s),
        ~c.squant,
        implies(narrow, ~c.lse),
        implies(c.variant == APPEND, appended_traits(c)),
    )

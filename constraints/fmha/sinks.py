"""FMHA: sinks, which kernels have since CK 2026.06 and which lists of then have them.

A kernel with sinks does two things: a score for each head of Q stands beside those of K in every
softmax, and windows keep the first columns of K. Either may be left out where it is called. Facts
of 2026 were read, not compiled.
"""

from __future__ import annotations

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.dispatcher import INSTANCES
from ckrules.constraints.fmha.generator import FWD, PAGED, SPLIT, SPLIT_KERNEL
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, any_of, implies
from ckrules.engine.rules import rule


@rule(
    "FMHA064", "sinks-before-their-release", kind="compile", until="2026.06",
    says="the headers of CK 2025.11 have no sinks: sink = {sink}",
    source="ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaTraits, TileFmhaFwdSplitKVTraits, TileFmhaFwdPagedKVTraits (no kHasSink, CK 2025.11)",
    accepts=[{}], rejects=[{"sink": True}],
    issue="https://github.com/ROCm/composable_kernel/pull/3368",
)  # fmt: skip
def headers_have_no_sinks(c: AttentionQuantities) -> BoolExpr:
    """Kernels of CK 2025.11 have no sinks.

    Why: no traits have the parameter; it came in December 2025.

    Fix: leave sinks out, or use headers of 2026.
    """
    return ~c.sink


@rule(
    "FGEN022", "sinks-not-listed", kind="profile", profiles=w.profiles(), since="2026.06",
    says="the generator of CK 2025.11 lists no kernels with sinks: sink = {sink}",
    source="example/ck_tile/01_fmha/codegen/ops/*.py: FmhaFwdPipeline (no F_sink, CK 2025.11)",
    accepts=[{}], rejects=[{"sink": True}],
)  # fmt: skip
def november_lists_no_sinks(c: AttentionQuantities) -> BoolExpr:
    """No list of November 2025 has sinks.

    Why: receipts are those of CK 2025.11 in every version. The generator of 2026 lists each kernel
    with and without.

    Fix: leave sinks out.
    """
    return ~c.sink


@rule(
    "FDSP011", "sinks-not-dispatched", kind="profile", profiles=("dispatcher",), since="2026.06",
    says="the dispatcher has no {variant} of {dtype} with sinks",
    source=f"{INSTANCES}: get_pipelines_for_config, get_splitkv_pipelines, get_pagedkv_pipelines, get_batch_prefill_pipelines",
    accepts=[{}, {"bias": "bias", "sink": True}, {**SPLIT_KERNEL, "sink": True}],
    rejects=[{**SPLIT_KERNEL, "dtype": "fp8", "sink": True},
             {"variant": "fmha_batch_prefill", "pipeline": "qr_async", "paged_kv": True, "sink": True}],
)  # fmt: skip
def sinks_are_dispatched(c: AttentionQuantities) -> BoolExpr:
    """Forward has sinks of every type; splits and pages have them of 16-bit types, batch prefill never.

    Why: the rows of traits say so, which are joined with sinks and without.

    Fix: leave sinks out.
    """
    caches = c.variant.isin(SPLIT, PAGED) & c.dtype.isin(*w.HALVES)
    return implies(c.sink, any_of(c.variant == FWD, caches))

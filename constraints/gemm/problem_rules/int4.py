"""GPROB: where int4 elements begin, of which a byte holds two and a word eight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_NARROW: Mapping[str, Any] = {"dtype": "fp16_i4"}
_PADDED: Mapping[str, Any] = {**_NARROW, "pad_k": True}


@rule(
    "GPROB040", "four-bits-not-in-eights", kind="wrong-result", until="2026.06",
    applies=lambda c: c.narrow_a | c.narrow_b,
    says="{length_narrow} contiguous int4 elements are not a multiple of the 8 that are widened together",
    source=["host/permute_pk_int4.hpp: permute_vectors_i4x4_b (4 bytes at a time, of the whole tensor)",
            "ops/elementwise/unary_element_wise_operation.hpp: PassThroughPack8 (run)"],
    accepts=[_NARROW, {**_PADDED, "K": 520}],
    rejects=[{**_PADDED, "tile_n": 32, "tile_k": 32, "wave_m": 4, "wave_n": 1, "K": 516}],
)  # fmt: skip
def narrow_rows_are_in_eights(c: GemmProblem) -> BoolExpr:
    """Rows, or columns, of 4 bits are a multiple of eight elements.

    Why: eight elements are turned in their word on the host and widened together. With others the
    words of the second row begin within those of the first.

    Fix: pad the tensors along K.
    """
    return c.length_narrow % 8 == 0


@rule(
    "GPROB041", "four-bit-weights-in-parts", kind="wrong-result", until="2026.06",
    applies=lambda c: c.narrow_b,
    says=["a part of a sum begins in B a byte for each of the int4 weights of {dtype} behind: k_batch = {k_batch}",
          "a product of a batch begins in B a byte for each of the int4 weights of {dtype} behind: batch = {batch}"],
    source=["ops/gemm/kernel/universal_gemm_kernel.hpp: SplitKBatchOffset (bs_k_split_offset without PackedSize; run)",
            "ops/gemm/kernel/batched_gemm_kernel.hpp: BatchedGemmKernel::operator() (batch_offset_B; run)"],
    accepts=[_NARROW, {**_NARROW, "variant": "batched"},
             {**_NARROW, "variant": "grouped", "groups": 3}],
    rejects=[{**_NARROW, "k_batch": 2}, {**_NARROW, "variant": "batched", "batch": 2}],
)  # fmt: skip
def narrow_weights_are_whole(c: GemmProblem) -> BoolExpr:
    """int4 weights are multiplied in one part and one product; groups have addresses of their own.

    Why: the offset of a part, or of a product of a batch, is one of elements and is added to a
    pointer to bytes that hold two: each begins twice as far behind as it lies.

    Fix: use k_batch = 1, and launch the kernel for each product or use a grouped one.
    """
    return all_of(c.k_batch == 1, c.batch == 1)

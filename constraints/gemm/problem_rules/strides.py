"""GPROB: tensors whose rows, or columns, lie apart in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, implies
from ckrules.engine.rules import rule

_VIEWS = "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTensorViews (stride_As, stride_Bs, stride_E)"
_LIBRARY = "codegen/gemm/templates/gemm_host.cpp.j2: product_of"
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True,
}  # fmt: skip


@rule(
    "GPROB013", "rows-overlap", kind="launch", until="2026.06",
    says=["rows of A overlap: stride_a = {stride_a}, and {length_a=} elements are contiguous",
          "columns of B overlap: stride_b = {stride_b}, and {length_b=} elements are contiguous",
          "rows of C overlap: stride_c = {stride_c}, and {length_c=} elements are contiguous"],
    source=[_LIBRARY, _VIEWS],
    accepts=[{}, {"stride_a": 520, "stride_b": 512, "stride_c": 1024}],
    rejects=[{"stride_a": 256}, {"stride_c": 8}],
)  # fmt: skip
def rows_lie_apart(c: GemmProblem) -> BoolExpr:
    """A stride is at least as long as what is contiguous in the tensor.

    Why: results would overwrite each other. The kernel looks at no stride; the host libraries of
    `ckrules generate` refuse.

    Fix: use a larger stride, or none for packed tensors.
    """

    def apart(stride: IntExpr, length: IntExpr) -> BoolExpr:
        return (stride == 0) | (stride >= length)

    return all_of(
        apart(c.stride_a, c.length_a),
        apart(c.stride_b, c.length_b),
        apart(c.stride_c, c.length_c),
    )


@rule(
    "GPROB014", "strides-where-none-are", kind="launch", until="2026.06",
    says=["tensors of these kernels are packed: stride_a = {stride_a}, stride_b = {stride_b}, stride_c = {stride_c}",
          "pre-shuffled weights are packed: stride_b = {stride_b}",
          "int4 operands are packed: stride_b = {stride_b}",
          "int4 operands are packed: stride_a = {stride_a}"],
    source=[_LIBRARY, "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTensorViews (kFlatK of pre-shuffled weights)"],
    accepts=[{}, {**_WEIGHTS, "stride_a": 520}],
    rejects=[{**_WEIGHTS, "stride_b": 520}, {"variant": "batched", "stride_a": 520}],
)  # fmt: skip
def strides_have_their_kernel(c: GemmProblem) -> BoolExpr:
    """Plain kernels and those with D tensors take strides of A, B and C, pre-shuffled weights of A and C.

    Why: pre-shuffled weights are viewed as whole warp tiles, whatever stride is given. Host libraries
    of `ckrules generate` pack the products of a batch, groups and what stream-K adds to.

    Fix: pack the tensor.
    """
    packed = all_of(c.stride_a == 0, c.stride_b == 0, c.stride_c == 0)
    return all_of(
        implies(~c.strided, packed),
        implies(c.shuffled_b, c.stride_b == 0),
        implies(c.narrow_b, c.stride_b == 0),
        implies(c.narrow_a, c.stride_a == 0),
    )

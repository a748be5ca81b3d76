"""GPROB: several products in one launch, and what stream-K shares out of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BATCHED, GROUPED, STREAMK
from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_SK: Mapping[str, Any] = {"variant": "stream_k", "streamk": "atomic"}

#: Groups that a launch of ours describes in its arguments (runtime/ckrules_gemm.h).
MOST_GROUPS = 32


@rule(
    "GPROB010", "several-products-elsewhere", kind="launch",
    says=["{variant} computes one product a launch: batch = {batch}",
          "{variant} computes one product a launch: groups = {groups}"],
    source=[f"{BATCHED}::GridSize (batch_count)", f"{GROUPED}::GridSize (gemm_descs)"],
    accepts=[{}, {"variant": "batched", "batch": 3}, {"variant": "grouped", "groups": 3}],
    rejects=[{"batch": 3}, {"variant": "batched", "groups": 3}],
)  # fmt: skip
def several_have_their_kernel(c: GemmProblem) -> BoolExpr:
    """Products of one size are computed together by batched kernels, others by grouped ones.

    Why: other kernels have arguments for one product.

    Fix: use the other variant.
    """
    return all_of(
        implies(c.variant != "batched", c.batch == 1),
        implies(c.variant != "grouped", c.groups == 1),
    )


@rule(
    "GPROB011", "more-groups-than-arguments", kind="launch", until="2026.06",
    says="{groups} groups are more than the arguments of a launch describe: 32",
    source=f"{GROUPED}: GemmTransKernelArg (80 bytes a group; runtime/ckrules_gemm.h)",
    accepts=[{"variant": "grouped", "groups": 32}], rejects=[{"variant": "grouped", "groups": 33}],
)  # fmt: skip
def groups_fit_arguments(c: GemmProblem) -> BoolExpr:
    """A launch computes at most 32 groups.

    Why: `ckrules generate` puts what describes the groups into the arguments of the launch, where
    upstream copies it to the GPU beforehand.

    Fix: launch the kernel several times.
    """
    return c.groups <= MOST_GROUPS


@rule(
    "GPROB023", "steps-not-whole-when-shared-out", kind="wrong-result", until="2026.09",
    applies=lambda c: c.variant == "stream_k",
    says="K = {K} is not a multiple of tile_k = {tile_k}, and {variant} assigns whole steps to blocks",
    source=f"{STREAMK}::StreamKGemm (k_size of a part is a multiple of the step)",
    issue="ROCm/rocm-libraries#7584",
    accepts=[_SK, {**_SK, "pad_k": True, "M": 128, "N": 128, "K": 40}],
    rejects=[{**_SK, "pad_k": True, "K": 520}, {**_SK, "pad_k": True, "K": 40}],
)  # fmt: skip
def shared_steps_are_whole(c: GemmProblem) -> BoolExpr:
    """K is a multiple of the step for stream-K, or the whole product is one step.

    Why: a part of a tile has whole steps, and its views end with the last of them, so
    that padding does not begin where K ends. What lies behind K is added to the sum, wherever
    a tile is split. Fewer steps than blocks are not shared out
    (ops/gemm/kernel/streamk_gemm_tile_partitioner_impl.hpp: total_sk_iters_), and how many blocks
    there are depends on the GPU: but a single step never is. Since 2026.09 views of the last step
    end with K.

    Fix: pad the tensors along K, or use a kernel without stream-K.
    """
    single = all_of(c.tile_m >= c.M, c.tile_n >= c.N, c.tile_k >= c.K)
    return (c.K % c.tile_k == 0) | single


@rule(
    "GPROB012", "batch-beyond-offset", kind="launch",
    applies=lambda c: c.variant == "batched",
    says=["{batch} products are more than offsets of 32 bits reach: A has {batch * M * K=} elements",
          "{batch} products are more than offsets of 32 bits reach: B has {batch * N * K=} elements",
          "{batch} products are more than offsets of 32 bits reach: C has {batch * M * N=} elements"],
    source=f"{BATCHED}: batch_stride_A and i_batch * batch_stride_A are index_t",
    accepts=[{"variant": "batched", "batch": 2}],
    rejects=[{"variant": "batched", "batch": 65536}],
)  # fmt: skip
def batch_offsets_fit(c: GemmProblem) -> BoolExpr:
    """No tensor of a batch has 2**31 elements.

    Why: the kernel computes the offset of a product in 32 bits with a sign. Host libraries of
    `ckrules generate` refuse what does not fit.

    Fix: launch the kernel several times.
    """
    most = 2**31
    return all_of(
        c.batch * c.M * c.K < most, c.batch * c.N * c.K < most, c.batch * c.M * c.N < most
    )

"""Which products a kernel takes: what the collectives' ``can_implement`` test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.gemm import problem_fields
from ckrules.engine.expr import BoolExpr, Expr, IntExpr, Value, all_of, ceil_div, ite, round_up
from ckrules.engine.rules import rule
from ckrules.engine.rules.book import quantity
from ckrules_cutlass.vocabulary import BASELINE, HopperGemm, facts, fields
from ckrules_cutlass.words import LAYOUTS

_LOADS = "gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp: can_implement"
_STORES = "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp: can_implement"

#: A kernel with a block for each tile.
_TILES: Mapping[str, Any] = {"schedule": "warpspecialized", "tile_n": 8}


class HopperProblem(problem_fields.ProductSizes, HopperGemm):
    """A kernel and a product."""

    baseline: Mapping[str, Value] = {**BASELINE, **problem_fields.BASELINE}

    @quantity
    def length_a(self) -> IntExpr:
        """Elements of A that lie side by side."""
        return ite(self.layout.isin(*(w for w in LAYOUTS if w[0] == "t")), self.K, self.M)

    @quantity
    def length_b(self) -> IntExpr:
        """Elements of B that lie side by side."""
        return ite(self.layout.isin(*(w for w in LAYOUTS if w[1] == "n")), self.K, self.N)

    @quantity
    def length_d(self) -> IntExpr:
        """Elements of C and D that lie side by side."""
        return ite(self.c_row, self.N, self.M)

    @quantity
    def columns_of_tiles(self) -> IntExpr:
        """Tiles along N, those that fill up a cluster too."""
        return round_up(ceil_div(self.N, self.tile_n), self.cluster_n)


def problem_vocabulary(ck: str, gpus: Sequence[Any], sizes: Sequence[Expr]) -> HopperProblem:
    """Fields of kernel and product."""
    return HopperProblem([*fields([g.name for g in gpus]), *sizes], facts(gpus), ck)


@rule(
    "CUTP001", "rows-of-a-not-of-16-bytes", kind="launch", source=_LOADS,
    accepts=[{}, {"layout": "nnn", "K": 3}], rejects=[{"K": 500}, {"layout": "ntn", "M": 3}],
    says="bytes of A side by side: {length_a * operand_bytes=} is not a multiple of 16",
)  # fmt: skip
def rows_of_a_are_aligned(c: HopperProblem) -> BoolExpr:
    """A has a multiple of 16 bytes along its contiguous dimension.

    Why: a stride of a tensor map is a multiple of 16 bytes.

    Fix: pad K, or M where A is column-major.
    """
    return c.length_a * c.operand_bytes % 16 == 0


@rule(
    "CUTP002", "rows-of-b-not-of-16-bytes", kind="launch", source=_LOADS,
    accepts=[{}, {"layout": "ttn", "N": 8}], rejects=[{"K": 500}, {"layout": "ntn", "N": 3}],
    says="bytes of B side by side: {length_b * operand_bytes=} is not a multiple of 16",
)  # fmt: skip
def rows_of_b_are_aligned(c: HopperProblem) -> BoolExpr:
    """B has a multiple of 16 bytes along its contiguous dimension.

    Why: a stride of a tensor map is a multiple of 16 bytes.

    Fix: pad K, or N where B is row-major.
    """
    return c.length_b * c.operand_bytes % 16 == 0


@rule(
    "CUTP003", "rows-of-d-not-of-16-bytes", kind="launch", source=_STORES,
    applies=lambda c: c.tma_epilogue,
    accepts=[{}, {"layout": "tnt", "M": 3}], rejects=[{"M": 500}, {"layout": "tnt", "N": 3}],
    says="bytes of D side by side: {length_d * output_bytes=} is not a multiple of 16",
)  # fmt: skip
def rows_of_d_are_aligned(c: HopperProblem) -> BoolExpr:
    """D has a multiple of 16 bytes along its contiguous dimension.

    Why: a stride of a tensor map is a multiple of 16 bytes.

    Fix: pad M, or N where D is row-major, or set epilogue to nosmem.
    """
    return c.length_d * c.output_bytes % 16 == 0


@rule(
    "CUTP004", "rows-of-c-not-of-16-bytes", kind="launch", source=_STORES,
    applies=lambda c: c.tma_epilogue & c.source,
    accepts=[{"c_dtype": "fp16"}], rejects=[{"c_dtype": "fp8", "M": 504}],
    says="bytes of C side by side: {length_d * source_bytes=} is not a multiple of 16",
)  # fmt: skip
def rows_of_c_are_aligned(c: HopperProblem) -> BoolExpr:
    """C has a multiple of 16 bytes along its contiguous dimension.

    Why: a stride of a tensor map is a multiple of 16 bytes.

    Fix: pad M, or N where C is row-major, or set epilogue to nosmem.
    """
    return c.length_d * c.source_bytes % 16 == 0


@rule(
    "CUTP006", "grid-beyond-cuda", kind="launch",
    applies=lambda c: ~(c.cooperative | c.pingpong),
    source=["gemm/kernel/sm90_gemm_tma_warpspecialized.hpp: get_grid_shape (N on y, batch on z)",
            "CUDA C++ Programming Guide 13.0, Compute Capabilities (so on an H200)"],
    accepts=[_TILES, {**_TILES, "N": 524280}, {**_TILES, "batch": 65535}],
    rejects=[{**_TILES, "N": 524288}, {**_TILES, "batch": 65536},
             {**_TILES, "cluster_n": 2, "N": 524280}],
    says=["{N} columns are {columns_of_tiles} tiles of {tile_n} in whole clusters, at most 65535",
          "a batch has {batch} products, expected at most 65535"],
)  # fmt: skip
def grid_is_within_cudas(c: HopperProblem) -> BoolExpr:
    """Kernels that are not persistent have at most 65535 tiles along N, and products.

    Why: CUDA launches no more blocks along y and z, and can_implement does not ask.

    Fix: use a persistent schedule, a larger tile_n, or several launches.
    """
    return all_of(c.columns_of_tiles <= 65535, c.batch <= 65535)


@rule(
    "CUTP005", "product-not-packed", kind="launch",
    source="ckrules_cutlass/templates/kernel.cu.j2: arguments",
    accepts=[{}, {"batch": 2}], rejects=[{"k_batch": 2}, {"groups": 2}, {"stride_a": 4096}],
)  # fmt: skip
def products_are_packed(c: HopperProblem) -> BoolExpr:
    """A product is one or a batch, in one part, with nothing between rows.

    Why: the host library passes sizes only.

    Fix: copy the operands together.
    """
    apart = c.stride_a + c.stride_b + c.stride_c
    return (c.k_batch == 1) & (c.groups == 1) & (apart == 0)

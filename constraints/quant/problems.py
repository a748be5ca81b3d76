"""Matrix products as problems of quantised GEMMs: the scales belong to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ckrules.constraints.gemm import problem_fields
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.constraints.quant import vocabulary as quant
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.constraints.tile_gemm.tails import end_of_loop, scheduled_for_eight
from ckrules.engine.expr import (
    FALSE,
    TRUE,
    BoolExpr,
    IntExpr,
    all_of,
    ceil_div,
    ite,
    maximum,
    minimum,
)
from ckrules.engine.rules.book import quantity, quantity_in

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class QuantProblem(QuantQuantities, problem_fields.GemmProblem):
    """A quantised GEMM and a product."""

    strided = TRUE
    """Always: every kernel takes strides."""
    deals_warp_tiles = False
    """Never: all parts but the last are alike."""

    @property
    def finds_rows_by_64_bits(self) -> BoolExpr:
        """Since 2026.09 of rowcol_quant with rows of A and of C.

        Source: ops/gemm_quant/kernel/gemm_quant_kernel.hpp: IsLargeTensorMOffsettingSupported
        (read in ROCm/rocm-libraries @ 05fca22).
        """
        rows = all_of(self.variant == "rowcol_quant", ~self.a_transposed, self.c_row)
        return rows if self.since("2026.09") else FALSE

    @property
    def splits_shuffled_b(self) -> BoolExpr:
        """Since 2026.09 of bquant.

        Source: ops/gemm_quant/kernel/gemm_quant_kernel.hpp: SplitKBatchOffset (N_Warp_Tile; read
        in ROCm/rocm-libraries @ 05fca22, and not there @ ea58c2b).
        """
        return (self.variant == "bquant") if self.since("2026.09") else FALSE

    @quantity
    def checked_vector_a(self) -> IntExpr:
        """Elements of A that must divide its contiguous dimension."""
        padded = ite(self.a_transposed, self.pad_m, self.pad_k)
        narrow = self.a_transposed & self.narrow_a
        widest = self._widest(self.a_transposed, self.tile_m, narrow)
        return self._checked(self.host_vector_a, ite(padded, 1, widest))

    @quantity
    def checked_vector_b(self) -> IntExpr:
        """Elements of B that must divide its contiguous dimension; columns ask how N is padded."""
        padded = ite(self.b_transposed, self.pad_k, self.pad_n)
        widest = self._widest(self.b_transposed, self.tile_n, self.narrow_b)
        return self._checked(self.host_vector_b, ite(padded, 1, widest))

    @cached_property
    def host_vector_a(self) -> IntExpr:
        """Elements of A that the host takes a thread to load at once."""
        extent: IntExpr = ite(self.a_transposed, self.tile_m, self.tile_k)
        return self._of_host(self.narrow_a, extent, self.tile_m, self.vector_a)

    @cached_property
    def host_vector_b(self) -> IntExpr:
        """Elements of B that the host takes a thread to load at once."""
        extent: IntExpr = ite(self.b_transposed, self.tile_n, self.tile_k)
        return self._of_host(self.narrow_b, extent, self.tile_n, self.vector_b)

    def _of_host(self, narrow: BoolExpr, extent: IntExpr, side: IntExpr, own: IntExpr) -> IntExpr:
        # The host counts 64 lanes to a wave: where there are 32 it computes the width for twice
        # the threads, or for half of the tile.
        plain = self.computed_width(extent, side // 2, self.element_bytes)
        width: IntExpr = ite(narrow, self.narrow_width(extent, side // 2), plain)
        return own if self.since("2026.06") else ite(self.wave_size == 32, width, own)

    def _widest(self, transposed: BoolExpr, extent: IntExpr, narrow: BoolExpr) -> IntExpr:
        # GemmPipelineProblemBase::GetAlignmentA and GetAlignmentB: 16 bytes, or a lane's share
        width: IntExpr = ite(narrow, 32, 16)
        return minimum(ite(transposed, extent * self.tile_k // self.threads, width), width)

    @quantity_in("scales")
    def sum_scales(self) -> IntExpr:
        """Scales of a whole row of A, or of a column of B, along K."""
        return ceil_div(self.K, self.group_k)

    @quantity
    def part_tiles(self) -> IntExpr:
        """Block tiles of a part of a split sum, the last part apart."""
        return ceil_div(self.part_length, self.tile_k)

    @quantity
    def last_tiles(self) -> IntExpr:
        """Block tiles of the last part of a split sum."""
        return ceil_div(maximum(self.last_part, 1), self.tile_k)

    @quantity
    def part_end(self) -> IntExpr:
        """How the loop of a part ends, a number for each hot loop and tail; the last part apart."""
        return self._end(self.part_tiles)

    @quantity
    def last_end(self) -> IntExpr:
        """How the loop of the last part ends, in the numbers of part_end."""
        return self._end(self.last_tiles)

    def _end(self, tiles: IntExpr) -> IntExpr:
        eight = scheduled_for_eight(self) & ~self.shuffled_b
        return end_of_loop(tiles, eight, self.shuffled_b)

    @quantity
    def sum_tiles(self) -> IntExpr:
        """Block tiles of a sum."""
        return ceil_div(self.K, self.tile_k)

    @quantity
    def summed_tiles(self) -> IntExpr:
        """Block tiles that mem of aquant sums: whole rounds of its stages, then one or two."""
        stages = self.mem_stages
        rounds = ceil_div(self.sum_tiles - stages, stages) * stages
        tail: IntExpr = ite(self.sum_tiles % 2 == 0, 2, 1)
        return ite(self.sum_tiles > stages, rounds, 0) + tail

    @quantity
    def tail_tiles(self) -> IntExpr:
        """Block tiles that mem sums behind its rounds since 2026.06: one to all of its stages."""
        return (self.sum_tiles - 1) % self.mem_stages + 1


class QuantProblems(GemmProblems):
    """Matrix products with scales."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and product, with what follows from them."""
        every = [*quant.fields([g.name for g in gpus]), *problem_fields.fields()]
        words = QuantProblem(every, quant.facts(gpus, ck), ck)
        words.baseline = {**quant.BASELINE, **problem_fields.BASELINE}
        return words

    def rules(self) -> list[RuleDef]:
        """What ``QuantGemmKernel::IsSupportedArgument`` tests, and what it should."""
        from ckrules.constraints.gemm import problem_rules as gemm
        from ckrules.constraints.quant import problem_rules as quant_rules
        from ckrules.constraints.quant.inherited import PROBLEM_EXAMPLES
        from ckrules.engine.rules.book import collect

        shared = collect(gemm, examples=PROBLEM_EXAMPLES)
        return [r for r in shared if r.code in PROBLEM_EXAMPLES] + collect(quant_rules)

    def smoke(self, config: Point) -> list[MatrixProduct]:
        """Those of other GEMMs whose sums are whole, and one whose rows lie apart."""
        from ckrules.constraints.gemm.device.smoke import apart

        whole = [p for p in super().smoke(config) if p.k_batch == 1]
        return [*whole, apart(config, config["pipeline"] == "preshufflev2")]

    def tensors(self, problem: MatrixProduct, config: Point) -> Tensors:
        """A, B, their scales and C."""
        from ckrules.constraints.quant.device.tensors import QuantTensors

        return QuantTensors(problem, config)

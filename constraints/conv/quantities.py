"""What a grouped convolution is as a GEMM: roles of the tensors, and where it differs.

GEMM roles (ops/grouped_convolution/utils/grouped_convolution_utils.hpp, GroupedConvTraits):

| variant    | A                          | B                     | C   |
| ---        | ---                        | ---                   | --- |
| forward    | input, K contiguous        | weight, K contiguous  | output |
| bwd_data   | output grad, K contiguous  | weight, N contiguous  | input grad |
| bwd_weight | output grad, M contiguous  | input, N contiguous   | weight grad |

Since 2026.06 forward with merged groups has A with M contiguous.
"""

from __future__ import annotations

from functools import cached_property

from ckrules.constraints.tile_gemm import registers
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import (
    BoolExpr,
    EnumExpr,
    IntExpr,
    ceil_div,
    const,
    ite,
    lookup,
    maximum,
    minimum,
)
from ckrules.engine.rules.book import quantity, quantity_in


class ConvQuantities(TileGemm):
    """Fields, facts and quantities of a grouped-convolution kernel."""

    variant: EnumExpr
    ndim: IntExpr
    layout: EnumExpr
    num_groups_to_merge: IntExpr
    specialization: EnumExpr
    two_stage: BoolExpr
    explicit_gemm: BoolExpr
    split_image: BoolExpr
    streamk: EnumExpr
    streamk_persistent: BoolExpr
    block_per_cu: IntExpr

    @property
    def forward(self) -> BoolExpr:
        """Forward convolution."""
        return self.variant == "forward"

    @property
    def backward(self) -> BoolExpr:
        """Backward data or backward weight."""
        return self.variant.isin("bwd_data", "bwd_weight")

    @property
    def bwd_weight(self) -> BoolExpr:
        """Backward weight."""
        return self.variant == "bwd_weight"

    @cached_property
    def a_transposed(self) -> BoolExpr:
        """True where M, not K, is contiguous in A."""
        merged = self.forward & (self.num_groups_to_merge > 1)
        return self.bwd_weight | merged if self.since("2026.06") else self.bwd_weight

    @cached_property
    def b_transposed(self) -> BoolExpr:
        """True where N, not K, is contiguous in B."""
        return self.backward

    @property
    def shuffles_singly(self) -> BoolExpr:
        """True where the epilogue is told of two LDS buffers: not in stream-K.

        Source: the template of such kernels here, codegen/conv/templates/pipeline.hpp.j2.
        """
        return self.double_smem_buffer & (self.streamk == "off")

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element that the epilogue stores: fp32 into a two-stage workspace."""
        return ite(self.two_stage, 4, self.element_bytes)

    @cached_property
    def swizzled_layout(self) -> BoolExpr:
        """True for pipelines that since 2026.06 take convolution's own LDS layout.

        It swizzles, and neither folds nor pads (GroupedConvUniversalPipelineAgBgCrPolicy).
        """
        return self.pipeline.isin("basic_v1", "basic_v2", "mem", "compv3", "wavelet")

    @cached_property
    def gemm_layout(self) -> BoolExpr:
        """True for the pipelines that since 2026.06 keep the LDS layout of plain GEMMs."""
        return self.pipeline.isin("compv4", "compv5", "compv6")

    @quantity
    def mem_stages(self) -> IntExpr:
        """Block tiles that pipeline mem has under way at once."""
        tile = (self.tile_m + self.tile_n) * self.tile_k * self.element_bytes
        blocks = maximum(4 // self.waves, 1)
        return minimum(maximum(ceil_div(32768 // blocks, tile), 2), 8)

    # -- registers and launch bound ----------------------------------------------------------

    @property
    def own_register_terms(self) -> dict[str, IntExpr]:
        """Addresses in images, a coordinate of each dimension for each load; K is always padded."""
        merged = self.num_groups_to_merge > 1
        single = self.specialization.isin("filter1x1_pad0", "filter1x1_stride1_pad0")
        return {
            "images": const(1),
            "staged and padded": self.staging_vgprs,
            "coordinates": self.ndim * self.loads,
            "third dimension": ite(self.ndim == 3, 1, 0),
            "accumulators of merged groups": ite(merged, self.accumulator_vgprs, 0),
            "gradient of the input": ite(self.variant == "bwd_data", 1, 0),
            "operands of 1x1 filters": ite(single, self.operand_vgprs, 0),
        }

    @quantity
    def launch_blocks(self) -> IntExpr:
        """The launch bound: block_per_cu, or what upstream takes where that is 0."""
        single = self.pipeline.isin("compv4", "comp_async")
        double = self.pipeline.isin("basic_v1", "basic_v2", "basic_async_v1", "wavelet")
        upstream = ite(single | (self.double_smem_buffer & ~double), 1, 2)
        return ite(self.block_per_cu > 0, self.block_per_cu, upstream)

    @quantity
    def bound_blocks(self) -> IntExpr:
        """The fewest blocks of which a SIMD has as many waves as the launch bound.

        They share the SIMDs, and the LDS, of one compute unit, on RDNA of the two of a work-group
        processor.
        """
        waves = self.launch_threads // self.wave_size
        fewest = (self.launch_blocks - 1) * registers.SIMDS // waves + 1
        return ite(self._simds == 0, 0, fewest)

    @quantity_in("bytes")
    def shared_lds(self) -> IntExpr:
        """LDS that the SIMDs have of which each works on a part of a block's waves."""
        capacity: IntExpr = lookup(self.facts["lds_capacity"], self.arch)
        return capacity * (registers.SIMDS // maximum(self._simds, 1))

    @property
    def _simds(self) -> IntExpr:
        """SIMDs of a compute unit, 0 where nobody has said."""
        node: IntExpr = lookup(self.facts["simds"], self.arch)
        return node

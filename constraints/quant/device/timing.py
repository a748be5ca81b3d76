"""The time of quantised GEMMs: that of a GEMM, and what it takes to come by scales and apply them.

Counted is what the headers of CK 2025.11 do and clang 19 and 22 make of it (instructions in the hot
loops of kernels for gfx942 and gfx1201). Sums of a group are scaled and added to the results by one
operation for each element, before which MFMA's partial sums are moved out of the accumulation
registers. aquant asks the lanes of a row for its scale, once for each row that a lane holds.
Scales of rows and columns are read at the end, four rows side by side at once.

Sources: ops/gemm_quant/block/block_universal_gemm_as_aquant_bs_cr.hpp: AQPicker, operator();
block_universal_gemm_as_bs_bquant_cr.hpp and block_universal_gemm_ar_flatbr_bquant_cr.hpp:
operator(); ops/gemm_quant/pipeline/gemm_group_quant_utils.hpp: tile_distribution_encoding_pattern_aq
and _bq; ops/epilogue/cshuffle_epilogue.hpp: scale_tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.device.timing import TimingWithScales
from ckrules.constraints.quant.words import TYPES
from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device.terms import Elements, KernelTerms, numbers

if TYPE_CHECKING:
    from ckrules.kernels.timing import Floats

_GROUPS = ("dtype_scale", "group_n", "group_k")


class QuantTiming(TimingWithScales):
    """Estimates for products with scales; see the module for what is counted."""

    family = "quant"
    words = TYPES
    quantities = (
        *terms.QUANTITIES, "variant", "dtype_c", *_GROUPS, "scales_k", "vector_scale", "repeat_m",
        "repeat_n", "lane_elements", "wave_size", "transpose_c", "preshuffle_quant",
    )  # fmt: skip
    apart = ("variant", "arch", "dtype", "dtype_c", *_GROUPS)

    def multiplied(self, word: str) -> str:
        """The type that matrix instructions see on both sides."""
        return TYPES[word][2]

    def vectors(self, kernels: Mapping[str, Any]) -> tuple[float, float]:
        """A scale of fp32 each for rows and columns."""
        return (4.0, 4.0) if _variant(kernels) == "rowcol_quant" else (0.0, 0.0)

    def elements(self, kernels: Mapping[str, Any]) -> Elements:
        """Those of a GEMM, with their scales and what is done with them."""
        found, variant, k = super().elements(kernels), _variant(kernels), numbers(kernels)
        warp_tiles = k.waves * k.repeat_m * k.repeat_n
        if variant == "rowcol_quant":
            return found._replace(last_loads=warp_tiles * (k.lane_elements / 4 + 1))
        if variant == "tensor_quant":
            return found
        size = k.table("dtype_scale", {t: DTYPES[t] / 8 for t in k.words("dtype_scale")})
        scaled = k.tile_m * k.tile_n * k.scales_k
        moves = np.where(k.wave_size == 64, 1, 0)
        found = found._replace(operations=found.operations + scaled * (1 + moves))
        return _of_a(found, k, size) if variant == "aquant" else _of_b(found, k, size)


TIMING = QuantTiming()


def _variant(kernels: Mapping[str, Any]) -> str:
    return numbers(kernels).only("variant")


def _of_a(found: Elements, k: KernelTerms, size: Floats) -> Elements:
    """Groups of A's rows: lanes hand each other the scales of the rows that they have sums of.

    With transposed C a lane has sums of one row, whose scale it loads itself unless shuffled.
    """
    rows = np.where(k.transpose_c > 0, k.preshuffle_quant, k.lane_elements)
    asked = k.waves * k.repeat_m * k.scales_k * rows * k.wave_size
    return found._replace(
        scales_a=size / k.group_k,
        exchanged=4 * asked,
        loads=k.waves * k.repeat_m * k.scales_k / k.vector_scale,
    )


def _of_b(found: Elements, k: KernelTerms, size: Floats) -> Elements:
    """Blocks of B: a wave has a scale for each of its warp tiles along N, or one for several."""
    across = np.minimum(k.repeat_n, k.tile_n / k.group_n)
    return found._replace(
        scales_b=size / (k.group_k * k.group_n),
        loads=k.waves * across * k.scales_k / k.vector_scale,
    )

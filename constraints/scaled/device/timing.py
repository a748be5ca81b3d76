"""The time of GEMMs with scales: that of a GEMM, with the bytes of scales and what applies them.

flatmm multiplies rows and columns by their scales at the end, which the constants of GEMMs hold
already: they were fitted to such kernels. Kernels with block scales do for each 128 products of a
sum what `ckrules.constraints.quant.device.timing` counts of groups: scale the sums of a block, and
load the scales of A's rows and of B's block. Nothing was counted in their code.

Sources: ops/epilogue/cshuffle_epilogue.hpp: scale_tile; ops/gemm_quant/block/
block_universal_gemm_as_aquant_bs_bquant_cr.hpp: operator() (CK 2026.06, read).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.constraints.gemm.device.timing import TimingWithScales
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.scaled.problem import ExpertProduct
from ckrules.constraints.scaled.words import GROUP, MICRO, MX, MX_GEMM, NARROW, TYPES
from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device.terms import Elements, numbers

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.constraints.tile_gemm.device.timing import GemmWork

#: Bytes of a scale.
_SCALE = 4.0


class ScaledTiming(TimingWithScales):
    """Estimates for products with scales; see the module for what is counted."""

    family = "scaled"
    words = TYPES
    quantities = (
        *terms.QUANTITIES, "variant", "dtype_c", "repeat_m", "repeat_n", "wave_size", "scales",
    )  # fmt: skip
    apart = ("variant", "arch", "dtype", "dtype_c", "scales")

    def work(self, kernels: Mapping[str, Any], problem: MatrixProduct) -> GemmWork:
        """As for other GEMMs; of tokens, one product for each expert that any of them meets.

        Tokens are taken to meet all experts alike, which routing need not do.
        """
        if isinstance(problem, ExpertProduct):
            p, rows = problem, problem.m * problem.topk
            met = min(p.experts, rows)
            whole = MatrixProduct(math.ceil(rows / met), p.n, p.k, p.k_batch, met)
            return super().work(kernels, whole)._replace(m=rows / met, flops=float(p.flops))
        return super().work(kernels, problem)

    def fitted(self, kernels: Mapping[str, Any], gpu: Gpu) -> bool:
        """Whether they are flatmm's, of fp8, on one of the two GPUs whose tables were read."""
        k = numbers(kernels)
        known = k.words("variant") == ["flatmm"] and k.words("dtype") == ["fp8"]
        return known and gpu.name in ("gfx942", "gfx950")

    def vectors(self, kernels: Mapping[str, Any]) -> tuple[float, float]:
        """A scale of fp32 each for rows and columns, of flatmm."""
        flat = numbers(kernels).only("variant") == "flatmm"
        return (_SCALE, _SCALE) if flat else (0.0, 0.0)

    def elements(self, kernels: Mapping[str, Any]) -> Elements:
        """Those of a GEMM, with their scales and what is done with them."""
        found, k = super().elements(kernels), numbers(kernels)
        if k.only("dtype") in NARROW:
            found = found._replace(b=0.5, scales_b=1 / MICRO)
        if k.only("variant") in (MX, MX_GEMM):
            found = found._replace(scales_a=1 / MICRO, scales_b=1 / MICRO)
            found = found._replace(a=0.5, b=0.5) if k.only("dtype") == "fp4" else found
        if k.only("variant") != "abquant":
            return found
        groups = k.tile_k / GROUP
        moves = np.where(k.wave_size == 64, 1, 0)
        return found._replace(
            operations=k.tile_m * k.tile_n * groups * (1 + moves),
            loads=k.waves * (k.repeat_m + 1) * groups,
            scales_a=_SCALE / GROUP,
            scales_b=_SCALE / GROUP**2,
        )


TIMING = ScaledTiming()

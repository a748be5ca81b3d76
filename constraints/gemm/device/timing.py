"""The time of GEMM kernels: the bytes that a product moves, and how often it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.words import TYPES
from ckrules.constraints.tile_gemm.device import timing as gemm
from ckrules.constraints.tile_gemm.device.timing import Work
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import Product as Card
    from ckrules.constraints.gemm.problem import Product
    from ckrules.kernels.family import Point
    from ckrules.kernels.timing import Estimate


class GemmTiming:
    """Estimates for products, batches, groups and split sums.

    The constants were fitted to convolutions on gfx950 (`scripts/fit_timing.py`): for GEMMs all of
    them are assumptions.
    """

    quantities = (*gemm.QUANTITIES, "variant", "dtype_c", "num_d")
    columns: tuple[str, ...] = ()

    def estimate(
        self, kernels: Mapping[str, Any], problem: Product, gpu: Gpu, product: Card
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        given = kernels["dtype"]
        # matrix instructions are those of A's type; narrower weights are widened to it
        first = replace(given, values=[TYPES[str(word)][0] for word in given.values])
        found = gemm.estimate({**kernels, "dtype": first}, work(kernels, problem), gpu, product)
        fitted = "constants fitted to convolutions of gfx950 in bf16"
        return replace(found, assumed={**found.assumed, "family = gemm": fitted})

    def measured(self, row: Mapping[str, str], gpu: str) -> Point | None:
        """None: upstream's tables of GEMMs name their kernels."""
        return None


TIMING = GemmTiming()


def work(kernels: Mapping[str, Any], problem: Product) -> Work:
    """A product as each kernel computes it; groups count as products of their mean size."""
    a_bytes, b_bytes = (DTYPES[t] / 8 for t in TYPES[_only(kernels["dtype"], "dtype")][:2])
    results = kernels["dtype_c"]
    c_bytes = np.asarray([DTYPES[str(t)] / 8 for t in results.values])[results.codes]
    ds = np.asarray(kernels["num_d"].values, dtype=np.float64)[kernels["num_d"].codes]
    p = problem
    sides = [sum(found) / len(p.groups) for found in zip(*p.groups, strict=True)]
    m, n = sides
    area = p.batch * sum(m * n for m, n in p.groups)
    rows, columns = (p.batch * side * len(p.groups) for side in sides)
    read = rows * p.k * a_bytes + columns * p.k * b_bytes
    # parts of a sum are added up in memory; tensors D are as large as C
    written = area * c_bytes * (p.k_batch + ds)
    count = float(p.batch * len(p.groups) * p.k_batch)
    return Work(
        m, n, math.ceil(p.k / p.k_batch), count, float(read), written, float(p.flops),
        max(1, int(a_bytes)),
    )  # fmt: skip


def _only(column: Any, name: str) -> str:
    found = column.used()
    if len(found) != 1:
        raise UsageError(f"kernels of one {name} can be compared, these have {sorted(found)}")
    return str(found[0])

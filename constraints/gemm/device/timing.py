"""The time of GEMM kernels: the bytes that a product moves, and how often it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.problem import Product
from ckrules.constraints.gemm.words import TYPES
from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device import timing as gemm
from ckrules.constraints.tile_gemm.device.timing import Work
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import Product as Card
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate, Floats


#: M (tokens), N and K of a layer of 4,096 features: what it projects, widens and narrows.
USUAL = (
    (4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336),
    (64, 4096, 4096), (64, 14336, 4096), (64, 4096, 14336),
)  # fmt: skip


class GemmTiming:
    """Estimates for products, batches, groups and split sums.

    The constants were fitted to convolutions on gfx950 (`scripts/fit_timing.py`): for GEMMs all of
    them are assumptions.
    """

    quantities = (*terms.QUANTITIES, "variant", "dtype_c", "num_d")
    columns: tuple[str, ...] = ()
    apart = ("variant", "arch", "dtype", "dtype_c", "num_d")

    def estimate(
        self, kernels: Mapping[str, Any], problem: Product, gpu: Gpu, product: Card
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        found = gemm.estimate(_as_a(kernels), work(kernels, problem), gpu, product)
        fitted = "constants fitted to convolutions of gfx950 in bf16"
        return replace(found, assumed={**found.assumed, "family = gemm": fitted})

    def compiled(self, kernels: Mapping[str, Any], gpu: Gpu, product: Card) -> Mapping[str, Floats]:
        """See `ckrules.kernels.timing.Timing.compiled`."""
        a, b = _bytes(kernels)
        found = terms.compiled(_as_a(kernels), gpu, product, max(1, int(a)))
        results, ds = _results(kernels)
        ones = np.ones_like(results)
        return {**found, "bytes_a": a * ones, "bytes_b": b * ones, "bytes_c": results, "ds": ds,
                "two_stage": 0.0 * ones}  # fmt: skip

    def usual(self, values: Mapping[str, Sequence[Any]]) -> Sequence[Product]:
        """Products of language models' layers, for many tokens and for few; several if batched."""
        variants = set(values["variant"])
        batch = 8 if variants == {"batched"} else 1
        return [Product(m, n, k, batch=batch) for m, n, k in USUAL]

    def measured(self, row: Mapping[str, str], gpu: str) -> Point | None:
        """None: upstream's tables of GEMMs name their kernels."""
        return None


TIMING = GemmTiming()


def work(kernels: Mapping[str, Any], problem: Product) -> Work:
    """A product as each kernel computes it; groups count as products of their mean size."""
    a_bytes, b_bytes = _bytes(kernels)
    c_bytes, ds = _results(kernels)
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


def _as_a(kernels: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns with A's type, whose matrix instructions are used: narrower B is widened."""
    given = kernels["dtype"]
    return {
        **kernels,
        "dtype": replace(given, values=[TYPES[str(word)][0] for word in given.values]),
    }


def _bytes(kernels: Mapping[str, Any]) -> tuple[float, float]:
    """Of an element of A and of B."""
    a, b = (DTYPES[t] / 8 for t in TYPES[_only(kernels["dtype"], "dtype")][:2])
    return a, b


def _results(kernels: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """Bytes of an element of C, and tensors D, of each kernel."""
    results, ds = kernels["dtype_c"], kernels["num_d"]
    sizes = np.asarray([DTYPES[str(t)] / 8 for t in results.values])[results.codes]
    return sizes, np.asarray(ds.values, dtype=np.float64)[ds.codes]


def _only(column: Any, name: str) -> str:
    found = column.used()
    if len(found) != 1:
        raise UsageError(f"kernels of one {name} can be compared, these have {sorted(found)}")
    return str(found[0])

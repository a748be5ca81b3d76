"""The time of GEMM kernels: the bytes that a product moves, and how often it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.words import TYPES
from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device import timing as gemm
from ckrules.constraints.tile_gemm.device.terms import Elements, numbers
from ckrules.constraints.tile_gemm.device.timing import GemmWork
from ckrules.kernels.timing import PRINTED_RANGE, KernelColumns, once
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct as Card
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate, Floats


#: M (tokens), N and K of a layer of 4,096 features: what it projects, widens and narrows.
USUAL = (
    (4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336),
    (64, 4096, 4096), (64, 14336, 4096), (64, 4096, 14336),
)  # fmt: skip
_FITTED = "constants fitted to fp8 kernels with pre-shuffled weights of gfx942 and gfx950"
#: Vector operations that widen an int4 element; the table of bf16 is looked up in memory.
#: (ops/elementwise/unary_element_wise_operation.hpp, CK 2025.11: i4_to_half4,
#: amd_assembly_i4_to_fp8x8, amd_assembly_i4_to_bf8x8, i4_to_bhalf4)
WIDENING: Mapping[str, float] = {"fp16": 9 / 8, "fp8": 15 / 8, "bf8": 15 / 8, "bf16": 0.0}


class GemmTiming:
    """Estimates for products, batches, groups and split sums.

    The constants (`terms.GEMMS`) were fitted to fp8 kernels with pre-shuffled weights of gfx942 and
    gfx950: for other GEMMs they are assumptions.
    """

    family = "gemm"
    words: ClassVar[Mapping[str, tuple[str, str, str]]] = TYPES
    quantities: Sequence[str] = (
        *terms.QUANTITIES, "variant", "num_wave_groups", "dtype_c", "num_d",
    )  # fmt: skip
    features: Sequence[str] = gemm.FEATURES
    situation: Sequence[str] = gemm.SITUATION
    columns: Sequence[str] = ()
    printed_range: float = PRINTED_RANGE
    apart: Sequence[str] = ("variant", "arch", "dtype", "dtype_c", "num_d")

    def estimate(
        self, kernels: Mapping[str, Any], problem: MatrixProduct, gpu: Gpu, product: Card
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        work = self.work(kernels, problem)
        assumed = {} if self.fitted(kernels, gpu) else {f"family = {self.family}": _FITTED}
        columns = self._multiplied(kernels)
        return gemm.estimate(columns, work, gpu, product, terms.GEMMS, assumed=assumed)

    def fitted(self, kernels: Mapping[str, Any], gpu: Gpu) -> bool:
        """Whether these are kernels such as the constants were fitted to."""
        return False

    def compiled(self, kernels: Mapping[str, Any], gpu: Gpu, product: Card) -> Mapping[str, Floats]:
        """See `ckrules.kernels.timing.Timing.compiled`."""
        e = self.elements(kernels)
        found = terms.compiled(self._multiplied(kernels), gpu, product, e, terms.GEMMS)
        ones = np.ones_like(e.c)
        return {**found, "bytes_a": e.a * ones, "bytes_b": e.b * ones, "bytes_c": e.c,
                "ds": self.ds(kernels) * ones, "two_stage": 0.0 * ones}  # fmt: skip

    def usual(self, values: Mapping[str, Sequence[Any]]) -> Sequence[MatrixProduct]:
        """Products of language models' layers, for many tokens and for few; several if batched."""
        variants = set(values["variant"])
        batch = 8 if variants == {"batched"} else 1
        return [MatrixProduct(m, n, k, batch=batch) for m, n, k in USUAL]

    def measured(self, row: Mapping[str, str], gpu: str) -> Point | None:
        """None: upstream's tables of GEMMs name their kernels."""
        return None

    # -- what a product is to kernels --------------------------------------------------------

    def work(self, kernels: Mapping[str, Any], problem: MatrixProduct) -> GemmWork:
        """A product as each kernel computes it; groups count as products of their mean size."""
        e, p = once(kernels, "elements", lambda: self.elements(kernels)), problem
        sides = [sum(found) / len(p.groups) for found in zip(*p.groups, strict=True)]
        m, n = sides
        area = p.batch * sum(m * n for m, n in p.groups)
        rows, columns = (p.batch * side * len(p.groups) for side in sides)
        row, column = self.vectors(kernels)
        read = rows * (p.k * (e.a + e.scales_a) + row)
        read = read + columns * (p.k * (e.b + e.scales_b) + column)
        # parts of a sum are added up in memory; D tensors are as large as C
        written = area * e.c * (p.k_batch + self.ds(kernels))
        count = float(p.batch * len(p.groups) * p.k_batch)
        return GemmWork(m, n, math.ceil(p.k / p.k_batch), count, read, written, float(p.flops), e)

    def elements(self, kernels: Mapping[str, Any]) -> Elements:
        """The elements of A, B and C; what has 4 bits is widened by each wave that reads it."""
        k = numbers(kernels)
        word = k.only("dtype")
        types = self.words[word][:2]
        results = kernels["dtype_c"]
        sizes = np.asarray([DTYPES[str(t)] / 8 for t in results.values])[results.codes]
        read = (k.tile_m * k.wave_n * k.tile_k, k.tile_n * k.wave_m * k.tile_k)
        each = WIDENING.get(self.multiplied(word), 0.0)
        widened = sum(n * each for t, n in zip(types, read, strict=True) if t == "int4")
        return Elements(DTYPES[types[0]] / 8, DTYPES[types[1]] / 8, sizes, operations=widened)

    def multiplied(self, word: str) -> str:
        """The type whose matrix instructions are used: A's, to which a narrower B is widened."""
        return self.words[word][0]

    def ds(self, kernels: Mapping[str, Any]) -> Any:
        """D tensors of each kernel."""
        return numbers(kernels).num_d

    def vectors(self, kernels: Mapping[str, Any]) -> tuple[float, float]:
        """Bytes that are read with a row of C, and with a column."""
        return 0.0, 0.0

    def _multiplied(self, kernels: Mapping[str, Any]) -> Mapping[str, Any]:
        """The columns with the type whose matrix instructions are used."""

        def made() -> KernelColumns:
            given = kernels["dtype"]
            values = [self.multiplied(str(word)) for word in given.values]
            return KernelColumns({**kernels, "dtype": replace(given, values=values)})

        return once(kernels, "multiplied", made)


class TimingWithScales(GemmTiming):
    """Estimates for products with scales, whichever they are."""

    def compiled(self, kernels: Mapping[str, Any], gpu: Gpu, product: Card) -> Mapping[str, Floats]:
        """Nothing: the dispatcher library has no kernels with scales.

        Raises:
            UsageError: Always.
        """
        raise UsageError("the dispatcher library has no kernels with scales")

    def ds(self, kernels: Mapping[str, Any]) -> Any:
        """There are no D tensors."""
        return 0.0


TIMING = GemmTiming()

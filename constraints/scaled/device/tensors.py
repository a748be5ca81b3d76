"""Tensors of a product with scales by row and column: shapes, orders in memory, the reference.

Beside A (M, K), B (N, K) and C (M, N) there are scales of A's rows, (M, 1), and of B's columns,
(N, 1). B is shuffled in pieces of 16 bytes of a column: those of a warp tile's columns lie side by
side, then the next along K (shuffle_b of CK's example/ck_tile/18_flatmm); with columns permuted,
shuffle_b_v1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.device.tensors import Arrays, GemmTensors
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.scaled.words import TENSORS, TYPES
from ckrules.kernels.parts import Point, Tensor


class ScaledTensors(GemmTensors):
    """A, B, their scales and C of a product for one kernel.

    >>> from ckrules.constraints.scaled.vocabulary import BASELINE
    >>> [(t.name, t.shape) for t in ScaledTensors(MatrixProduct(64, 128, 512), BASELINE).all]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('a', (64, 512)), ('b', (8, 16, 8, 4, 16)), ('aq', (64, 1)), ('bq', (128, 1)),
     ('c', (64, 128))]
    """

    words = TYPES
    shuffled = True
    """Whether B is shuffled beforehand: always."""

    def __init__(self, problem: MatrixProduct, config: Point) -> None:
        super().__init__(problem, {**config, "layout": "rcr", "num_d": 0})

    def _plain(self) -> tuple[Tensor, ...]:
        a, b, c = self.operands
        sizes = {"aq": self.problem.m, "bq": self.problem.n}
        return (
            a,
            b,
            *(Tensor(name, "in", (sizes[name], 1), "fp32", (0, 1)) for name in self.scales),
            c,
        )

    @property
    def scales(self) -> tuple[str, ...]:
        """The names of the tensors of scales."""
        return TENSORS[str(self.config["scales"])]

    def _lanes(self, wide: int, deep: int) -> tuple[int, int]:
        """A warp tile's K in pieces of up to 16 bytes, of which a lane has one or several."""
        piece = min(
            16 * 8 // DTYPES[self.words[str(self.config["dtype"])][1]], deep // (64 // wide)
        )
        return deep // piece, piece

    def key(self) -> str:
        """Types, sizes, scales and the shuffle of B."""
        words = (self.config[k] for k in ("dtype", "dtype_c", "scales"))
        shape, order = self.all[1].shape, self.all[1].order
        return f"{self.problem.whole()} in {' '.join(map(str, words))}, b {shape} {order}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded: sums of products, with the scales of row and column."""
        kind = self.precision
        a, b = (side.astype(kind) for side in self._sides(data))
        found: NDArray[Any] = np.matmul(a, b.T)
        if self.scales:
            found = found * data["aq"].astype(kind) * self._columns(data).astype(kind).T
        return {"c": found}

    def _columns(self, data: Arrays) -> NDArray[Any]:
        """The scales of B's columns, (N, 1)."""
        return data["bq"].reshape(-1, 1)

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K, each with its scales."""
        terms = super().products(name, data, at)
        for scales, place in zip(("aq", "bq"), at, strict=True):
            if scales in data:
                terms = terms * float(data[scales].reshape(-1)[place])
        return terms

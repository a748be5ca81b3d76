"""4-bit operands with a scale of e8m0 for every 32 along K (MX): shapes, orders, the reference.

A shape has canonical axes, N before K, divided so that an order of them is that of memory. Weights
lie in pieces of 32 elements, 16 bytes, of a column: those of 16 columns side by side, then the next
along K. Of the scales a lane loads four at once, which belong to 32 columns and 256 of K: 2 of K's
halves times 2 of N's. The first GEMM of experts has gate and up in turn, 16 columns of each
(example/ck_tile/18_flatmm/mixed_prec/a16w4_moe_flatmm.cpp of CK 2025.11: shuffle_mxfp4_weight,
shuffle_mxfp4_scale; mxgemm/mx_flatmm.cpp: preShuffleWeight, preShuffleScale).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.gemm.device.tensors import Arrays
from ckrules.constraints.scaled.device.tensors import ScaledTensors
from ckrules.constraints.scaled.words import MICRO
from ckrules.kernels.parts import Tensor

#: A shape, and its axes in the order of memory.
Order = tuple[tuple[int, ...], tuple[int, ...]]
_LANES, _WIDE = 4, 16
_PACK = 2


def weights(n: int, k: int, halves: int = 1) -> Order:
    """Those of N columns, of which each half is of its own where there are two.

    >>> weights(64, 256)
    ((1, 4, 16, 2, 4, 32), (1, 0, 3, 4, 2, 5))
    >>> weights(64, 257)
    ((64, 257), (0, 1))
    """
    if n % (_WIDE * halves) or k % (_LANES * MICRO):
        return (n, k), (0, 1)  # no kernel takes it
    columns = (halves, n // (halves * _WIDE), _WIDE)
    return (*columns, k // (_LANES * MICRO), _LANES, MICRO), (1, 0, 3, 4, 2, 5)


def scales(n: int, k: int, halves: int = 1) -> Order:
    """Those of N columns, or of rows of A; see `weights`.

    >>> scales(64, 512)
    ((2, 2, 16, 2, 2, 4), (0, 3, 5, 2, 4, 1))
    >>> scales(64, 512, 2)
    ((2, 2, 16, 2, 2, 4), (1, 3, 5, 2, 4, 0))
    >>> scales(8, 512)
    ((8, 16), (0, 1))
    """
    if n % (_WIDE * _PACK) or k % (_LANES * MICRO * _PACK):
        return (n, -(-k // MICRO)), (0, 1)
    along = (k // (_LANES * MICRO * _PACK), _PACK, _LANES)
    pairs = n // (_WIDE * _PACK)
    if halves == _PACK:
        return (_PACK, pairs, _WIDE, *along), (1, 3, 5, 2, 4, 0)
    return (pairs, _PACK, _WIDE, *along), (0, 3, 5, 2, 4, 1)


def experts(name: str, found: Order, number: int, dtype: str) -> Tensor:
    """The tensor of so many experts, one behind the other.

    >>> experts("b", ((4, 8), (1, 0)), 3, "fp8").order
    (0, 2, 1)
    """
    shape, order = found
    return Tensor(name, "in", (number, *shape), dtype, (0, *(axis + 1 for axis in order)))


def spread(found: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The scale of every element of a tensor whose last axis is K.

    >>> spread(np.array([1.0, 2.0]), (1, 64))[0, 30:34].tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    each = found.reshape(*shape[:-1], -1).astype(np.float64)
    return np.repeat(each, MICRO, axis=-1)[..., : shape[-1]]


#: A step beside 1 of the types of C, to which CK rounds, or cuts off.
_STEPS = {"fp16": 2.0**-10, "bf16": 2.0**-7}


class MicroTensors(ScaledTensors):
    """A, B, their scales and C of a product whose operands have 4 bits.

    A lies row by row. Its scales have rows up to whole pairs of warp tiles.
    """

    @property
    def types(self) -> tuple[str, str, str]:
        return "fp4", "fp4", self.element(str(self.config["dtype_c"]))

    def _plain(self) -> tuple[Tensor, ...]:
        p = self.problem
        rows = -(-p.m // (_WIDE * _PACK)) * _WIDE * _PACK
        shape, order = weights(p.n, p.k)
        of_rows, of_columns = scales(rows, p.k), scales(p.n, p.k)
        return (
            Tensor("a", "in", (p.m, p.k), "fp4", (0, 1)),
            Tensor("b", "in", shape, "fp4", order),
            Tensor("aq", "in", of_rows[0], "e8m0", of_rows[1]),
            Tensor("bq", "in", of_columns[0], "e8m0", of_columns[1]),
            Tensor("c", "out", (p.m, p.n), self.types[2], (0, 1), p.strides[2]),
        )

    def _scaled(self, data: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
        """A (M, K) and B (N, K), each element times its scale: exact in fp32, too."""
        p = self.problem
        a, b = (side.astype(np.float64) for side in self._sides(data))
        rows = data["aq"].reshape(-1, -(-p.k // MICRO))[: p.m]
        return a * spread(rows, (p.m, p.k)), b * spread(data["bq"], (p.n, p.k))

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded."""
        a, b = self._scaled(data)
        return {"c": a @ b.T}

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off at most: sums are fp32, in parts of the type of C."""
        a, b = self._scaled(data)
        sizes = abs(a) @ abs(b).T
        step = _STEPS[str(self.config["dtype_c"])] * (2 * self.problem.k_batch - 1)
        most = sizes * (self.problem.k + 4) * 2.0**-24 + abs(a @ b.T) * step
        if self.problem.k_batch > 1:
            most += sizes * step
        return float(most.max())

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        a, b = self._scaled(data)
        row, column = at
        terms: NDArray[np.float64] = a[row] * b[column]
        return terms

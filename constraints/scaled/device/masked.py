"""Tensors of flatmm's groups with masked rows: shapes, orders in memory, the reference.

Every group has room for as many rows of A and C as the largest has, and a list says how many of them
count. The groups' tensors lie one behind the other; what does not count of C stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.gemm.device.tensors import Arrays
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.scaled.device.tensors import ScaledTensors
from ckrules.constraints.tile_gemm.device.divisions import divisions
from ckrules.kernels.parts import Division, ResultAxis, Tensor


class MaskedTensors(ScaledTensors):
    """The rows that count, A, B, their scales and C of every group.

    >>> from ckrules.constraints.scaled.vocabulary import BASELINE
    >>> groups = MatrixProduct(64, 128, 512, others=((3, 128),))
    >>> [(t.name, t.shape) for t in MaskedTensors(groups, BASELINE).all]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('rows', (2,)), ('a', (2, 64, 512)), ('b', (2, 8, 16, 8, 4, 16)), ('aq', (2, 64, 1)),
     ('bq', (2, 128, 1)), ('c', (2, 64, 128))]
    """

    @property
    def _counting(self) -> tuple[int, ...]:
        """How many rows of each group count."""
        return tuple(m for m, _ in self.problem.groups)

    def _plain(self) -> tuple[Tensor, ...]:
        rows = self._counting
        one = ScaledTensors(replace(self.problem, m=max(rows), others=()), self.config)
        found = [
            replace(
                t, shape=(len(rows), *t.shape), order=(0, *(axis + 1 for axis in t.order)),
                direction="inout" if t.direction == "out" else t.direction,
            )
            for t in one._plain()
        ]  # fmt: skip
        return (Tensor("rows", "in", (len(rows),), "int32", (0,), content=rows), *found)

    def key(self) -> str:
        """Types, sizes, scales and the shuffle of B."""
        words = (self.config[k] for k in ("dtype", "dtype_c", "scales"))
        b = next(t for t in self.all if t.name == "b")
        told = f"{self.problem.whole()} in {' '.join(map(str, words))}"
        return f"masked {told}, b {b.shape} {b.order}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded; rows that do not count are what they were."""
        kind = self.precision
        found = np.array(data["c"], kind)
        for group, rows in enumerate(self._counting):
            a, b = self._of_group(data, group)
            sums = a[:rows].astype(kind) @ b.astype(kind).T
            if self.scales:
                sums = sums * data["aq"][group, :rows].astype(kind)
                sums = sums * data["bq"][group].astype(kind).T
            found[group, :rows] = sums
        return {"c": found}

    def _of_group(self, data: Arrays, group: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """A (rows, K) and B (N, K) of a group."""
        return data["a"][group], data["b"][group].reshape(self.problem.n, self.problem.k)

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Groups, M and N."""
        count, m, n = mask.shape
        whole = [Division("group", np.arange(count), "group")]
        return [
            ResultAxis("group", count, whole),
            ResultAxis("M", m, divisions(self.config, "m", m)),
            ResultAxis("N", n, divisions(self.config, "n", n)),
        ], mask

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K, each with its scales."""
        group, row, column = at
        a, b = self._of_group(data, group)
        terms: NDArray[np.float64] = a[row].astype(np.float64) * b[column]
        for scales, place in zip(("aq", "bq"), (row, column), strict=True):
            if scales in data:
                terms = terms * float(data[scales][group, place, 0])
        return terms


def smoke(config: Mapping[str, Any]) -> list[MatrixProduct]:
    """The built-in problems of groups: whole tiles, parts of one, single rows, and more than blocks.

    >>> [str(p) for p in smoke({"tile_m": 32, "tile_n": 64, "tile_k": 128})][:2]
    ['M=32+64+32,N=64,K=256', 'M=61+1,N=64,K=640']
    """
    m, n, k = (int(config[f"tile_{x}"]) for x in "mnk")

    def of(n: int, k: int, *rows: int) -> MatrixProduct:
        return MatrixProduct(rows[0], n, k, others=tuple((m, n) for m in rows[1:]))

    return [
        of(n, 2 * k, m, 2 * m, m), of(n, 5 * k, 2 * m - 3, 1), of(2 * n, 3 * k, 1, m + 1, 7),
        of(4 * n, 2 * k, 4 * m, 1, 4 * m), of(n, 4 * k, *[m] * 16),
    ]  # fmt: skip

"""Tensors of a matrix product with scales: their shapes and orders in memory, and the reference.

Beside A (M, K), B (N, K) and C (M, N) there are scales: of A (M, groups) and of B (groups of
columns, groups), where groups lie along K; of A (M, 1) and of B (N, 1); or one of each. Scales of
groups that are shuffled beforehand are divided by block tile along K, whose rows lie together;
those of permuted columns lie as these do (shuffle_aq, shuffle_bq_permuteN of CK's
include/ck_tile/host/tensor_shuffle_utils.hpp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.gemm.device.tensors import Arrays, GemmTensors
from ckrules.constraints.quant.words import GROUPED, SCALED, TYPES
from ckrules.kernels.parts import Tensor


class QuantTensors(GemmTensors):
    """A, B, their scales and C of a product for one kernel.

    >>> from ckrules.constraints.gemm.problem import MatrixProduct
    >>> from ckrules.constraints.quant.vocabulary import BASELINE
    >>> [(t.name, t.shape) for t in QuantTensors(MatrixProduct(64, 128, 512), BASELINE).all]
    [('a', (64, 512)), ('b', (128, 512)), ('aq', (64, 4)), ('c', (64, 128))]
    """

    words = TYPES

    def _plain(self) -> tuple[Tensor, ...]:
        """A, B, their scales and C, with what has 4 bits in the order of its elements."""
        a, b, c = self.operands
        return a, b, *map(self._scales, SCALED[str(self.config["variant"])]), c

    @property
    def shuffled(self) -> bool:
        return str(self.config["pipeline"]) == "preshufflev2"

    def _along(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The scale of each row of A, or column of B, and of each element of K, by its number.

        A group_k of 1 is none where scales do not belong to groups.
        """
        p, c = self.problem, self.config
        size, shared = (p.m, int(c["group_m"])) if name == "aq" else (p.n, int(c["group_n"]))
        deep = int(c["group_k"])
        whole = c["variant"] not in GROUPED and deep == 1
        across = np.arange(size) // (size if c["variant"] == "tensor_quant" else shared)
        return across, np.arange(p.k) // (p.k if whole else deep)

    def _scales(self, name: str) -> Tensor:
        across, along = self._along(name)
        rows, groups = int(across[-1]) + 1, int(along[-1]) + 1
        dtype = self.element(str(self.config["dtype_scale"]))
        inside = int(self.config["tile_k"]) // int(self.config["group_k"])
        grouped = self.config["variant"] in GROUPED
        if grouped and self.config["preshuffle_quant"] and inside and groups % inside == 0:
            return Tensor(name, "in", (rows, groups // inside, inside), dtype, (1, 0, 2))
        if name == "bq" and self.permuted and rows == self.problem.n:
            return Tensor(name, "in", (*self.columns, groups), dtype, (0, 3, 1, 2, 4))
        return Tensor(name, "in", (rows, groups), dtype, (0, 1))

    def key(self) -> str:
        """Types, layout, sizes, and what the scales belong to."""
        words = (self.config[k] for k in ("variant", "dtype", "dtype_c", "dtype_scale", "layout"))
        groups = "x".join(str(self.config[f"group_{d}"]) for d in "mnk")
        shapes = [(t.shape, t.order) for t in self.all[1:-1]]
        return f"{self.problem.whole()} in {' '.join(map(str, words))} {groups}, {shapes}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded: the sum of products, each with its scales."""
        kind = self.precision
        a, b = (side.astype(kind) for side in self._sides(data))
        names = SCALED[str(self.config["variant"])]
        a = a * self._spread("aq", data).astype(kind) if "aq" in names else a
        b = b * self._spread("bq", data).astype(kind) if "bq" in names else b
        return {"c": np.matmul(a, b.T)}

    def _spread(self, name: str, data: Arrays) -> NDArray[Any]:
        """The scale of every element of A (M, K), or of B (N, K)."""
        across, along = self._along(name)
        found: NDArray[Any] = data[name].reshape(int(across[-1]) + 1, -1)[across][:, along]
        return found

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K, each with its scales."""
        terms = super().products(name, data, at)
        for scales, place in zip(("aq", "bq"), at, strict=True):
            if scales in data:
                terms = terms * self._spread(scales, data)[place].astype(np.float64)
        return terms

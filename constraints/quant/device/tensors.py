"""Tensors of a matrix product with scales: their shapes and orders in memory, and the reference.

Beside A (M, K), B (N, K) and C (M, N) there are scales: of A (M, groups) and of B (groups of
columns, groups), where groups lie along K; of A (M) and of B (N); or one of each. Scales of A that
are shuffled beforehand are divided by block tile along K, whose rows lie together in memory.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.gemm.device.tensors import Arrays, GemmTensors
from ckrules.constraints.quant.words import GROUPED, SCALED, TYPES
from ckrules.kernels.parts import Tensor


class QuantTensors(GemmTensors):
    """A, B, their scales and C of a product for one kernel.

    >>> from ckrules.constraints.gemm.problem import Product
    >>> from ckrules.constraints.quant.vocabulary import BASELINE
    >>> [(t.name, t.shape) for t in QuantTensors(Product(64, 128, 512), BASELINE).all]
    [('a', (64, 512)), ('b', (128, 512)), ('aq', (64, 4)), ('c', (64, 128))]
    """

    @cached_property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        a, b, c = self.operands
        return a, b, *map(self._scales, SCALED[str(self.config["variant"])]), c

    @property
    def types(self) -> tuple[str, str, str]:
        """The element types of A, B and C."""
        a, b, _ = TYPES[str(self.config["dtype"])]
        return self.element(a), self.element(b), self.element(str(self.config["dtype_c"]))

    @property
    def shuffled(self) -> bool:
        """Whether B is shuffled beforehand."""
        return str(self.config["pipeline"]) == "preshufflev2"

    @property
    def _grouped(self) -> bool:
        return self.config["variant"] in GROUPED

    def _scales(self, name: str) -> Tensor:
        """The scales of A or of B."""
        p = self.problem
        if not self._grouped:
            single = self.config["variant"] == "tensor_quant"
            sides = {"aq": p.m, "bq": p.n}
            return Tensor(name, "in", (1 if single else sides[name],), "fp32", (0,))
        dtype = self.element(str(self.config["dtype_scale"]))
        groups = math.ceil(p.k / int(self.config["group_k"]))
        sides = {"aq": p.m, "bq": math.ceil(p.n / int(self.config["group_n"]))}
        inside = int(self.config["tile_k"]) // int(self.config["group_k"])
        if self.config["preshuffle_quant"] and groups % inside == 0:
            return Tensor(name, "in", (sides[name], groups // inside, inside), dtype, (1, 0, 2))
        return Tensor(name, "in", (sides[name], groups), dtype, (0, 1))

    def key(self) -> str:
        """Types, layout, sizes, and what the scales belong to."""
        words = (self.config[k] for k in ("variant", "dtype", "dtype_c", "dtype_scale", "layout"))
        groups = "x".join(str(self.config[f"group_{d}"]) for d in "mnk")
        shapes = [(t.shape, t.order) for t in self.all[1:-1]]
        return f"{self.problem.whole()} in {' '.join(map(str, words))} {groups}, {shapes}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded: the sums of groups, each with its scale."""
        p = self.problem
        kind = self.precision
        a, b = data["a"].astype(kind), data["b"].reshape(p.n, p.k).astype(kind)
        if self._grouped:
            aq, bq = (s.astype(kind) for s in self._spread(data))
            return {"c": np.matmul(a * aq, (b * bq).T)}
        rows, columns = data["aq"].astype(kind), data["bq"].astype(kind)
        return {"c": np.matmul(a, b.T) * rows[:, None] * columns[None, :]}

    def _spread(self, data: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
        """The scales of the elements of A (M, K) and of B (N, K), one where there are none."""
        p = self.problem
        along = np.arange(p.k) // int(self.config["group_k"])
        none = np.ones((1, 1))
        if self.config["variant"] == "aquant":
            return data["aq"].reshape(p.m, -1)[:, along], none
        across = np.arange(p.n) // int(self.config["group_n"])
        return none, data["bq"].reshape(len(data["bq"]), -1)[across][:, along]

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K, each with its scale."""
        terms = super().products(name, data, at)
        if not self._grouped:
            one = self.config["variant"] == "tensor_quant"
            row, column = (0, 0) if one else at
            return terms * float(data["aq"][row]) * float(data["bq"][column])
        aq, bq = self._spread(data)
        scales = aq[at[0] % len(aq)] * bq[at[1] % len(bq)]
        found: NDArray[np.float64] = terms * scales.astype(np.float64)
        return found

"""Tensors of a mixture of experts' GEMM: the routing, shapes and orders in memory, the reference.

Rows of A are tokens in the first GEMM and a token's experts in the second; rows of C the other way
round. B has the weights of all experts, each (N, K) and shuffled as flatmm's, in the first GEMM
gate before up. An entry says which token an expert computes: the token in its lower 24 bits, in the
others which of the token's experts it is; each expert has whole block tiles of entries, filled up
with the number behind the last token (CK's example/ck_tile/18_flatmm/run_moe_flatmm_example.inc).

4-bit weights have a scale for every 32 along K, and orders of their own
(`ckrules.constraints.scaled.device.micro`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.scaled.device import micro
from ckrules.constraints.scaled.device.tensors import ScaledTensors
from ckrules.constraints.scaled.problem import ExpertProduct
from ckrules.constraints.scaled.words import TOKEN_BITS, WIDENED
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor, Unsliced

Arrays = Mapping[str, NDArray[Any]]
#: swiglu of ``ck_tile::moe::Swiglu``: the slope of its sigmoid, and the limit of its operands.
_SLOPE, _LIMIT = 1.702, 7.0
#: A step beside 1 of the types of C: CK cuts bf16 off, and fp16 is rounded here and there.
#: What makes scales of 4-bit weights small enough for products of gate and up.
_SMALL = 1 / 16
_STEPS = {"fp16": 2.0**-10, "bf16": 2.0**-7}


def routing(problem: ExpertProduct) -> NDArray[np.int64]:
    """The experts of each token, (tokens, topk): none twice, the first ones used most.

    >>> routing(ExpertProduct(2, 1, 1, experts=3, topk=2)).tolist()
    [[0, 1], [0, 1]]
    """
    drawn = np.random.default_rng((problem.m, problem.experts, problem.topk))
    likes = drawn.random((problem.m, problem.experts)) + np.arange(problem.experts) / 8
    order: NDArray[np.int64] = np.sort(np.argsort(likes, axis=1)[:, : problem.topk], axis=1)
    return order


class ExpertTensors(Unsliced, ScaledTensors):
    """The routing, A, B, their scales, the bias and C of a product of tokens for one kernel.

    An activation, or the sum over experts, stands between products and results.
    """

    problem: ExpertProduct

    def __init__(self, problem: ExpertProduct, config: Point) -> None:
        super().__init__(problem, config)

    @property
    def _first(self) -> bool:
        """Whether it is the first GEMM, with gate and up."""
        return bool(self.config["stage"] == 1)

    @property
    def _narrow(self) -> bool:
        return self.config["dtype"] in WIDENED

    @property
    def types(self) -> tuple[str, str, str]:
        a, b, c = super().types
        return a, "fp4" if self._narrow else b, c

    @property
    def added_up(self) -> bool:
        """In the second GEMM each expert's blocks add to the tokens' rows."""
        return not self._first

    @cached_property
    def _routing(self) -> NDArray[np.int64]:
        return routing(self.problem)

    @property
    def _tile(self) -> int:
        return int(self.config["tile_m"])

    @cached_property
    def _entries(self) -> tuple[list[int], list[int], int]:
        """Entries, the expert of each tile, and how many entries count."""
        p, entries, owners = self.problem, list[int](), list[int]()
        nobody = (p.topk << TOKEN_BITS) | p.m
        for expert in range(p.experts):
            tokens, places = np.nonzero(self._routing == expert)
            found = [(int(k) << TOKEN_BITS) | int(t) for t, k in zip(tokens, places, strict=True)]
            found += [nobody] * (-len(found) % self._tile)
            entries += found
            owners += [expert] * (len(found) // self._tile)
        last, room = len(entries), self._room
        owners += [0] * (room // self._tile - len(owners))
        return entries + [nobody] * (room - last), owners, last

    @property
    def _room(self) -> int:
        p = self.problem
        return (-(-p.m * p.topk // self._tile) + p.experts) * self._tile

    def _plain(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        p, (entries, owners, last) = self.problem, self._entries
        bias = (Tensor("bias", "in", (p.experts, p.n), "fp32", (0, 1)),)
        lists = {"sorted": entries, "owners": owners, "last": [last]}
        return (
            *(
                Tensor(n, "in", (len(v),), "int32", (0,), content=tuple(v))
                for n, v in lists.items()
            ),
            Tensor("weights", "in", (self._room, 1), "fp32", (0, 1)),
            *self._sides_and_scales(),
            *(bias if self.config["bias"] else ()),
            Tensor("c", "out", self._result, self.types[2], (0, 1), p.strides[2]),
        )

    def _sides_and_scales(self) -> Iterator[Tensor]:
        p = self.problem
        yield Tensor("a", "in", (self._rows_of_a, p.k), self.types[0], (0, 1), p.strides[0])
        if self._narrow:
            halves = 2 if self._first else 1
            yield micro.experts("b", micro.weights(p.n, p.k, halves), p.experts, self.types[1])
            scales = micro.scales(p.n, p.k, halves)
            yield replace(micro.experts("bq", scales, p.experts, "e8m0"), spread=_SMALL)
            return
        shape, order = self._b("c")
        yield micro.experts("b", (shape, order), p.experts, self.types[1])
        # the kernel looks at as many scales as there are entries
        for name, size in (("aq", (self._room, 1)), ("bq", (p.experts, p.n))):
            if name in self.scales:
                yield Tensor(name, "in", size, "fp32", (0, 1))

    @property
    def _rows_of_a(self) -> int:
        return self.problem.m * (1 if self._first else self.problem.topk)

    @property
    def _result(self) -> tuple[int, int]:
        p = self.problem
        return (p.m * p.topk, p.n // 2) if self._first else (p.m, p.n)

    def key(self) -> str:
        """What tensors and reference depend on."""
        names = ("stage", "activation", "bias", "tile_m")
        words = " ".join(str(self.config[n]) for n in names)
        shape, order = next((t.shape, t.order) for t in self.all if t.name == "b")
        types = " ".join(str(self.config[n]) for n in ("dtype", "dtype_c", "scales"))
        return f"{self.problem.whole()} of experts {words} in {types}, b {shape} {order}"

    def _sums(self, data: Arrays) -> Iterator[tuple[int, Any, NDArray[Any]]]:
        """For each expert its number, its tokens and places, and its sums."""
        p = self.problem
        a, weights = data["a"].astype(np.float64), data["b"].reshape(p.experts, p.n, p.k)
        if self._narrow:
            weights = weights * micro.spread(data["bq"], (p.experts, p.n, p.k))
        for expert in range(p.experts):
            tokens, places = np.nonzero(self._routing == expert)
            rows = tokens if self._first else tokens * p.topk + places
            sums = a[rows] @ weights[expert].astype(np.float64).T
            if "aq" in data:
                scale = data["aq"].astype(np.float64)[rows] * data["bq"][expert].astype(np.float64)
                sums = sums * scale
            if "bias" in data:
                sums = sums + data["bias"][expert]
            yield expert, (tokens, places), sums

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded: the first GEMM's activation, the second's sums."""
        p, found = self.problem, np.zeros(self._result)
        for expert, (tokens, places), sums in self._sums(data):
            if self._first:
                gate, up = sums[:, : p.n // 2], sums[:, p.n // 2 :]
                found[tokens * p.topk + places] = self._activated(gate, up)
            else:
                np.add.at(found, tokens, self._weighted(expert, data, sums))
        return {"c": found}

    def _weighted(self, expert: int, data: Arrays, sums: NDArray[Any]) -> NDArray[Any]:
        """An expert's rows times the weights of their entries."""
        at = self._entries[1].index(expert) * self._tile if len(sums) else 0
        found: NDArray[Any] = sums * data["weights"][at : at + len(sums)].astype(np.float64)
        return found

    def _activated(self, gate: NDArray[Any], up: NDArray[Any]) -> NDArray[Any]:
        """The activation: silu, or swiglu with limits (``ck_tile::moe``)."""
        if self.config["activation"] == "swiglu":
            gate, up = np.minimum(gate, _LIMIT), np.clip(up, -_LIMIT, _LIMIT) + 1
            found: NDArray[Any] = gate / (1 + np.exp(-_SLOPE * gate)) * up
            return found
        found = gate / (1 + np.exp(-gate)) * up
        return found

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off at most.

        Sums are fp32; the activation's slope is at most 1.2, and its exponential, reciprocal and
        products are fp32, too. Results are rounded to the type of C, in the second GEMM before each
        is added, and after it.
        """
        p, off = self.problem, 0.0
        step = _STEPS[str(self.config["dtype_c"])]
        # what is added up, without signs; the bias is exact beside it
        sizes_of = self._sums({n: abs(v) for n, v in data.items() if n != "bias"})
        every = zip(self._sums(data), sizes_of, strict=True)
        if self._first:
            for (_, _, sums), (_, _, sizes) in every:
                doubt = sizes * (p.k + 4) * 2.0**-24 + abs(sums) * 2.0**-22
                gate, up = sums[:, : p.n // 2], sums[:, p.n // 2 :]
                value = abs(self._activated(gate, up))
                each = 1.2 * doubt[:, : p.n // 2] * (abs(up) + 1)
                each += (abs(gate) + 1) * doubt[:, p.n // 2 :] + value * (step + 2.0**-20)
                off = max(off, float(each.max(initial=0.0)))
            return off
        total = np.zeros(self._result)
        for (expert, (tokens, _), sums), (_, _, sizes) in every:
            values = abs(self._weighted(expert, data, sums))
            doubt = abs(self._weighted(expert, data, sizes)) * (p.k + 4) * 2.0**-24
            np.add.at(total, tokens, doubt + values * step * (p.topk + 1))
        return float(total.max(initial=0.0))

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Rows by their experts, where each has one, and columns."""
        owner = self._routing.ravel()
        whose = [Division("group", owner, "expert")] if self._first else []
        return [ResultAxis("M", mask.shape[0], whose), ResultAxis("N", mask.shape[1])], mask


def smoke(config: Mapping[str, Any]) -> list[ExpertProduct]:
    """The built-in products of tokens for a configuration.

    One token, which meets one expert or several of more, sums of 1 to 3 tiles and a long one;
    fewer tokens than a tile, several tiles an expert, and more experts than tokens meet; then
    columns and K that are not whole tiles, a split sum, and rows that lie apart.

    >>> [str(p) for p in smoke({"tile_m": 32, "tile_n": 64, "tile_k": 128})][:2]
    ['M=1,N=128,K=256,experts=4,topk=2', 'M=1,N=128,K=128,experts=1,topk=1']
    """
    m, n, k = (int(config[f"tile_{x}"]) for x in "mnk")
    n *= 2  # gate and up

    def of(m: int, n: int, k: int, experts: int, topk: int, k_batch: int = 1) -> ExpertProduct:
        return ExpertProduct(m, n, k, k_batch, experts=experts, topk=topk)

    apart = 4 * max(n, k) + 8
    return [
        of(1, n, 2 * k, 4, 2), of(1, n, k, 1, 1), of(1, 2 * n, 3 * k, 16, 6), of(1, n, 33 * k, 3, 1),
        of(m - 3, n, k, 3, 2), of(3 * m + 1, n, 4 * k, 2, 1), of(m, n, 5 * k, 16, 6),
        of(1, n - 16, 2 * k, 4, 2), of(1, n, 2 * k - 16, 4, 2), of(1, n, 4 * k, 4, 2, 2),
        ExpertProduct(1, n, 2 * k, strides=(apart, 0, apart), experts=4, topk=2),
    ]  # fmt: skip

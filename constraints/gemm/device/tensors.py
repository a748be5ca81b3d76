"""Tensors of a matrix product: shapes and orders in memory, the reference, and how C is divided.

Canonical are A (M, K), C and every D (M, N), and B (N, K). Shuffled weights are B with N and K
divided: the order of memory is the shuffle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.arch import load
from ckrules.constraints.gemm.problem import Product
from ckrules.constraints.gemm.words import TYPES
from ckrules.kernels.family import Axis, Division, Point, Tensor

Arrays = Mapping[str, NDArray[Any]]
_EXACT_FLOPS = 4e9
"""Up to this many operations sums are in fp64, beyond in fp32."""


@dataclass(frozen=True)
class GemmTensors:
    """A, B, every D and C of a product for one kernel."""

    problem: Product
    config: Point

    @cached_property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        p, letters = self.problem, str(self.config["layout"])
        a, b, _ = TYPES[str(self.config["dtype"])]
        c = self._element(str(self.config["dtype_c"]))
        plain, turned = (0, 1), (1, 0)
        shape, order = self._b(letters[1])
        ds = range(int(self.config["num_d"]))
        return (
            Tensor("a", "in", (p.m, p.k), self._element(a), plain if letters[0] == "r" else turned),
            Tensor("b", "in", shape, self._element(b), order),
            *(
                Tensor(f"d{i}", "in", (p.m, p.n), c, plain if letters[-1] == "r" else turned)
                for i in ds
            ),
            Tensor("c", "out", (p.m, p.n), c, plain if letters[2] == "r" else turned),
        )

    def _element(self, dtype: str) -> str:
        """The type's bits: 8-bit floats have two encodings, by GPU."""
        if dtype in ("fp8", "bf8") and not load(str(self.config["arch"])).has("ocp_fp8"):
            return f"{dtype}_fnuz"
        return dtype

    def _b(self, letter: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and order of B, with N and K divided where it is shuffled."""
        n, k = self.problem.n, self.problem.k
        wide, deep = int(self.config["warp_tile_n"]), int(self.config["warp_tile_k"])
        whole = n % wide == 0 and k % deep == 0
        if self.config["variant"] != "preshuffle" or not whole:
            return (n, k), ((0, 1) if letter == "c" else (1, 0))
        parts, inner = self._lanes(wide, deep)
        steps = (k // deep, parts, inner)
        if not self.config["permute_n"]:
            return (n // wide, wide, *steps), (0, 2, 3, 1, 4)
        tile, waves = int(self.config["tile_n"]), int(self.config["wave_n"])
        repeat = tile // (waves * wide)
        return (n // tile, waves, wide, repeat, *steps), (0, 3, 1, 4, 5, 2, 6)

    def _lanes(self, wide: int, deep: int) -> tuple[int, int]:
        """How a warp tile's K is divided among lanes that share a column."""
        arch = str(self.config["arch"])
        if load(arch).wave_size == 64:
            parts = 2 if wide == 32 else 4
        else:
            parts = 1 if arch.startswith("gfx11") else 2
        return parts, deep // parts

    def key(self) -> str:
        """Types, layout, operation and sizes; how often the sum is split does not matter."""
        words = (self.config[k] for k in ("dtype", "dtype_c", "layout", "elementwise_op", "num_d"))
        shape, order = self.all[1].shape, self.all[1].order
        return f"{self.problem.whole()} in {' '.join(map(str, words))}, b {shape} {order}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded."""
        kind: Any = np.float64 if self.problem.flops <= _EXACT_FLOPS else np.float32
        b = data["b"].reshape(self.problem.n, self.problem.k).astype(kind)
        found: NDArray[Any] = np.matmul(data["a"].astype(kind), b.T)
        ds = [data[f"d{i}"].astype(kind) for i in range(int(self.config["num_d"]))]
        operation = str(self.config["elementwise_op"])
        for d in ds:
            if operation == "multiply":
                found = found * d
            elif operation in ("add", "add_scale"):
                found = found + d
        return {"c": found}

    def depth(self, name: str) -> int:
        """K."""
        return self.problem.k

    def parts(self, name: str) -> int:
        """The parts of split-K."""
        return self.problem.k_batch

    def axes(self, name: str, mask: NDArray[np.bool_]) -> tuple[list[Axis], NDArray[np.bool_]]:
        """M and N."""
        m, n = mask.shape
        return [Axis("M", m, self._divisions("m", m)), Axis("N", n, self._divisions("n", n))], mask

    def _divisions(self, letter: str, size: int) -> list[Division]:
        """How the kernel divides M or N."""
        at, along = np.arange(size), f" along {letter.upper()}"
        tile, waves, warp_tile = (
            max(1, int(self.config[f"{stem}_{letter}"])) for stem in ("tile", "wave", "warp_tile")
        )
        inside = at % tile // warp_tile
        return [
            Division("tile", at // tile, f"{letter.upper()} tile"),
            Division("wave", inside % waves, "wave", along, ordered=False),
            Division("warp tile", inside, "warp tile", along),
            Division("warp tile", at // warp_tile, "warp tile", along),
            Division("lane", at % warp_tile, "row", f" of each warp tile{along}", ordered=False),
        ]

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K."""
        b = data["b"].reshape(self.problem.n, self.problem.k)
        terms: NDArray[np.float64] = data["a"][at[0]].astype(np.float64) * b[at[1]]
        return terms

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """The parts of split-K and the K tiles."""
        at = np.arange(length)
        if self.parts(name) > 1:
            deep = int(self.config["warp_tile_k"])
            part = math.ceil(length / (self.parts(name) * deep)) * deep
            yield "split-K part", at // part
        yield "K tile", at // int(self.config["tile_k"])

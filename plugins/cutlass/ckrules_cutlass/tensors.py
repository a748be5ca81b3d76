"""Tensors of a product for one kernel: A (M, K), B (N, K), C and D (M, N), a batch in front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor
from ckrules_cutlass.words import NONE, OPERANDS, TYPES

Arrays = Mapping[str, NDArray[Any]]
_EXACT_FLOPS = 4e9
"""Up to this many operations sums are in fp64, beyond in fp32."""


@dataclass(frozen=True)
class HopperTensors:
    """A, B, C where it is read, and D."""

    problem: MatrixProduct
    config: Point

    @property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        p, letters = self.problem, str(self.config["layout"])
        held = OPERANDS[str(self.config["dtype"])][1]
        found = [
            self._tensor("a", "in", p.m, p.k, held, letters[0] == "t"),
            self._tensor("b", "in", p.n, p.k, held, letters[1] == "n"),
        ]
        row = letters[2] == "t"
        if self.config["c_dtype"] != NONE:
            found.append(self._tensor("c", "in", p.m, p.n, str(self.config["c_dtype"]), row))
        found.append(self._tensor("d", "out", p.m, p.n, str(self.config["d_dtype"]), row))
        return tuple(found)

    def _tensor(
        self, name: str, direction: str, rows: int, columns: int, dtype: str, straight: bool
    ) -> Tensor:
        order = (0, 1, 2) if straight else (0, 2, 1)
        return Tensor(name, direction, (self.problem.batch, rows, columns), dtype, order)

    @property
    def accumulator(self) -> str:
        """The type of sums, to which each product of the tensor cores is added."""
        return str(self.config["acc"])

    def key(self) -> str:
        """Sizes, types and layout."""
        words = (str(self.config[k]) for k in ("dtype", "c_dtype", "d_dtype", "layout", "acc"))
        return f"{self.problem} in {' '.join(words)}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """D by its definition, not rounded; what int8 cannot hold is its largest or least value.

        Source: cutlass/numeric_conversion.h NumericConverter<int8_t, float>: cvt.rni.sat.
        """
        kind: Any = np.float64 if self.problem.flops <= _EXACT_FLOPS else np.float32
        a, b = data["a"].astype(kind), data["b"].astype(kind)
        found: NDArray[Any] = np.matmul(self._read(a), self._read(b).transpose(0, 2, 1))
        if "c" in data:
            found = found + data["c"].astype(kind)
        if self.config["d_dtype"] == "int8":
            found = np.clip(found, -128, 127)
        return {"d": found}

    def _read(self, values: NDArray[Any]) -> NDArray[Any]:
        """What the tensor cores multiply: of tf32 the upper 19 bits, to which TMA rounds."""
        if self.config["dtype"] != "tf32":
            return values
        single = np.ascontiguousarray(values, dtype=np.float32)
        bits = single.view(np.uint32)
        half = np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))
        near = ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)
        return near.astype(values.dtype)

    @property
    def sum_error(self) -> float:
        """What sums of 8-bit floats may be off by, as a share of the largest result.

        The tensor cores of Hopper keep 13 bits of such a sum behind the point and cut the others
        off in each instruction, of 32 products. Without fast accumulation every fourth result is
        added in fp32 (sm90_mma_tma_gmma_ss_warpspecialized_fp8.hpp: mma_promotion_interval).
        Seen: 54 runs of 15 kernels on an H200, which were off by 0.72 of it at most.
        """
        if self.config["dtype"] not in ("fp8", "bf8"):
            return 0.0
        instructions = -(-self.problem.k // 32)
        return 2.0**-13 * (instructions if self.config["fast_accum"] else min(instructions, 4))

    def depth(self, name: str) -> int:
        """Products of a sum, and C; of sums in fp16 the instructions, each of 32 bytes of K."""
        if self.accumulator != "fp16":
            return self.problem.k + 1
        held = TYPES[OPERANDS[str(self.config["dtype"])][1]][1]
        return -(-self.problem.k * held // 32) + 1

    def parts(self, name: str) -> int:
        """Sums are rounded once."""
        return 1

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Batch, rows and columns in block tiles."""
        p = self.problem
        found = [ResultAxis("batch", p.batch)]
        for axis, size in (("m", p.m), ("n", p.n)):
            tile = np.arange(size) // int(self.config[f"tile_{axis}"])
            own = Division("tile", tile, "block tile", f" along {axis.upper()}")
            found.append(ResultAxis(axis.upper(), size, [own]))
        return found, mask

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """K in block tiles."""
        yield "block tile of K", np.arange(length) // int(self.config["tile_k"])

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The products of one element's sum."""
        batch, row, column = at
        a, b = self._read(data["a"][batch, row]), self._read(data["b"][batch, column])
        return np.asarray(a.astype(np.float64) * b.astype(np.float64))

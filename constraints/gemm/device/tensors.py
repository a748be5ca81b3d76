"""Tensors of a matrix product: shapes and orders in memory, the reference, and how C is divided.

Canonical are A (M, K), C and every D (M, N), and B (N, K), with the batch in front where there is
one. Pre-shuffled weights are B with N and K divided: the order of memory is the shuffle. So it is with
int4 elements, in eights (`ckrules.constraints.gemm.device.int4`). The groups of
a grouped product have different shapes, so that their tensors are what lies in memory: one row of
elements, group behind group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ckrules.arch import load
from ckrules.constraints.gemm.device.int4 import in_eights
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.words import TYPES
from ckrules.constraints.tile_gemm.device.divisions import divisions
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor

Arrays = Mapping[str, NDArray[Any]]
_EXACT_FLOPS = 4e9
"""Up to this many operations sums are in fp64, beyond in fp32."""


@dataclass(frozen=True)
class GemmTensors:
    """A, B, every D and C of a product for one kernel."""

    problem: MatrixProduct
    config: Point
    words: ClassVar[Mapping[str, tuple[str, str, str]]] = TYPES
    """The types that a dtype stands for: of A, of B and of the sums."""

    @cached_property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        return tuple(map(in_eights, self._plain()))

    def _plain(self) -> tuple[Tensor, ...]:
        """Every tensor, with what has 4 bits in the order of its elements."""
        p, row = self.problem, str(self.config["layout"])[-1] == "r"
        types = self.types
        ds = range(int(self.config["num_d"]))
        if self.config["variant"] == "grouped":
            return self._rows(*types, len(ds))
        if self.config["variant"] == "batched":
            return self._batch(*types)
        a, b, c = self.operands
        order = (0, 1) if row else (1, 0)
        return a, b, *(Tensor(f"d{i}", "in", (p.m, p.n), c.dtype, order) for i in ds), c

    @property
    def types(self) -> tuple[str, str, str]:
        """The element types of A, B and C."""
        a, b, _ = self.words[str(self.config["dtype"])]
        return self.element(a), self.element(b), self.element(str(self.config["dtype_c"]))

    @property
    def shuffled(self) -> bool:
        """Whether B is shuffled beforehand."""
        return str(self.config["variant"]) == "preshuffle"

    @property
    def operands(self) -> tuple[Tensor, Tensor, Tensor]:
        """A, B and C of a single product."""
        p, letters = self.problem, str(self.config["layout"])
        types, pitches = self.types, p.strides
        plain, turned = (0, 1), (1, 0)
        shape, order = self._b(letters[1])
        return (
            Tensor("a", "in", (p.m, p.k), types[0], plain if letters[0] == "r" else turned,
                   pitches[0]),
            Tensor("b", "in", shape, types[1], order, pitches[1]),
            Tensor("c", "out", (p.m, p.n), types[2], plain if letters[2] == "r" else turned,
                   pitches[2], self.roundings),
        )  # fmt: skip

    def _batch(self, a: str, b: str, c: str) -> tuple[Tensor, ...]:
        p, letters = self.problem, str(self.config["layout"])
        plain, turned = (0, 1, 2), (0, 2, 1)
        return (
            Tensor("a", "in", (p.batch, p.m, p.k), a, plain if letters[0] == "r" else turned),
            Tensor("b", "in", (p.batch, p.n, p.k), b, plain if letters[1] == "c" else turned),
            Tensor("c", "out", (p.batch, p.m, p.n), c, plain if letters[2] == "r" else turned),
        )

    def _rows(self, a: str, b: str, c: str, ds: int) -> tuple[Tensor, ...]:
        """The tensors of groups, each as one row."""
        p = self.problem
        sizes = [
            sum(found)
            for found in zip(*((m * p.k, n * p.k, m * n) for m, n in p.groups), strict=True)
        ]
        return (
            Tensor("a", "in", (sizes[0],), a, (0,)),
            Tensor("b", "in", (sizes[1],), b, (0,)),
            *(Tensor(f"d{i}", "in", (sizes[2],), c, (0,)) for i in range(ds)),
            Tensor("c", "out", (sizes[2],), c, (0,), roundings=self.roundings),
        )

    def _group(self, name: str, row: NDArray[Any], number: int) -> NDArray[Any]:
        """A group's A or D, C (M, N) or B (N, K), out of its tensor's row."""
        p, letters, row = self.problem, str(self.config["layout"]), row.ravel()
        letter = letters["abc".index(name)] if name in "abc" else letters[-1]
        start = 0
        for at, (m, n) in enumerate(p.groups):
            shape = {"a": (m, p.k), "b": (n, p.k)}.get(name, (m, n))
            count = math.prod(shape)
            if at == number:
                part = row[start : start + count]
                straight = (letter == "c") == (name == "b")
                return part.reshape(shape) if straight else part.reshape(shape[::-1]).T
            start += count
        raise IndexError(number)

    def element(self, dtype: str) -> str:
        """The type's bits: 8-bit floats have two encodings, by GPU."""
        if dtype in ("fp8", "bf8") and not load(str(self.config["arch"])).has("ocp_fp8"):
            return f"{dtype}_fnuz"
        return dtype

    def _b(self, letter: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and order of B, with N and K divided where it is shuffled."""
        n, k = self.problem.n, self.problem.k
        wide, deep = int(self.config["warp_tile_n"]), int(self.config["warp_tile_k"])
        whole = n % wide == 0 and k % deep == 0
        if not self.shuffled or not whole:
            return (n, k), ((0, 1) if letter == "c" else (1, 0))
        parts, inner = self._lanes(wide, deep)
        steps = (k // deep, parts, inner)
        if not self.permuted:
            return (n // wide, wide, *steps), (0, 2, 3, 1, 4)
        return (*self.columns, *steps), (0, 3, 1, 4, 5, 2, 6)

    @property
    def permuted(self) -> bool:
        """Whether columns are permuted within the block tile: N has whole ones, as these of waves."""
        tile, waves, wide = (int(self.config[f"{x}_n"]) for x in ("tile", "wave", "warp_tile"))
        whole = self.problem.n % tile == 0 and tile % (waves * wide) == 0
        return bool(self.shuffled and self.config["permute_n"] and whole)

    @property
    def columns(self) -> tuple[int, int, int, int]:
        """N as tiles, waves, columns of a warp tile and warp tiles of a wave."""
        tile, waves, wide = (int(self.config[f"{x}_n"]) for x in ("tile", "wave", "warp_tile"))
        return self.problem.n // tile, waves, wide, tile // (waves * wide)

    def _lanes(self, wide: int, deep: int) -> tuple[int, int]:
        """How a warp tile's K is divided among lanes that share a column."""
        gpu = load(str(self.config["arch"]))
        parts = 2 if wide == 32 else 4
        if gpu.wave_size == 32:
            parts = 1 if gpu.isa == "gfx11" else 2
        return parts, deep // parts

    def key(self) -> str:
        """Types, layout, operation and sizes; how often the sum is split does not matter."""
        words = (self.config[k] for k in ("dtype", "dtype_c", "layout", "elementwise_op", "num_d"))
        shape, order = self.all[1].shape, self.all[1].order
        return f"{self.problem.whole()} in {' '.join(map(str, words))}, b {shape} {order}"

    @property
    def precision(self) -> Any:
        """The type in which sums are: fp64 where they are not too many."""
        return np.float64 if self.problem.flops <= _EXACT_FLOPS else np.float32

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """C by its definition, not rounded."""
        kind = self.precision
        if self.config["variant"] == "grouped":
            return {"c": self._grouped_reference(data, kind)}
        if self.config["variant"] == "batched":
            a, b = self._sides(data)
            return {"c": np.matmul(a.astype(kind), b.astype(kind).transpose(0, 2, 1))}
        a, b = self._sides(data)
        found: NDArray[Any] = np.matmul(a.astype(kind), b.astype(kind).T)
        ds = [data[f"d{i}"].astype(kind) for i in range(int(self.config["num_d"]))]
        return {"c": self._with_ds(found, ds)}

    def _sides(self, data: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
        """A (M, K) and B (N, K), with the batch in front where there is one."""
        p = self.problem
        batch = (p.batch,) if self.config["variant"] == "batched" else ()
        return data["a"].reshape(*batch, p.m, p.k), data["b"].reshape(*batch, p.n, p.k)

    def _with_ds(self, found: NDArray[Any], ds: Iterable[NDArray[Any]]) -> NDArray[Any]:
        operation = str(self.config["elementwise_op"])
        for d in ds:
            if operation == "multiply":
                found = found * d
            elif operation in ("add", "add_scale"):
                found = found + d
        return found

    def _grouped_reference(self, data: Arrays, kind: Any) -> NDArray[Any]:
        """C of every group, as rows in the order of memory."""
        rows = []
        for i in range(len(self.problem.groups)):
            a, b = (self._group(name, data[name], i).astype(kind) for name in "ab")
            names = [f"d{n}" for n in range(int(self.config["num_d"]))]
            ds = [self._group(name, data[name], i).astype(kind) for name in names]
            found = self._with_ds(np.matmul(a, b.T), ds)
            rows.append((found if str(self.config["layout"])[2] == "r" else found.T).ravel())
        return np.concatenate(rows)

    def depth(self, name: str) -> int:
        """K."""
        return self.problem.k

    def parts(self, name: str) -> int:
        """The parts of split-K, or a step each where blocks of stream-K add what they have.

        ops/gemm/kernel/streamk_gemm_kernel.hpp: reboot::StreamKKernel (StreamKReductionStrategy).
        """
        if self.config.get("streamk") == "atomic":
            return math.ceil(self.problem.k / int(self.config["tile_k"]))
        return self.problem.k_batch

    @property
    def roundings(self) -> int:
        """CShuffle rounds sums to the type of C before they meet the D tensors.

        ops/epilogue/cshuffle_epilogue.hpp: cast_lds_tile, apply_d_tensors.
        """
        late = self.config.get("epilogue") == "cshuffle" and int(self.config.get("num_d", 0)) > 0
        return 2 if late else 1

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """M and N, with the batch in front; of groups the row that they are in memory."""
        if self.config["variant"] == "grouped":
            return [ResultAxis("element", mask.size, [self._group_division()])], mask
        m, n = mask.shape[-2:]
        if self.config["variant"] == "batched":
            whole = [Division("batch", np.arange(len(mask)), "product")]
            first = [ResultAxis("batch", len(mask), whole)]
            return [
                *first,
                ResultAxis("M", m, divisions(self.config, "m", m)),
                ResultAxis("N", n, divisions(self.config, "n", n)),
            ], mask
        return [
            ResultAxis("M", m, divisions(self.config, "m", m)),
            ResultAxis("N", n, divisions(self.config, "n", n)),
        ], mask

    def _group_division(self) -> Division:
        sizes = [m * n for m, n in self.problem.groups]
        return Division("group", np.repeat(np.arange(len(sizes)), sizes), "group")

    def _place(self, at: int) -> tuple[int, int, int]:
        start = 0
        for number, (m, n) in enumerate(self.problem.groups):
            if at < start + m * n:
                row, column = divmod(at - start, n)
                if str(self.config["layout"])[2] == "c":
                    column, row = divmod(at - start, m)
                return number, row, column
            start += m * n
        raise IndexError(at)

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of K."""
        if self.config["variant"] == "grouped":
            group, row, column = self._place(at[0])
            a, b = (self._group(n, data[n], group) for n in "ab")
            found: NDArray[np.float64] = a[row].astype(np.float64) * b[column]
            return found
        a, b = self._sides(data)
        *batch, row, column = at
        terms: NDArray[np.float64] = a[*batch, row].astype(np.float64) * b[*batch, column]
        return terms

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """The parts of split-K and the K tiles."""
        at = np.arange(length)
        if self.problem.k_batch > 1:
            deep = int(self.config["warp_tile_k"])
            part = math.ceil(length / (self.problem.k_batch * deep)) * deep
            yield "split-K part", at // part
        yield "K tile", at // int(self.config["tile_k"])

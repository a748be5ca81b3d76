"""Problems: matrices whose rows are added up, with one rule, and the reference in numpy."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.arch import Gpu
from ckrules.engine.expr import BoolExpr, Expr, IntExpr, Value
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules import RuleDef, rule
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor
from ckrules.support.errors import UsageError, unknown
from rowsum.family import BASELINE, FAMILY, RowSum


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of M rows and N columns."""

    m: int
    n: int

    @property
    def flops(self) -> int:
        """An addition for each element."""
        return self.m * self.n

    def __str__(self) -> str:
        return f"M={self.m},N={self.n}"


class WithSizes(RowSum):
    """A kernel and a matrix."""

    M: IntExpr
    N: IntExpr
    baseline = {**BASELINE, "M": 64, "N": 128}  # noqa: RUF012 - a constant of the class


@rule(
    "ROWP001", "columns-not-whole-loads", kind="launch", source="rowsum/templates/host.cpp.j2: N",
    accepts=[{}], rejects=[{"N": 126}],
)  # fmt: skip
def columns_are_whole_loads(c: WithSizes) -> BoolExpr:
    """The columns are a multiple of the vector.

    Why: there is no load of less than a vector.

    Fix: take a smaller vector.
    """
    return c.N % c.vector == 0


@dataclass(frozen=True)
class Sums:
    """The matrix and its row sums."""

    problem: Matrix
    config: Point

    @property
    def all(self) -> tuple[Tensor, ...]:
        """What the host library takes."""
        dtype = str(self.config["dtype"])
        return (
            Tensor("matrix", "in", (self.problem.m, self.problem.n), dtype, (0, 1)),
            Tensor("sums", "out", (self.problem.m,), "fp32", (0,)),
        )

    def key(self) -> str:
        """Sizes and type."""
        return f"{self.problem} {self.config['dtype']}"

    def reference(self, data: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The sums."""
        return {"sums": data["matrix"].astype(np.float64).sum(axis=1)}

    def depth(self, name: str) -> int:
        """Terms of a sum."""
        return self.problem.n

    def parts(self, name: str) -> int:
        """Sums are not split."""
        return 1

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Rows in blocks."""
        at = np.arange(self.problem.m)
        blocks = Division("tile", at // int(self.config["rows"]), "block")
        return [ResultAxis("rows", self.problem.m, [blocks])], mask

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Vectors."""
        yield "vector", np.arange(length) // int(self.config["vector"])

    def products(
        self, name: str, data: Mapping[str, NDArray[Any]], at: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """The row."""
        return data["matrix"][at[0]].astype(np.float64)


class Matrices:
    """What generic code asks about matrices."""

    name = "matrix"

    def parse(self, text: str) -> Matrix:
        """``M=64,N=128``."""
        return self.from_mapping(dict(p.partition("=")[::2] for p in text.split(",")))

    def from_mapping(self, given: Mapping[str, Any]) -> Matrix:
        """Both sizes."""
        for key in given:
            if key not in ("M", "N"):
                raise unknown("size of a matrix", key, ("M", "N"))
        try:
            return Matrix(int(given["M"]), int(given["N"]))
        except (KeyError, ValueError):
            raise UsageError("a matrix has an M and an N, as in M=64,N=128") from None

    def from_row(self, cells: Mapping[str, str]) -> Matrix:
        """Both columns."""
        return self.from_mapping({k: cells[k] for k in ("M", "N") if k in cells})

    def pack(self, problem: Matrix) -> bytes:
        """Two numbers of 64 bits."""
        return struct.pack("<qq", problem.m, problem.n)

    def members(self) -> tuple[str, Mapping[str, str]]:
        """The two numbers."""
        return "rowsum_matrix", {"M": "p.m", "N": "p.n"}

    def row(self, problem: Matrix, variant: str) -> dict[str, Value]:
        """Columns of results."""
        return {"M": problem.m, "N": problem.n, "flops": problem.flops}

    def fields(self) -> list[Expr]:
        """Both sizes."""
        wide: dict[str, Any] = {"lo": 1, "hi": 2**31 - 1}
        return [
            Int("M", (1, 64, 1000), **wide, doc="rows"),
            Int("N", (8, 128, 1000), **wide, doc="columns"),
        ]

    def values(self, problem: Matrix) -> dict[str, Value]:
        """Of `fields`."""
        return {"M": problem.m, "N": problem.n}

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> WithSizes:
        """Kernel and matrix."""
        kernel = FAMILY.vocabulary(ck, gpus)
        return WithSizes([*kernel.variables.values(), *self.fields()], kernel.facts, ck)

    def rules(self) -> list[RuleDef]:
        """One."""
        return [columns_are_whole_loads]

    def fits(self, config: Point, problem: object) -> bool:
        """Every matrix does."""
        return isinstance(problem, Matrix)

    def smoke(self, config: Point) -> Sequence[Matrix]:
        """Whole blocks, a rest, and a row that is too short."""
        return [Matrix(64, 128), Matrix(37, 240), Matrix(3, 9)]

    def tensors(self, problem: Matrix, config: Point) -> Sums:
        """Matrix and sums."""
        return Sums(problem, config)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """Small ones."""
        return {"M": (1, 4096), "N": (1, 4096)}

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """Nothing more."""
        return []

    def quiet(self) -> Mapping[str, Value]:
        """Nothing is left out."""
        return {}


PROBLEMS = Matrices()

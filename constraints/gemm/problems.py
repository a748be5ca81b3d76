"""What generic code asks about matrix products: their text, sizes, rules and smoke set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.gemm import problem, problem_fields
from ckrules.constraints.gemm.device import smoke
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.engine.expr import BoolExpr, Value
from ckrules.kernels.folder_problems import FolderProblems

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors

_PACKED = dict.fromkeys(("stride_a", "stride_b", "stride_c"), (0, 0))


class GemmProblems(FolderProblems):
    """Matrix products."""

    name = "gemm"

    parse = staticmethod(problem.parse)
    from_mapping = staticmethod(problem.from_mapping)
    from_row = staticmethod(problem.from_row)
    pack = staticmethod(problem.pack)
    row = staticmethod(problem.row)
    fields = staticmethod(problem_fields.fields)
    values = staticmethod(problem_fields.values)

    def members(self) -> tuple[str, Mapping[str, str]]:
        """``ckrules_gemm`` of ``runtime/ckrules_gemm.h``."""
        alike = ("k_batch", "batch", "groups", "stride_a", "stride_b", "stride_c")
        sizes = {"M": "m", "N": "n", "K": "k"} | {name: name for name in alike}
        return "ckrules_gemm", {name: f"p.{member}" for name, member in sizes.items()}

    def fits(self, config: Point, problem: object) -> bool:
        """Whether it is a matrix product."""
        return isinstance(problem, MatrixProduct)

    smoke = staticmethod(smoke.smoke)

    def tensors(self, problem: MatrixProduct, config: Point) -> Tensors:
        """A, B, every D and C."""
        from ckrules.constraints.gemm.device.tensors import GemmTensors

        return GemmTensors(problem, config)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """Sizes up to 16384, sums in one part, and one product."""
        most = dict.fromkeys("MNK", (1, 16384))
        return {**most, "k_batch": (1, 1), "batch": (1, 1), "groups": (1, 1), **_PACKED}

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """Every size makes sense with every other."""
        return []

    def quiet(self) -> dict[str, Value]:
        """One product, its sums in one part."""
        return {"k_batch": 1, "batch": 1, "groups": 1, **dict.fromkeys(_PACKED, 0)}

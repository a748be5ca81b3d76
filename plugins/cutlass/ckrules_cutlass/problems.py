"""Problems: matrix products of ckrules, one or a batch, packed; and when kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.engine.rules import RuleDef
from ckrules.kernels.parts import Point
from ckrules_cutlass import problem_rules
from ckrules_cutlass.problem_rules import HopperProblem, problem_vocabulary


class CutlassProblems(GemmProblems):
    """Matrix products whose sums are in one part."""

    def vocabulary(self, ck: str, gpus: Sequence[Any]) -> HopperProblem:
        """Fields of kernel and product."""
        return problem_vocabulary(ck, gpus, self.fields())

    def rules(self) -> list[RuleDef]:
        """What ``can_implement`` tests."""
        return [r for r in vars(problem_rules).values() if isinstance(r, RuleDef)]

    def fits(self, config: Point, problem: object) -> bool:
        """Whether it is a packed product, or a batch, whose sums are in one part."""
        if not isinstance(problem, MatrixProduct):
            return False
        return problem.k_batch == 1 and not problem.others and not any(problem.strides)

    def smoke(self, config: Point) -> list[MatrixProduct]:
        """Whole tiles, edges, a sum that ends within a tile, a batch, and one that TMA refuses."""
        m, n, k = (int(config[f"tile_{x}"]) for x in "mnk")
        return [
            MatrixProduct(2 * m, 2 * n, 4 * k),
            MatrixProduct(m + 16, 3 * n + 16, 3 * k + 16),
            MatrixProduct(4 * m, 2 * n, 17 * k),
            MatrixProduct(m, n, 2 * k, batch=3),
            MatrixProduct(m + 1, n + 1, k + 1),
        ]

    def tensors(self, problem: MatrixProduct, config: Point) -> Any:
        """A, B, C where it is read, and D."""
        from ckrules_cutlass.tensors import HopperTensors

        return HopperTensors(problem, config)


PROBLEMS = CutlassProblems()

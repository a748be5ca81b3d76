"""Matrix products as problems of GEMMs with scales: the scales belong to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.constraints.scaled import problem_fields
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class ScaledProblems(GemmProblems):
    """Matrix products whose operands have scales."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and product, with what follows from them."""
        return problem_fields.vocabulary(ck, gpus)

    def rules(self) -> list[RuleDef]:
        """What the kernels' ``IsSupportedArgument`` tests, and what it should."""
        from ckrules.constraints.scaled import problem_rules
        from ckrules.engine.rules.book import collect

        return collect(problem_rules)

    def fits(self, config: Point, problem: object) -> bool:
        """Whether it is a matrix product; kernels for experts compute others."""
        return isinstance(problem, MatrixProduct) and config["variant"] != "moe_flatmm"

    def smoke(self, config: Point) -> list[MatrixProduct]:
        """None: kernels with scales of this family are not generated yet."""
        return []

    def tensors(self, problem: MatrixProduct, config: Point) -> Tensors:
        """Nothing: kernels with scales of this family are not generated yet."""
        raise UsageError("kernels with scales are not generated, so that none can be run")

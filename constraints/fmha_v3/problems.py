"""What generic code asks about problems of kernels with two groups of waves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_v3 import problem_fields

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class TwoGroupProblems(AttentionProblems):
    """Problems of attention, with the rules of these kernels."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them."""
        return problem_fields.vocabulary(ck, gpus)

    def rules(self) -> list[RuleDef]:
        """What the kernels, which test nothing, compute right."""
        from ckrules.constraints.fmha_v3 import problem_rules
        from ckrules.engine.rules.book import collect

        return collect(problem_rules)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """Q, K, V, O and LSE."""
        from ckrules.constraints.fmha.device.tensors import AttentionTensors

        return AttentionTensors(problem, {**config, "bias": "no"})

"""What generic code asks about problems of attention backward: those of attention, its own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_bwd import problem_fields
from ckrules.constraints.fmha_bwd.device import smoke

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class BackwardProblems(AttentionProblems):
    """Problems of attention whose gradients are computed."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them."""
        return problem_fields.vocabulary(ck, gpus)

    def rules(self) -> list[RuleDef]:
        """What upstream's dispatch asks, and what it does not ask and should."""
        from ckrules.constraints.fmha_bwd import problem_rules
        from ckrules.engine.rules.book import collect

        return collect(problem_rules)

    def smoke(self, config: Point) -> list[AttentionProblem]:
        """See `ckrules.constraints.fmha_bwd.device.smoke.smoke`."""
        return smoke.smoke(config)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """Q, K, V, LSE, dO and D, and the gradients."""
        from ckrules.constraints.fmha_bwd.device.tensors import BackwardTensors

        return BackwardTensors(problem, config)

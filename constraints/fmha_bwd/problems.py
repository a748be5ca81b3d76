"""What generic code asks about problems of attention backward: those of attention, its own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_bwd.device import smoke

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors


class BackwardProblems(AttentionProblems):
    """Problems of attention whose gradients are computed."""

    smoke = staticmethod(smoke.smoke)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """Q, K, V, LSE, dO and D, and the gradients."""
        from ckrules.constraints.fmha_bwd.device.tensors import BackwardTensors

        return BackwardTensors(problem, config)

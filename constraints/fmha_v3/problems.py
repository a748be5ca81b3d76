"""What generic code asks about problems of kernels with two groups of waves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_v3.device import smoke

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors


class TwoGroupProblems(AttentionProblems):
    """Problems of attention, with the rules of these kernels."""

    smoke = staticmethod(smoke.smoke)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """Q, K, V, O and LSE."""
        from ckrules.constraints.fmha.device.tensors import AttentionTensors

        return AttentionTensors(problem, {**config, "bias": "no"})

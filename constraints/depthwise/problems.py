"""What depthwise kernels have for convolutions of their own: rules, smoke set and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.conv.problem import Convolution
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.constraints.depthwise import problem_fields
from ckrules.constraints.depthwise.device import smoke

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class DepthwiseProblems(ConvProblems):
    """Convolutions as depthwise kernels compute them."""

    smoke = staticmethod(smoke.smoke)

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them."""
        return problem_fields.vocabulary(ck, gpus)

    def rules(self) -> list[RuleDef]:
        """What the depthwise branch of ``IsSupportedArgument`` tests."""
        from ckrules.constraints.depthwise import problem_rules
        from ckrules.engine.rules.book import collect

        return collect(problem_rules)

    def tensors(self, problem: Convolution, config: Point) -> Tensors:
        """Input, weight and output, with channels before the axes in memory."""
        from ckrules.constraints.depthwise.device.tensors import DepthwiseTensors

        return DepthwiseTensors(problem, config)

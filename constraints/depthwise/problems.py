"""What depthwise kernels have for convolutions of their own: rules, smoke set and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckrules.constraints.conv.problem import Convolution
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.constraints.depthwise.device import smoke

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors


class DepthwiseProblems(ConvProblems):
    """Convolutions as depthwise kernels compute them."""

    smoke = staticmethod(smoke.smoke)

    def tensors(self, problem: Convolution, config: Point) -> Tensors:
        """Input, weight and output, with channels before the axes in memory."""
        from ckrules.constraints.depthwise.device.tensors import DepthwiseTensors

        return DepthwiseTensors(problem, config)

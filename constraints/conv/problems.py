"""What generic code asks about convolutions: their text, sizes, rules and smoke set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.conv import problem, problem_fields
from ckrules.constraints.conv.device import smoke
from ckrules.constraints.conv.problem import AXES, Convolution
from ckrules.engine.expr import BoolExpr, Value, implies
from ckrules.kernels.folder_problems import FolderProblems

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors

_ONE = ("filter", "conv_stride", "conv_dilation")
_NONE = ("left_pad", "right_pad")


class ConvProblems(FolderProblems):
    """Convolutions as the GEMM kernels of the three directions compute them."""

    name = "convolution"

    parse = staticmethod(problem.parse)
    from_mapping = staticmethod(problem.from_mapping)
    from_row = staticmethod(problem.from_row)
    pack = staticmethod(problem.pack)
    row = staticmethod(problem.row)
    fields = staticmethod(problem_fields.fields)
    values = staticmethod(problem_fields.values)
    smoke = staticmethod(smoke.smoke)

    def members(self) -> tuple[str, Mapping[str, str]]:
        """``ckrules_convolution`` of ``runtime/ckrules_conv.h``."""
        return "ckrules_convolution", problem_fields.members()

    def fits(self, config: Point, problem: object) -> bool:
        """Whether the problem is a convolution of the kernel's dimensions."""
        return isinstance(problem, Convolution) and problem.ndim == config["ndim"]

    def tensors(self, problem: Convolution, config: Point) -> Tensors:
        """Input, weight and output."""
        from ckrules.constraints.conv.device.tensors import ConvTensors

        return ConvTensors(problem, config)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """Images, filters and channels of common sizes, of the kernels' dimensions."""
        ndims = [int(n) for n in fixed["ndim"]]
        out = {"N": (1, 256), "G": (1, 64), "C": (1, 4096), "K": (1, 4096), "k_batch": (1, 1)}
        out["problem_ndim"] = (min(ndims), max(ndims))
        for place, axis in enumerate(AXES):
            has = max(ndims) >= 3 - place
            out |= {
                f"image_{axis}": (1, 512 if has else 1),
                f"filter_{axis}": (1, 11 if has else 1),
                f"conv_stride_{axis}": (1, 4 if has else 1),
                f"conv_dilation_{axis}": (1, 4 if has else 1),
                f"left_pad_{axis}": (0, 8 if has else 0),
                f"right_pad_{axis}": (0, 8 if has else 0),
            }
        return out

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """Channels divide into groups, there is an output, and no size along missing axes."""
        out = [names["C"] % names["G"] == 0, names["K"] % names["G"] == 0]
        for place, axis in enumerate(AXES):
            image, taps, stride, dilation, left, right = (
                names[f"{stem}_{axis}"] for stem in ("image", *_ONE, *_NONE)
            )
            out.append(image + left + right >= dilation * (taps - 1) + 1)
            flat = [image == 1, taps == 1, stride == 1, dilation == 1, left == 0, right == 0]
            out += [implies(names["problem_ndim"] < 3 - place, f) for f in flat]
        return out

    def quiet(self) -> dict[str, Value]:
        """Filters, strides and dilations of 1, no padding, no depth and no split."""
        found: dict[str, Value] = {f"{stem}_{a}": 1 for stem in _ONE for a in AXES}
        found |= {f"{stem}_{a}": 0 for stem in _NONE for a in AXES}
        return {**found, "image_d": 1, "k_batch": 1}

"""The sizes of a convolution as fields, so that rules read them beside those of the kernel.

A condition over symbolic sizes is an expression like any other. Axes that a problem does not have
count as an image and a filter of 1 without padding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.constraints.conv import vocabulary as conv
from ckrules.constraints.conv.problem import AXES, Convolution
from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import (
    BoolExpr,
    Expr,
    IntExpr,
    Value,
    all_of,
    ceil_div,
    implies,
    ite,
    lookup,
    maximum,
    minimum,
)
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import Vocabulary, quantity

if TYPE_CHECKING:
    from ckrules.arch import Gpu

_LONGEST = 2**31 - 1
_STRIDES = 64
_COMMON = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256)


def fields() -> list[Expr]:
    """The sizes of a problem; channels are totals over the groups."""
    sizes: Any = {"lo": 1, "hi": _LONGEST}
    found: list[Expr] = [
        Int("N", _COMMON, **sizes, doc="images"),
        Int("G", _COMMON, **sizes, doc="groups"),
        Int("C", _COMMON, **sizes, doc="input channels of all groups"),
        Int("K", _COMMON, **sizes, doc="output channels of all groups"),
        Int("problem_ndim", (1, 2, 3), lo=1, hi=3, doc="spatial dimensions of the problem"),
        Int("k_batch", (1, 2, 4, 8), lo=1, hi=_LONGEST, doc="parts that the sum is split into"),
    ]
    for axis, word in zip(AXES, ("depth", "height", "width"), strict=True):
        found += [
            Int(f"image_{axis}", (1, 7, 14, 28, 56), **sizes, doc=f"{word} of the input"),
            Int(f"filter_{axis}", (1, 3, 5, 7), **sizes, doc=f"{word} of the filter"),
            Int(f"conv_stride_{axis}", (1, 2), lo=1, hi=_STRIDES, doc=f"stride along {word}"),
            Int(f"conv_dilation_{axis}", (1, 2), **sizes, doc=f"dilation along {word}"),
            Int(f"left_pad_{axis}", (0, 1), lo=0, hi=_LONGEST, doc=f"padding before {word}"),
            Int(f"right_pad_{axis}", (0, 1), lo=0, hi=_LONGEST, doc=f"padding after {word}"),
        ]
    return found


#: A problem that the baselines of both families accept.
BASELINE: Mapping[str, Value] = {
    "N": 32, "G": 1, "C": 64, "K": 64, "problem_ndim": 2, "k_batch": 1,
    **{f"image_{a}": v for a, v in zip(AXES, (1, 56, 56), strict=True)},
    **{f"filter_{a}": v for a, v in zip(AXES, (1, 3, 3), strict=True)},
    **{f"conv_{stem}_{a}": 1 for stem in ("stride", "dilation") for a in AXES},
    **{f"{side}_pad_{a}": v for side in ("left", "right")
       for a, v in zip(AXES, (0, 1, 1), strict=True)},
}  # fmt: skip


def values(problem: Convolution) -> dict[str, Value]:
    """The fields of a parsed problem.

    >>> from ckrules.constraints.conv.problem import parse
    >>> found = values(parse("N=2,C=8,K=16,H=9,W=7,Y=3,X=3,pad=1"))
    >>> found["image_d"], found["image_h"], found["left_pad_w"], found["problem_ndim"]
    (1, 9, 1, 2)
    """
    missing = 3 - problem.ndim
    lists = {
        "image": (problem.input, 1),
        "filter": (problem.filter, 1),
        "conv_stride": (problem.stride, 1),
        "conv_dilation": (problem.dilation, 1),
        "left_pad": (problem.left_pad, 0),
        "right_pad": (problem.right_pad, 0),
    }
    return {
        "N": problem.batch,
        "G": problem.groups,
        "C": problem.in_channels,
        "K": problem.out_channels,
        "problem_ndim": problem.ndim,
        "k_batch": problem.split_k,
        **{
            f"{stem}_{axis}": number
            for stem, (numbers, none) in lists.items()
            for axis, number in zip(AXES, (none,) * missing + numbers, strict=True)
        },
    }


def members() -> dict[str, str]:
    """Each of `fields` as a C expression of the ``ckrules_convolution`` p.

    >>> members()["C"], members()["image_h"]
    ('p.in_channels * p.groups', '(p.ndim > 1 ? p.input[p.ndim - 2] : 1)')
    """
    lists = {
        "image": ("input", 1),
        "filter": ("filter", 1),
        "conv_stride": ("stride", 1),
        "conv_dilation": ("dilation", 1),
        "left_pad": ("left_pad", 0),
        "right_pad": ("right_pad", 0),
    }
    return {
        "N": "p.batch",
        "G": "p.groups",
        "C": "p.in_channels * p.groups",
        "K": "p.out_channels * p.groups",
        "problem_ndim": "p.ndim",
        "k_batch": "p.k_batch",
        **{
            f"{stem}_{axis}": f"(p.ndim > {2 - k} ? p.{member}[p.ndim - {3 - k}] : {none})"
            for stem, (member, none) in lists.items()
            for k, axis in enumerate(AXES)
        },
    }


class Sizes(Vocabulary):
    """The sizes of a problem and what follows from them."""

    facts: Mapping[str, Table]
    N: IntExpr
    G: IntExpr
    C: IntExpr
    K: IntExpr
    problem_ndim: IntExpr
    k_batch: IntExpr

    def axis(self, stem: str) -> list[IntExpr]:
        """The fields of a stem, slowest axis first."""
        return [getattr(self, f"{stem}_{a}") for a in AXES]

    def along(self, stem: str, value: int) -> BoolExpr:
        """The stem has this value along every axis."""
        return all_of(*(e == value for e in self.axis(stem)))

    def along_own(self, stem: str, value: int) -> BoolExpr:
        """The stem has this value along every axis that the problem has."""
        parts = enumerate(self.axis(stem))
        return all_of(*(implies(self.problem_ndim >= 3 - i, e == value) for i, e in parts))

    @quantity
    def group_c(self) -> IntExpr:
        """Input channels of a group."""
        return self.C // self.G

    @quantity
    def group_k(self) -> IntExpr:
        """Output channels of a group."""
        return self.K // self.G

    @quantity
    def filter_taps(self) -> IntExpr:
        """Elements of the filter for one pair of channels."""
        return _product(self.axis("filter"))

    @quantity
    def input_points(self) -> IntExpr:
        """Positions of the input of one image."""
        return _product(self.axis("image"))

    @quantity
    def output_points(self) -> IntExpr:
        """Positions of the output of one image."""
        return _product([self._output(a) for a in AXES])

    @quantity
    def output_h(self) -> IntExpr:
        """Rows of the output."""
        return self._output("h")

    @quantity
    def output_w(self) -> IntExpr:
        """Columns of the output."""
        return self._output("w")

    def _output(self, axis: str) -> IntExpr:
        image, taps, stride, dilation, left, right = (
            getattr(self, f"{stem}_{axis}")
            for stem in (
                "image", "filter", "conv_stride", "conv_dilation", "left_pad", "right_pad",
            )
        )  # fmt: skip
        node: IntExpr = (image + left + right - (taps - 1) * dilation - 1) // stride + 1
        return node

    @quantity
    def data_gemms(self) -> IntExpr:
        """GEMMs that backward data becomes: one for each residue of the filter by the stride."""
        return _product([minimum(residues, taps) for taps, residues in self._residues()])

    @property
    def data_gemm_taps(self) -> list[IntExpr]:
        """Filter elements of every kind of GEMM that backward data becomes (0: of none).

        Along an axis the residues get the filter's elements in turn, so that there are two
        numbers at most: the quotient, rounded up and down.
        """
        axes = [(ceil_div(taps, residues), taps // residues) for taps, residues in self._residues()]
        return [_product(parts) for parts in itertools.product(*axes)]

    def _residues(self) -> list[tuple[IntExpr, IntExpr]]:
        """For each axis the filter's elements, and the residues that backward data gives them to."""
        sizes = (self.axis(s) for s in ("filter", "conv_stride", "conv_dilation"))
        return [
            (taps, lookup(self.facts["residues"], stride, dilation % stride))
            for taps, stride, dilation in zip(*sizes, strict=True)
        ]


def _product(parts: Sequence[IntExpr]) -> IntExpr:
    first, second, third = parts
    return first * second * third


class ConvProblem(ConvQuantities, Sizes):
    """A grouped-convolution configuration and a problem."""

    @quantity
    def a_channels(self) -> IntExpr:
        """Channels of a group along which A is loaded."""
        return ite(self.forward, self.group_c, self.group_k)

    @quantity
    def viewed_images(self) -> IntExpr:
        """Images that a block views, at least: all that are not split for their size."""
        return ite((self.variant == "bwd_weight") | ~self.images_are_split, self.N, 1)

    @property
    def images_are_split(self) -> BoolExpr:
        """Whether images are split for their size: that of one group in fp32, beyond 2 GiB."""
        sizes = self.input_points * self.group_c, self.output_points * self.group_k
        return (self.N > 1) & (maximum(*sizes) * self.N > 2**29)

    @quantity
    def viewed_filters(self) -> IntExpr:
        """Output channels whose weights are viewed at once."""
        groups = ite(self.variant == "bwd_data", 1, self.num_groups_to_merge)
        return ite(self.two_stage, self.K, self.group_k * groups)

    @quantity
    def c_channels(self) -> IntExpr:
        """Channels of a group along which C is stored."""
        return ite(self.forward, self.group_k, self.group_c)


#: Stride divided by its greatest common divisor with the dilation, by stride and remainder.
RESIDUES = Table(
    "residues",
    ("stride", "remainder"),
    {(s, r): s // math.gcd(s, r) for s in range(1, _STRIDES + 1) for r in range(s)},
    source="ops/grouped_convolution/utils/transform_conv_bwd_data_to_gemm.hpp: ConvStrideW_ / GcdStrideDilationW_",
)


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> ConvProblem:
    """Fields of kernel and problem, with what follows from them."""
    facts = {**conv.facts(gpus, ck), "residues": RESIDUES}
    words = ConvProblem([*conv.fields([g.name for g in gpus]), *fields()], facts, ck)
    words.baseline = {**conv.BASELINE, **BASELINE}
    return words

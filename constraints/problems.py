"""PROB: which convolution problems a kernel accepts (`IsSupportedArgument`), by CK version.

A problem is what `ConvProblemC` of upstream's dispatcher says: batch, groups, channels of one
group, sizes, filter, strides, dilations, pads (the same on both sides) and split-K. Dimensions
that the kernel lacks have size 1, stride 1, dilation 1 and no pad. The rules here are about a
kernel and a problem together; those of the kernel alone are in `ckrules.constraints.book`.

>>> book = problem_book("forward")
>>> point = {**book.vocabulary.baseline, "C": 12}
>>> [v.message for v in book.violations(point)][0]
'C = 12 is not a multiple of vector_a = 8'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import Any

from ckrules.arch import Gpu, load_all
from ckrules.constraints.conv import vocabulary as conv
from ckrules.constraints.conv.quantities import Quantities
from ckrules.constraints.library import CK_VERSIONS, DEFAULT_CK, operator_of
from ckrules.engine.book import RuleBook, quantity
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import (
    BoolExpr,
    Expr,
    IntExpr,
    Value,
    all_of,
    ceil_div,
    const,
    implies,
    ite,
    lookup,
    minimum,
    rel,
)
from ckrules.engine.rules import RuleDef, rule
from ckrules.engine.table import Table
from ckrules.engine.variables import Int

_FWD = "grouped_convolution_forward_kernel.hpp: IsSupportedArgument"
_BWD = "grouped_convolution_backward_data_kernel.hpp: IsSupportedArgument"
_WEI = "grouped_convolution_backward_weight_kernel.hpp: IsSupportedArgument"
_LARGEST = 2**31 - 1

#: Name, least and usual greatest value, default and meaning of each problem field.
_SIZES: tuple[tuple[str, int, int, int, str], ...] = (
    ("N", 1, 256, 32, "batch"),
    ("G", 1, 64, 1, "groups"),
    ("C", 1, 4096, 64, "input channels of a group"),
    ("K", 1, 4096, 64, "output channels of a group"),
    *((f"input_{d}", 1, 512, 1 if d == "d" else 28, f"input size along {d}") for d in "dhw"),
    *((f"filter_{d}", 1, 11, 1 if d == "z" else 3, f"filter size along {d}") for d in "zyx"),
    *((f"stride_{d}", 1, 4, 1, f"stride along {d}") for d in "dhw"),
    *((f"pad_{d}", 0, 8, 0 if d == "d" else 1, f"pad on either side along {d}") for d in "dhw"),
    *((f"dilation_{d}", 1, 4, 1, f"dilation along {d}") for d in "dhw"),
    ("split_k", 1, 128, 1, "parts that the sum over K is split into"),
)
PROBLEM_FIELDS = tuple(s[0] for s in _SIZES)
#: Values that a problem may leave out.
DEFAULTS: Mapping[str, Value] = {name: start for name, _, _, start, _ in _SIZES}
#: The ranges that symbolic questions go through unless they say otherwise.
RANGES: Mapping[str, tuple[int, int]] = {
    **{name: (lo, hi) for name, lo, hi, _, _ in _SIZES},
    "split_k": (1, 1),
}
_SPATIAL = (("d", "z"), ("h", "y"), ("w", "x"))

#: S / gcd(S, D) for strides and dilations up to 32; beyond it S itself, its upper bound, counts.
_REDUCED = Table(
    "stride_over_gcd",
    ("stride", "dilation"),
    {(s, d): s // gcd(s, d) for s in range(1, 33) for d in range(1, 33)},
)


def problem_fields() -> list[Expr]:
    """The variables of a problem; candidates are a few usual values, the range is int32."""
    out: list[Expr] = []
    for name, lo, hi, start, doc in _SIZES:
        usual = sorted({lo, start, *(v for v in (1, 2, 3, 4, 8, 16, 32, 64, 128) if lo <= v <= hi)})
        out.append(Int(name, usual, lo=lo, hi=_LARGEST, doc=doc))
    return out


class Problems(Quantities):
    """The fields of a kernel and of a problem, and the sizes that follow from them."""

    N: IntExpr
    G: IntExpr
    C: IntExpr
    K: IntExpr
    split_k: IntExpr

    def of(self, stem: str, dimension: str) -> IntExpr:
        """A problem field by stem and dimension, such as ``of("stride", "h")``."""
        node: IntExpr = getattr(self, f"{stem}_{dimension}")
        return node

    def output(self, d: str, f: str) -> IntExpr:
        """The output size along a dimension."""
        reach = self.of("dilation", d) * (self.of("filter", f) - 1) + 1
        return (self.of("input", d) + 2 * self.of("pad", d) - reach) // self.of("stride", d) + 1

    @quantity
    def output_d(self) -> IntExpr:
        """Output size along d."""
        return self.output("d", "z")

    @quantity
    def output_h(self) -> IntExpr:
        """Output size along h."""
        return self.output("h", "y")

    @quantity
    def output_w(self) -> IntExpr:
        """Output size along w."""
        return self.output("w", "x")

    @quantity
    def gemm_k(self) -> IntExpr:
        """K of the GEMM of a direction (of the largest slice in backward data)."""
        filters = self.of("filter", "z") * self.of("filter", "y") * self.of("filter", "x")
        pixels = self.N * self.output_d * self.output_h * self.output_w
        node: IntExpr = ite(
            self.forward, self.C * filters, ite(self.bwd_weight, pixels, self.K * filters)
        )
        return node

    @quantity
    def gemm_count(self) -> IntExpr:
        """GEMMs that backward data takes, one for each offset within the strides."""
        out: IntExpr = const(1)
        for d, f in _SPATIAL:
            s, dilation = self.of("stride", d), self.of("dilation", d)
            known = rel(_REDUCED, s, dilation)
            offsets: IntExpr = ite(known, lookup(_REDUCED, s, dilation), s)
            out = out * minimum(offsets, self.of("filter", f))
        return out


def _bwd_data(c: Problems) -> BoolExpr:
    verdict: BoolExpr = c.variant == "bwd_data"
    return verdict


@rule(
    "PROB001", "output-without-size", kind="launch",
    source="host/convolution_parameter.hpp: ConvParam (output lengths)",
    accepts=[{}], rejects=[{"input_h": 1, "pad_h": 0}],
)  # fmt: skip
def output_has_size(c: Problems) -> BoolExpr:
    """The output has at least one element along each dimension.

    Why: the dilated filter must fit into the padded input.

    Fix: pad the input or use a smaller filter.
    """
    fits = [
        c.of("input", d) + 2 * c.of("pad", d) >= c.of("dilation", d) * (c.of("filter", f) - 1) + 1
        for d, f in _SPATIAL
    ]
    return all_of(*fits)


@rule(
    "PROB002", "size-in-missing-dimension", kind="launch",
    applies=lambda c: c.ndim < 3,
    source="host/convolution_parameter.hpp: ConvParam (num_dim_spatial_ lengths)",
    accepts=[{}], rejects=[{"input_d": 4}, {"ndim": 1, "layout": "nwgc"}],
)  # fmt: skip
def missing_dimensions_are_flat(c: Problems) -> BoolExpr:
    """Dimensions that the kernel lacks have size 1.

    Why: a 2D kernel has no d, a 1D kernel neither d nor h.

    Fix: use a kernel with more dimensions.
    """
    flat = {d: _flat(c, d, f) for d, f in _SPATIAL}
    return flat["d"] & implies(c.ndim == 1, flat["h"])


def _flat(c: Problems, d: str, f: str) -> BoolExpr:
    return all_of(
        c.of("input", d) == 1, c.of("filter", f) == 1, c.of("stride", d) == 1,
        c.of("dilation", d) == 1, c.of("pad", d) == 0,
    )  # fmt: skip


def _spatial(c: Problems, stem: str, value: int, *, filters: bool = False) -> BoolExpr:
    """The stem's fields have the value in every dimension of the kernel."""
    parts = [c.of(stem, f if filters else d) == value for d, f in _SPATIAL]
    return all_of(implies(c.ndim == 3, parts[0]), implies(c.ndim >= 2, parts[1]), parts[2])


@rule(
    "PROB003", "filter-not-of-specialization", kind="launch",
    applies=lambda c: c.specialization != "default",
    source=[_FWD, _BWD, _WEI, "ConvolutionSpecialization"],
    accepts=[{"specialization": "filter1x1_pad0", "filter_y": 1, "filter_x": 1, "pad_h": 0, "pad_w": 0}],
    rejects=[{"specialization": "filter1x1_pad0"}, {"specialization": "filter3x3"}],
)  # fmt: skip
def specialization_matches(c: Problems) -> BoolExpr:
    """The problem is of the kind that the kernel is specialised for.

    Why: filter1x1_pad0 wants 1x1 filters without pads, filter1x1_stride1_pad0 stride 1 as well,
    filter3x3 a 3 in every dimension and one channel per group.

    Fix: use the default specialization.
    """
    ones, padless = _spatial(c, "filter", 1, filters=True), _spatial(c, "pad", 0)
    return all_of(
        implies(c.specialization == "filter1x1_pad0", ones & padless),
        implies(
            c.specialization == "filter1x1_stride1_pad0",
            ones & padless & _spatial(c, "stride", 1),
        ),
        implies(
            c.specialization == "filter3x3",
            _spatial(c, "filter", 3, filters=True) & (c.C == 1),
        ),
    )


@rule(
    "PROB004", "split-k-in-forward", kind="launch",
    applies=lambda c: c.forward, source=f"{_FWD} (IsSplitKSupported)",
    accepts=[{}], rejects=[{"split_k": 2}],
)  # fmt: skip
def forward_does_not_split(c: Problems) -> BoolExpr:
    """Forward does not split K.

    Why: the kernel refuses every k_batch but 1.

    Fix: set split_k to 1.
    """
    return c.split_k == 1


@rule(
    "PROB005", "input-vector-in-forward", kind="launch",
    applies=lambda c: c.forward, source=_FWD,
    accepts=[{}], rejects=[{"C": 12}],
)  # fmt: skip
def forward_input_vector(c: Problems) -> BoolExpr:
    """The vector of A divides the input channels; merged groups take single channels.

    Why: since 2026.06 a kernel that merges groups asks for one channel per group and a number of
    groups that the merged ones divide.

    Fix: use a kernel with a narrower vector_a.
    """
    plain = c.C % c.vector_a == 0
    if not c.since("2026.06"):
        return plain
    merged = (c.C == 1) & (c.G % c.num_groups_to_merge == 0)
    verdict: BoolExpr = ite(c.num_groups_to_merge > 1, merged, plain)
    return verdict


@rule(
    "PROB006", "weight-vector-in-forward", kind="launch",
    applies=lambda c: c.forward, source=_FWD,
    accepts=[{}], rejects=[{"C": 12}],
)  # fmt: skip
def forward_weight_vector(c: Problems) -> BoolExpr:
    """The vector of B divides the input channels.

    Why: a thread loads whole vectors of the weight along C.

    Fix: use a kernel with a narrower vector_b.
    """
    return c.C % c.vector_b == 0


@rule(
    "PROB007", "output-vector-in-forward", kind="launch",
    applies=lambda c: c.forward, source=_FWD,
    accepts=[{}], rejects=[{"K": 12}],
)  # fmt: skip
def forward_output_vector(c: Problems) -> BoolExpr:
    """The vector of C divides the output channels, or the groups where groups are merged.

    Why: a thread stores whole vectors along K, or along the merged groups.

    Fix: use a kernel with a narrower vector_c.
    """
    plain = c.K % c.vector_c == 0
    if not c.since("2026.06"):
        return plain
    groups = all_of(
        c.num_groups_to_merge > 1, c.G % c.num_groups_to_merge == 0, c.G % c.vector_c == 0
    )
    return plain | groups


@rule(
    "PROB008", "vectors-in-backward", kind="launch",
    applies=lambda c: c.backward, source=[_BWD, _WEI],
    accepts=[{"variant": "bwd_data"}, {"variant": "bwd_weight"}],
    rejects=[{"variant": "bwd_data", "K": 12}, {"variant": "bwd_weight", "C": 12}],
)  # fmt: skip
def backward_vectors(c: Problems) -> BoolExpr:
    """In backward, the vector of A divides the output channels, those of B and C the input's.

    Why: A is the output gradient, B and C run along the input channels. Merging groups does not
    relax it.

    Fix: use a kernel with narrower vectors.
    """
    return all_of(c.K % c.vector_a == 0, c.C % c.vector_b == 0, c.C % c.vector_c == 0)


@rule(
    "PROB009", "too-many-gemms", kind="launch",
    applies=_bwd_data, source=f"{_BWD} (MaxGroupedGemmGroupsNum)",
    accepts=[{"variant": "bwd_data"}],
    rejects=[{"variant": "bwd_data", "stride_h": 13, "stride_w": 13, "filter_y": 13,
              "filter_x": 13, "input_h": 64, "input_w": 64}],
)  # fmt: skip
def gemms_fit(c: Problems) -> BoolExpr:
    """Backward data takes at most 128 GEMMs.

    Why: each offset within the strides is a GEMM of its own, and the kernel holds 128 of them.

    Fix: none for this problem.
    """
    return c.gemm_count <= 128


@rule(
    "PROB010", "split-k-with-odd-vector", kind="launch",
    applies=lambda c: c.backward & (c.vector_c % 2 == 1) & (c.output_bytes == 2),
    source=[_BWD, _WEI],
    accepts=[{"variant": "bwd_weight", "vector_c": 1}],
    rejects=[{"variant": "bwd_weight", "vector_c": 1, "split_k": 2}],
)  # fmt: skip
def odd_vectors_do_not_split(c: Problems) -> BoolExpr:
    """A 16-bit result with an odd vector does not split K.

    Why: partial sums are added atomically, two 16-bit elements at least.

    Fix: use an even vector_c or split_k = 1.
    """
    return c.split_k == 1


@rule(
    "PROB011", "split-k-beyond-128", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.output_bytes == 2), source=_WEI,
    accepts=[{"variant": "bwd_weight", "split_k": 8}],
    rejects=[{"variant": "bwd_weight", "split_k": 129}],
)  # fmt: skip
def split_is_limited(c: Problems) -> BoolExpr:
    """Backward weight with a 16-bit result splits K into 128 parts at most.

    Why: more roundings would spoil the sum; an fp32 workspace (two_stage) has no such limit.

    Fix: use two_stage or fewer parts.
    """
    return c.split_k <= 128


@rule(
    "PROB012", "groups-not-merged-evenly", kind="launch",
    applies=lambda c: c.bwd_weight & (c.num_groups_to_merge > 1), source=_WEI,
    accepts=[{"variant": "bwd_weight", "num_groups_to_merge": 2, "G": 4}],
    rejects=[{"variant": "bwd_weight", "num_groups_to_merge": 2, "G": 3}],
)  # fmt: skip
def groups_merge_evenly(c: Problems) -> BoolExpr:
    """The merged groups of backward weight divide the groups.

    Why: every block takes the same number of groups.

    Fix: use a kernel that merges fewer.
    """
    return c.G % c.num_groups_to_merge == 0


@rule(
    "PROB013", "split-k-beyond-warp-tiles", kind="launch",
    applies=lambda c: c.bwd_weight & (c.streamk == "off"), source=_WEI,
    accepts=[{"variant": "bwd_weight", "split_k": 4}],
    rejects=[{"variant": "bwd_weight", "split_k": 4, "N": 1, "input_h": 1, "input_w": 1}],
)  # fmt: skip
def parts_have_work(c: Problems) -> BoolExpr:
    """Each part of a split K has at least one warp tile.

    Why: parts without work are refused.

    Fix: split K into fewer parts.
    """
    return ceil_div(c.gemm_k, c.warp_tile_k) >= c.split_k


@rule(
    "PROB014", "compv6-with-short-k", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.pipeline == "compv6"), source=f"{_WEI} (PrefetchStages)",
    accepts=[{"variant": "bwd_weight", "pipeline": "compv6"}],
    rejects=[{"variant": "bwd_weight", "pipeline": "compv6", "N": 1, "input_h": 8, "input_w": 8}],
)  # fmt: skip
def compv6_prefetches(c: Problems) -> BoolExpr:
    """compv6 in backward weight has at least four K tiles in each part.

    Why: it prefetches three stages before it computes.

    Fix: use another pipeline for small problems.
    """
    return ceil_div(c.gemm_k, c.split_k * c.tile_k) >= 4


@rule(
    "PROB015", "split-k-with-streamk", kind="launch", since="2026.06",
    applies=lambda c: c.bwd_weight & (c.streamk != "off"), source=_WEI,
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"variant": "bwd_weight", "streamk": "tree", "split_k": 2}],
)  # fmt: skip
def streamk_does_not_split(c: Problems) -> BoolExpr:
    """Stream-K does not split K as well.

    Why: stream-K divides the work itself.

    Fix: set split_k to 1.
    """
    return c.split_k == 1


def _vocabulary(ck: str, gpus: Sequence[Gpu]) -> Problems:
    words = Problems(
        [*conv.fields([g.name for g in gpus]), *problem_fields()], conv.facts(gpus, ck), ck
    )
    words.baseline = {**conv.BASELINE, **DEFAULTS}
    return words


def problem_book(
    variant: str | None = None, ck: str = DEFAULT_CK, *, gpus: Iterable[Gpu] | None = None
) -> RuleBook:
    """The rules that say which problems a kernel accepts, over its fields and the problem's.

    Args:
        variant: A variant of grouped convolution; the book covers all three directions.
        ck: The CK headers.
        gpus: The GPUs that points may name (default: all of `ckrules.arch`).

    Raises:
        UnknownNameError: For an unknown variant or version, with near matches.
        UsageError: For depthwise kernels, which have fields of the same names as problems.

    >>> len(problem_book("bwd_weight").rules) > len(problem_book("bwd_weight", "2025.11").rules)
    True
    """
    if operator_of(variant) != "conv":
        raise UsageError(f"problems of {variant} kernels are not modelled")
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    return _book(ck, tuple(load_all() if gpus is None else gpus))


@lru_cache(maxsize=8)
def _book(ck: str, gpus: tuple[Gpu, ...]) -> RuleBook:
    words = _vocabulary(ck, gpus)
    declared = [v for v in globals().values() if isinstance(v, RuleDef)]
    rules = [r.build(words) for r in declared]
    kept = [r for r in rules if r.valid_for(ck)]
    return RuleBook("problems", words, kept, check=gpus == load_all())


def read_problem(given: Mapping[str, Any]) -> dict[str, Value]:
    """A full problem from some of its fields; the others have `DEFAULTS`.

    Raises:
        UnknownNameError: For a field that problems do not have, with near matches.
        UsageError: For a value that is no whole number in range.

    >>> read_problem({"N": 4, "C": 32})["K"]
    64
    """
    domains = {n.data.name: n.data for n in problem_fields()}
    for key in given:
        if key not in domains:
            raise unknown("problem field", str(key), domains)
    return {n: d.accept(given.get(n, DEFAULTS[n])) for n, d in domains.items()}

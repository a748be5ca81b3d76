"""OP: layouts, padding, group merging, explicit GEMM, two stages, split image, specializations."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_KERNELS = "ops/grouped_convolution/kernel/grouped_convolution_{forward,backward_data,backward_weight}_kernel.hpp"
_CONSTRUCTORS = "constructors of the arguments (enable_if on InLayout, WeiLayout, OutLayout, not on NDimSpatial)"


@rule(
    "OP001", "layout-of-other-dimension", kind="compile", applies=lambda c: c.forward,
    says=["ndim = 1 goes with layout nwgc, not {layout}",
          "ndim = 2 goes with layout nhwgc, not {layout}",
          "ndim = 3 goes with layout ndhwgc, not {layout}"],
    source="ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: AGridDescMK (no MakeADescriptor_M_K of TransformConvFwdToGemm for another number of dimensions)",
    accepts=[{}, {"ndim": 3, "layout": "ndhwgc"}],
    rejects=[{"ndim": 3, "layout": "nwgc"}, {"ndim": 2, "layout": "ndhwgc"}],
)  # fmt: skip
def layout_matches_ndim(c: ConvQuantities) -> BoolExpr:
    """Forward's layout is the channels-last layout of the number of spatial dimensions.

    Why: the matrices are described by the layouts, and there is a description for (NWGC, GKXC,
    NWGK) of one dimension, (NHWGC, GKYXC, NHWGK) of two and (NDHWGC, GKZYXC, NDHWGK) of three.
    Upstream writes nhwgc for any number of dimensions, so configurations that say so are read as
    meant.

    Fix: use nwgc, nhwgc or ndhwgc for 1, 2 or 3 dimensions.
    """
    return all_of(
        implies(c.ndim == 1, c.layout == "nwgc"),
        implies(c.ndim == 2, c.layout == "nhwgc"),
        implies(c.ndim == 3, c.layout == "ndhwgc"),
    )


@rule(
    "OP017", "layout-of-fewer-dimensions", kind="wrong-result", applies=lambda c: c.backward,
    says=["{variant} takes the height for the width, too: ndim = 2 goes with layout nhwgc, not {layout}",
          "{variant} takes the first sizes for the others, too: ndim = 3 goes with layout ndhwgc, not {layout}"],
    source=f"{_KERNELS}: {_CONSTRUCTORS} (CK 2025.11: run)",
    accepts=[{"variant": "bwd_data"}, {"variant": "bwd_weight", "ndim": 3, "layout": "ndhwgc"}],
    rejects=[{"variant": "bwd_data", "ndim": 3, "layout": "nwgc"},
             {"variant": "bwd_weight", "ndim": 2, "layout": "nwgc"}],
)  # fmt: skip
def backward_layout_has_all_dimensions(c: ConvQuantities) -> BoolExpr:
    """The layout of backward kernels has no fewer dimensions than the kernel.

    Why: they compile with any. The layout chooses who reads the problem, and the number of
    dimensions what is computed: sizes that the layout does not have are those of the last one
    that it has.

    Fix: use nhwgc or ndhwgc for 2 or 3 dimensions.
    """
    return all_of(
        implies(c.ndim == 2, c.layout != "nwgc"),
        implies(c.ndim == 3, c.layout == "ndhwgc"),
    )


@rule(
    "OP018", "layout-of-more-dimensions", kind="launch", applies=lambda c: c.backward,
    says=["the arguments of {variant} hold one size, and {layout} writes more: ndim = 1 goes with layout nwgc",
          "the arguments of {variant} hold two sizes, and {layout} writes three: ndim = 2 goes with layout nhwgc"],
    source=[f"{_KERNELS}: {_CONSTRUCTORS}", "core/container/array.hpp: array(std::initializer_list) (asserts nothing)"],
    accepts=[{"variant": "bwd_data"}, {"variant": "bwd_weight", "ndim": 3, "layout": "ndhwgc"}],
    rejects=[{"variant": "bwd_data", "ndim": 1, "layout": "ndhwgc"},
             {"variant": "bwd_weight", "ndim": 2, "layout": "ndhwgc"}],
)  # fmt: skip
def backward_layout_has_no_more_dimensions(c: ConvQuantities) -> BoolExpr:
    """The layout of backward kernels has no more dimensions than the kernel.

    Why: they compile with any. Whoever prepares the launch then reads sizes past the end of the
    problem's and writes them past the end of the arguments' arrays, which is undefined. One such
    kernel (backward weight, two dimensions) computed right where it was run, since later members
    are written later.

    Fix: use nwgc or nhwgc for 1 or 2 dimensions.
    """
    return all_of(
        implies(c.ndim == 1, c.layout == "nwgc"),
        implies(c.ndim == 2, c.layout != "ndhwgc"),
    )


@rule(
    "OP002", "unpadded-dimension", kind="compile",
    says=["convolution kernels pad every GEMM dimension: pad_m = false, expected true",
          "convolution kernels pad every GEMM dimension: pad_n = false, expected true",
          "convolution kernels pad every GEMM dimension: pad_k = false, expected true"],
    source=[f"{_KERNELS}: static_assert on kPadM, kPadN, kPadK",
            "ops/grouped_convolution/utils/grouped_convolution_utils.hpp: GroupedConvTraits::FixedGemmParams"],
    accepts=[{}], rejects=[{"pad_k": False}, {"pad_m": False, "pad_n": False}],
)  # fmt: skip
def all_padded(c: ConvQuantities) -> BoolExpr:
    """All three GEMM dimensions are padded.

    Why: convolution kernels fix kPadM, kPadN and kPadK to true; sizes of a problem then never
    have to be multiples of the block tile.

    Fix: leave the pads on.
    """
    return all_of(c.pad_m, c.pad_n, c.pad_k)


@rule(
    "OP003", "odd-group-merge", kind="compile",
    applies=lambda c: c.variant != "bwd_data",
    says=("{variant} merges 1, 2, 4, 8, 16, 32 or 64 groups: num_groups_to_merge = "
          "{num_groups_to_merge}"),
    source=["ops/grouped_convolution/utils/transform_conv_fwd_to_gemm.hpp: static_assert on NumGroupsToMerge",
            "ops/grouped_convolution/utils/transform_conv_bwd_weight_to_gemm.hpp: static_assert on NumGroupsToMerge"],
    accepts=[{"variant": "bwd_weight", "num_groups_to_merge": 8}],
    rejects=[{"num_groups_to_merge": 3}, {"variant": "bwd_weight", "num_groups_to_merge": 128}],
)  # fmt: skip
def mergeable_groups(c: ConvQuantities) -> BoolExpr:
    """The number of merged groups is 1, 2, 4, 8, 16, 32 or 64.

    Why: the transformation to a GEMM is written for these numbers only.

    Fix: merge the next power of two.
    """
    return c.num_groups_to_merge.isin(1, 2, 4, 8, 16, 32, 64)


@rule(
    "OP004", "merge-in-backward-data", kind="no-effect", severity="warning",
    applies=lambda c: c.variant == "bwd_data",
    says=("num_groups_to_merge = {num_groups_to_merge} has no effect in {variant}, which merges "
          "no groups"),
    source="grouped_convolution_backward_data_kernel.hpp: NumGroupsToMerge is not used, GemmBatch is G (CK 2025.11: run, and the same code compiled)",
    accepts=[{"variant": "bwd_data"}],
    rejects=[{"variant": "bwd_data", "num_groups_to_merge": 8}],
)  # fmt: skip
def no_merge_in_bwd_data(c: ConvQuantities) -> BoolExpr:
    """Backward data merges no groups.

    Why: neither the transformation nor the grid looks at the number, so the configuration is a
    second name for the kernel that merges none, and computes the same.

    Fix: set num_groups_to_merge to 1.
    """
    return c.num_groups_to_merge == 1


@rule(
    "OP016", "one-dimensional-backward-weight", kind="wrong-result",
    applies=lambda c: c.bwd_weight,
    says=("{variant} reads the output gradient of one dimension as its transpose: ndim = {ndim}, "
          "expected 2 (with a height of 1) or 3"),
    source="ops/grouped_convolution/utils/transform_conv_bwd_weight_to_gemm.hpp: make_out_grid_desc for one dimension has K before N*Wo, those for two and three after it (CK 2025.11: run; CK 2026.06: read, not run)",
    accepts=[{"variant": "bwd_weight"}, {"variant": "bwd_weight", "ndim": 3, "layout": "ndhwgc"}],
    rejects=[{"variant": "bwd_weight", "ndim": 1, "layout": "nwgc"},
             {"variant": "bwd_weight", "ndim": 1, "layout": "nwgc", "num_groups_to_merge": 8}],
)  # fmt: skip
def bwd_weight_has_rows(c: ConvQuantities) -> BoolExpr:
    """Backward weight has two or three dimensions.

    Why: with one, the matrix of the output gradient is described with rows and columns swapped.
    The kernel then multiplies other elements, and reads beyond the tensor. It compiles.

    Fix: set ndim to 2 and run it on images with a height of 1 (H=1, Y=1).
    """
    return c.ndim != 1


@rule(
    "OP015", "merge-in-forward", kind="wrong-result", until="2026.06",
    applies=lambda c: c.forward,
    says=("{variant} of CK 2025.11 does not merge groups: num_groups_to_merge = "
          "{num_groups_to_merge}, expected 1"),
    source=["ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp: GroupedConvFwdKernelArgs (GemmM, GemmN, GemmBatch, group_stride_a) and GridSize",
            "ops/grouped_convolution/utils/transform_conv_fwd_to_gemm.hpp: MakeADescriptor_M_K with NumGroupsToMerge (run)"],
    accepts=[{}], rejects=[{"num_groups_to_merge": 8}],
)  # fmt: skip
def no_merge_in_forward(c: ConvQuantities) -> BoolExpr:
    """Forward of 2025.11 merges no groups.

    Why: the matrices are described for merged groups, while grid, sizes and group offsets stay
    those of single groups: part of the output is never written, and the last groups reach
    beyond the tensors. Nothing stops the compiler.

    Fix: set num_groups_to_merge to 1.
    """
    return c.num_groups_to_merge == 1


@rule(
    "OP005", "merge-with-wide-weight-load", kind="launch", since="2026.06",
    applies=lambda c: c.forward & (c.num_groups_to_merge > 1),
    says=("{variant} with merged groups loads the weight one element at a time: vector_b "
          "= {vector_b}, expected 1 with num_groups_to_merge = {num_groups_to_merge}"),
    source="grouped_convolution_forward_kernel.hpp: IsSupportedArgument (C == 1 and C % VectorSizeB == 0)",
    accepts=[{"num_groups_to_merge": 8, "vector_b": 1}],
    rejects=[{"num_groups_to_merge": 8, "vector_b": 8}],
)  # fmt: skip
def merged_forward_loads_single_weights(c: ConvQuantities) -> BoolExpr:
    """A forward kernel that merges groups loads the weight one element at a time.

    Why: it accepts only problems with one input channel per group and asks that vector_b
    divides that number; with any other width the kernel never accepts a problem.

    Fix: set vector_b to 1.
    """
    return c.vector_b == 1


@rule(
    "OP006", "merge-below-input-vector", kind="wrong-result", since="2026.06",
    applies=lambda c: c.forward & (c.num_groups_to_merge > 1),
    says=("{variant} reads vectors of A along the merged groups: num_groups_to_merge = "
          "{num_groups_to_merge} is not a multiple of vector_a = {vector_a}"),
    source="grouped_convolution_forward_kernel.hpp: IsSupportedArgument does not test NumGroupsToMerge % VectorSizeA",
    accepts=[{"num_groups_to_merge": 8, "vector_a": 4}],
    rejects=[{"num_groups_to_merge": 2, "vector_a": 8}],
)  # fmt: skip
def merged_groups_hold_vectors(c: ConvQuantities) -> BoolExpr:
    """The merged groups of a forward kernel are a multiple of the input vector.

    Why: with one channel per group the vector of A runs along the groups, and nothing tests
    that it stays inside the merged ones.

    Fix: merge more groups or narrow vector_a.
    """
    return c.num_groups_to_merge % c.vector_a == 0


@rule(
    "OP007", "explicit-gemm-with-merge", kind="compile", since="2026.06",
    applies=lambda c: c.explicit_gemm,
    says=["explicit_gemm is not for {variant}",
          ("explicit_gemm merges no groups: num_groups_to_merge = {num_groups_to_merge}, "
          "expected 1")],
    source=f"{_KERNELS}: static_assert on ExplicitGemm",
    accepts=[{"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"}],
    rejects=[{"explicit_gemm": True, "num_groups_to_merge": 2},
             {"explicit_gemm": True, "variant": "bwd_data"}],
)  # fmt: skip
def explicit_gemm_is_plain(c: ConvQuantities) -> BoolExpr:
    """An explicit GEMM merges no groups and is not used in backward data.

    Why: the kernels assert both.

    Fix: turn explicit_gemm off or set num_groups_to_merge to 1.
    """
    return (c.variant != "bwd_data") & (c.num_groups_to_merge == 1)


@rule(
    "OP019", "explicit-gemm-with-wavelet", kind="compile", since="2026.06",
    applies=lambda c: c.explicit_gemm & (c.streamk == "off") & (c.variant != "bwd_data"),
    says="an explicit GEMM of {variant} does not take {pipeline}",
    source=["ops/gemm/kernel/universal_gemm_kernel.hpp: RunGemm, operator() of the pipeline with functions of elements (ROCm/rocm-libraries @ 639119b, read)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_wavelet.hpp: operator() (only without them; CK 2026.06, read)",
            f"{_KERNELS}: CallExplicitGemm (no such path with stream-K; ROCm/rocm-libraries @ 7cd5301, read)"],
    accepts=[{"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"}],
    rejects=[{"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0",
              "pipeline": "wavelet"}],
)  # fmt: skip
def explicit_gemm_has_no_loading_waves(c: ConvQuantities) -> BoolExpr:
    """An explicit GEMM does not use wavelet.

    Why: it runs the kernel of batched GEMMs, which calls pipelines with a function for the
    elements of each operand. wavelet has no such call, as it is not a pipeline of GEMMs (GEMM020).

    Fix: use another pipeline, or turn explicit_gemm off.
    """
    return c.pipeline != "wavelet"


@rule(
    "OP012", "explicit-gemm-before-it-existed", kind="compile", until="2026.06",
    says="CK 2025.11 has no explicit GEMM: explicit_gemm = true, expected false",
    source="grouped_convolution_utils.hpp: GroupedConvTraits has no ExplicitGemm parameter in these headers",
    accepts=[{}], rejects=[{"explicit_gemm": True}],
)  # fmt: skip
def no_explicit_gemm(c: ConvQuantities) -> BoolExpr:
    """explicit_gemm is off.

    Why: these headers have no explicit GEMM.

    Fix: turn explicit_gemm off or use newer headers.
    """
    return ~c.explicit_gemm


@rule(
    "OP013", "two-stage-backward-data", kind="compile", until="2026.06",
    applies=lambda c: (c.variant == "bwd_data") & (c.dtype != "fp32"),
    says="{variant} of {dtype} stores its own type: two_stage = true, expected false",
    source="grouped_convolution_backward_data_kernel.hpp: does not compile with an fp32 output type (seen with clang 19)",
    accepts=[{"variant": "bwd_data"}], rejects=[{"variant": "bwd_data", "two_stage": True}],
)  # fmt: skip
def bwd_data_stores_own_type(c: ConvQuantities) -> BoolExpr:
    """Backward data of 16-bit types stores its own type, not an fp32 workspace.

    Why: the kernel does not compile with another output type. With fp32 the workspace has the
    same type, so that it compiles; that there is no such kernel is what OP009 says.

    Fix: turn two_stage off.
    """
    return ~c.two_stage


@rule(
    "OP014", "specialised-backward", kind="launch", until="2026.06",
    applies=lambda c: c.backward,
    says=("{variant} of CK 2025.11 has only specialization = default, not "
          "{specialization}"),
    source="grouped_convolution_backward_{data,weight}_kernel.hpp: NDimSpatial = GroupedConvTraitsType_::NDimSpatial_ (no such member)",
    accepts=[{"variant": "bwd_data"}, {"variant": "bwd_weight"}],
    rejects=[{"variant": "bwd_data", "specialization": "filter1x1_stride1_pad0"},
             {"variant": "bwd_weight", "specialization": "filter3x3"}],
)  # fmt: skip
def backward_is_not_specialised(c: ConvQuantities) -> BoolExpr:
    """The backward directions have the specialization default.

    Why: the kernels compile for the device, but their argument check on the host does not: for
    special filters it reads the number of dimensions from a member that does not exist.

    Fix: set specialization to default.
    """
    return c.specialization == "default"


@rule(
    "OP008", "explicit-gemm-for-any-filter", kind="launch", since="2026.06",
    applies=lambda c: c.explicit_gemm,
    says=("explicit_gemm needs specialization = filter1x1_stride1_pad0, not "
          "{specialization}"),
    source=f"{_KERNELS}: IsSupportedArgument, constexpr branch on ExplicitGemm",
    accepts=[{"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"}],
    rejects=[{"explicit_gemm": True, "specialization": "default"}],
)  # fmt: skip
def explicit_gemm_needs_1x1(c: ConvQuantities) -> BoolExpr:
    """An explicit GEMM is specialised for 1x1 filters with stride 1 and no padding.

    Why: any other kernel compiles and then accepts no problem.

    Fix: set specialization to filter1x1_stride1_pad0.
    """
    return c.specialization == "filter1x1_stride1_pad0"


@rule(
    "OP009", "two-stage-without-workspace", kind="launch",
    applies=lambda c: c.two_stage,
    says="two_stage is for bwd_weight only, not for {variant}",
    source="example/ck_tile/20_grouped_convolution/grouped_convolution_backward_weight_two_stage_invoker.hpp",
    accepts=[{"variant": "bwd_weight", "two_stage": True}],
    rejects=[{"variant": "forward", "two_stage": True}],
)  # fmt: skip
def two_stage_is_bwd_weight(c: ConvQuantities) -> BoolExpr:
    """Only backward weight runs in two stages.

    Why: the fp32 workspace and the converting second kernel exist for it alone; the other
    directions have no launcher of that kind.

    Fix: turn two_stage off.
    """
    return c.bwd_weight


@rule(
    "OP010", "split-image-in-backward", kind="no-effect", severity="warning",
    applies=lambda c: c.split_image,
    says="split_image has no effect in {variant}, only in forward",
    source=f"{_KERNELS}: EnableSplitImage is used by forward only (CK 2025.11: the same code compiled)",
    accepts=[{"split_image": True}],
    rejects=[{"variant": "bwd_weight", "split_image": True}],
)  # fmt: skip
def split_image_is_forward(c: ConvQuantities) -> BoolExpr:
    """Splitting the image has an effect in forward only.

    Why: the backward kernels carry the flag in their name and do nothing with it, so the
    configuration is a second name for the same kernel.

    Fix: turn split_image off.
    """
    return c.forward


@rule(
    "OP011", "vector-wider-than-one-channel", kind="launch",
    applies=lambda c: c.specialization == "filter3x3",
    says=[("{specialization} loads B one element at a time: vector_b = {vector_b}, "
          "expected 1"),
          ("{specialization} in {variant} loads A one element at a time: vector_a = "
          "{vector_a}, expected 1"),
          ("{specialization} in {variant} stores C one element at a time: vector_c = "
          "{vector_c}, expected 1")],
    source=f"{_KERNELS}: IsSupportedArgument (Filter3x3 asks for C == 1, the vectors for C % vector == 0)",
    accepts=[{"specialization": "filter3x3", "vector_a": 1, "vector_b": 1}],
    rejects=[{"specialization": "filter3x3", "vector_a": 8, "vector_b": 8},
             {"specialization": "filter3x3", "variant": "bwd_data", "vector_b": 1, "vector_c": 8}],
)  # fmt: skip
def filter3x3_moves_single_channels(c: ConvQuantities) -> BoolExpr:
    """A kernel for 3x3 filters moves tensors with C channels one element at a time.

    Why: the specialization accepts only one channel per group, and vectors along C must divide
    that number: A and B in forward, B and C (the output) in the backward directions. With
    another width the kernel never accepts a problem.

    Fix: set those vectors to 1.
    """
    merged = c.num_groups_to_merge > 1
    return all_of(
        c.vector_b == 1,
        implies(c.forward & ~merged, c.vector_a == 1),
        implies(c.backward, c.vector_c == 1),
    )

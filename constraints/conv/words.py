"""Words for layouts, pipelines, directions and specializations of convolutions."""

from __future__ import annotations

LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}
"""The layout of input and output by spatial dimensions."""
UPSTREAM_LAYOUT = "nhwgc"
"""The layout that upstream writes whatever the number of dimensions."""
PIPELINE_ALIASES = {"compv1": "basic_v1", "compv2": "basic_v2"}

#: Layouts of convolutions that the rule books do not describe.
OTHER_LAYOUTS = ("ngchw", "ngcdhw", "ngcw", "gnhwc", "gndhwc", "gnwc")
NDIMS_BY_LAYOUT = {layout: ndim for ndim, layout in LAYOUTS.items()}
#: Older examples leave the groups out of the layout.
OLD_LAYOUTS = {layout.replace("g", ""): layout for layout in LAYOUTS.values()}
#: Other words for directions, as upstream's files have them.
VARIANT_WORDS = {"fwd": "forward", "backward_data": "bwd_data", "backward_weight": "bwd_weight"}
#: By the word in lower case without underscores.
SPECIALIZATIONS = {
    "default": "default", "oddc": "default", "filter1x1pad0": "filter1x1_pad0",
    "filter1x1stride1pad0": "filter1x1_stride1_pad0", "filter3x3": "filter3x3",
}  # fmt: skip

#: What people write for the values of fields, in lower case without ``_`` and ``-``.
SYNONYMS = {
    "variant": {
        "fwd": "forward", "fprop": "forward",
        "bwddata": "bwd_data", "backwarddata": "bwd_data", "dgrad": "bwd_data",
        "bwdweight": "bwd_weight", "backwardweight": "bwd_weight", "bwdweights": "bwd_weight",
        "wgrad": "bwd_weight",
    },
    "dtype": {
        "half": "fp16", "float16": "fp16", "f16": "fp16", "halft": "fp16",
        "bfloat16": "bf16", "bfloat": "bf16", "bf16t": "bf16",
        "float": "fp32", "float32": "fp32", "f32": "fp32", "single": "fp32",
    },
    "pipeline": {
        "memory": "mem", "basicv1": "basic_v1", "basicv2": "basic_v2",
        **{f"compute{v}": f"comp{v}" for v in ("v3", "v4", "v5", "v6")},
        "computeasync": "comp_async", "compasync": "comp_async",
    },
}  # fmt: skip

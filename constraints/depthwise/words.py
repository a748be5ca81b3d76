"""Words for layouts of depthwise kernels."""

from __future__ import annotations

LAYOUTS = {2: "ngchw"}
"""The layout of input and output by spatial dimensions."""
#: What people write for the values of fields, in lower case without ``_`` and ``-``.
SYNONYMS = {
    "variant": {"depthwise": "forward_depthwise", "fwddepthwise": "forward_depthwise"},
    "dtype": {"half": "fp16", "float16": "fp16", "float": "fp32", "float32": "fp32"},
}

"""The C++ words of quantised GEMMs that other GEMMs lack.

Facts: include/ck_tile/ops/gemm_quant of CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.codegen.gemm import cpp_names as gemm
from ckrules.codegen.gemm.cpp_names import GemmPipelineName

KINDS: Mapping[str, str] = {
    "aquant": "AQuantGrouped", "bquant": "BQuantGrouped", "rowcol_quant": "RowColQuant",
    "tensor_quant": "TensorQuant",
}  # fmt: skip
"""Enumerators of ``ck_tile::QuantType`` by variant."""

#: Where a variant's pipelines are not those of other GEMMs.
_OWN: Mapping[str, str] = {"aquant": "AQuantGemmPipeline", "bquant": "BQuantGemmPipeline"}


def pipeline(variant: str, word: str) -> GemmPipelineName:
    """The classes of a variant's pipeline, which the headers may lack.

    >>> pipeline("aquant", "mem").cls, pipeline("bquant", "preshufflev2").cls
    ('AQuantGemmPipelineAgBgCrMem', 'WPQuantBPipelineAgBgCrV2')
    """
    found = gemm.PROBED[word]
    if variant not in _OWN:
        return found
    if (variant, word) == ("bquant", "preshufflev2"):
        return GemmPipelineName("WPQuantBPipelineAgBgCrV2", found.base)
    name = found.cls.replace("GemmPipeline", _OWN[variant], 1)
    return GemmPipelineName(name, f"Base{name}")

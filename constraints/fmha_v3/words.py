"""Words of attention with two groups of waves."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha import words as forward

VARIANT = "fmha_fwd_v3"
#: ``fmha_fwd_v3_args::data_type_enum`` of the example.
DTYPES = forward.HALVES
PIPELINE = "qr_async_trload_v3"
"""What lists of 2026 call the pipeline, which has no name in CK 2025.11."""
EXAMPLE = "example"
"""The rule set of what upstream's example instantiates."""
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    **{k: forward.SYNONYMS[k] for k in ("mode", "mask")},
    "dtype": {word: d for word, d in forward.SYNONYMS["dtype"].items() if d in DTYPES},
    "variant": {"fmhav3": VARIANT, "attentionv3": VARIANT},
    "pipeline": {"v3": PIPELINE},
}

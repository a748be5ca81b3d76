"""Words of the kernels before and after attention."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha import words as forward

COMBINE, APPEND = "fmha_fwd_splitkv_combine", "fmha_fwd_appendkv"
DOT, CONVERT = "fmha_bwd_dot_do_o", "fmha_bwd_convert_dq"
VARIANTS = (COMBINE, APPEND, DOT, CONVERT)
DTYPES = forward.DTYPES
#: Rotary embedding of new K: none, pairs side by side, or halves.
ROPES = ("no", "inter", "halves")
#: The mode of kernels that are the same for both is batch.
MODES = forward.MODES
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "variant": {
        "combine": COMBINE, "splitkvcombine": COMBINE, "appendkv": APPEND, "dotdoo": DOT,
        "convertdq": CONVERT,
    },
    "dtype": forward.SYNONYMS["dtype"],
    "mode": forward.SYNONYMS["mode"],
    "rope": {"none": "no", "interleaved": "inter", "halfrotated": "halves"},
}  # fmt: skip

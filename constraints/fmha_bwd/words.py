"""Words of attention backward."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha import words as forward

#: ``BWD_DTYPE_MAP`` of the generator.
DTYPES = ("fp32", "fp16", "bf16")
#: ``DROPOUT_MAP``: the warp tile that the random numbers are made for, and whether they are stored.
DROPOUTS = (
    "no", "dropout_wg32", "dropout_wg32_storerandval", "dropout_wg16", "dropout_wg16_storerandval",
)  # fmt: skip
#: Those of them whose random bytes are a result.
STORED = tuple(d for d in DROPOUTS if d.endswith("_storerandval"))
#: 0: none, 8: to multiples of 8, 1: any.
PADS = (0, 8, 1)
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    **{k: forward.SYNONYMS[k] for k in ("dtype", "mode", "bias", "mask")},
    "variant": {"fmhabackward": "fmha_bwd", "attentionbackward": "fmha_bwd"},
    "dropout": {"none": "no"},
}

"""Estimates of a kernel's code and of the time to compile it, fitted by scripts/fit_vgprs.py."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.registers import FITTED

BYTES = FITTED["code"]
"""Bytes of the most used entry for each unit of a term of `TileGemm.code_terms`.

The hot loop is unrolled, and what comes before and after it repeats its parts: an instruction of
eight bytes counts several times.
"""

PARTS = 1 << 16
"""Weights of seconds are in parts of this size."""

SECONDS = FITTED["seconds"]
"""Seconds of a processor for the device unit with one entry: headers and templates take most."""

"""Estimates of a kernel's code and of the time to compile it, fitted by scripts/fit_vgprs.py."""

from __future__ import annotations

from collections.abc import Mapping

BYTES: Mapping[str, int] = {
    "one": 1690,
    "accumulators": 57,
    "operands": 16,
    "staged": 24,
    "loads": 101,
    "loads of stages": 101,
    "matrix instructions": 50,
    "matrix instructions held twice": 176,
    "scaled matrix instructions": 125,
    "staged and turned": 100,
    "operands widened": 403,
    "element stores": 1780,
    "stored elements": 38,
    "stored pixels": 224,
    "images": 529,
    "loads of images": 94,
    "loads in three dimensions": 209,
    "gradient of the input": 5650,
    "scales": 1720,
}
"""Bytes of the most used entry for each unit of a term of `TileGemm.code_terms`.

The hot loop is unrolled, and what comes before and after it repeats its parts: an instruction of
eight bytes counts several times.
"""

PARTS = 1 << 16
"""Weights of seconds are in parts of this size."""

SECONDS: Mapping[str, int] = {"one": 654_000, "code": 18, "images": 72_000,
                              "gradient of the input": 260_000}  # fmt: skip
"""Seconds of a processor for the device unit with one entry: headers and templates take most."""

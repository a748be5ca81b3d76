"""An estimate of vector registers, fitted by scripts/fit_vgprs.py."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from ckrules.engine.expr import IntExpr, const, ite, maximum, minimum

UNIT = 16
"""Weights are in parts of this size."""

FITTED: Mapping[str, Mapping[str, int]] = tomllib.loads(
    Path(__file__).with_name("fitted.toml").read_text(encoding="utf-8")
)
"""Weights of terms: of registers, of code and of the time to compile it."""

WEIGHTS = FITTED["registers"]
"""Registers for each unit of a term of `TileGemm.register_terms`, in sixteenths.

Fitted to kernels of convolution and GEMM (tests/data/vgprs.jsonl, benchmarks/data/registers); of
GEMMs there are few, and what only they have was fitted to them alone. Bytes are those of elements
of one byte, which compilers before LLVM 20 take apart: a register each for a while.
"""

SIMDS = 4
"""Those that a workgroup's waves are spread over: of a compute unit, on RDNA of two."""


def estimate(
    terms: Mapping[str, IntExpr], weights: Mapping[str, int] = WEIGHTS, unit: int = UNIT
) -> IntExpr:
    """What terms come to by their weights, which are in parts of a unit; never less than 0.

    Terms without a weight count for something else.
    """
    total: IntExpr = const(0)
    for name, weight in weights.items():
        if name in terms:
            total = total + weight * terms[name]
    return maximum(total, 0) // unit


def bound(file: IntExpr, lane: IntExpr, waves: IntExpr) -> IntExpr:
    """Vector registers of a lane with which so many waves fit a SIMD.

    Args:
        file: Those of a SIMD for one lane of each wave, 0 where nobody has said.
        lane: Those that instructions of a lane can name.
        waves: Waves of a SIMD.
    """
    unit = maximum(file // 64, 1)  # they are given out by 8, 16 or 24
    return ite(file == 0, lane, minimum(lane, file // waves // unit * unit))

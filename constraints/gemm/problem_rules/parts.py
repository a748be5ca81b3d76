"""GPROB: parts of sums that are added to memory, by address or through C's buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_VIEW = "core/tensor/buffer_view.hpp: atomic_add (use_amd_buffer_addressing; run)"
_HALVES: Mapping[str, Any] = {"arch": "gfx1100", "pad_m": True, "k_batch": 2}
_SCOPED: Mapping[str, Any] = {"arch": "gfx1250", "@ck": "2026.06"}
_PADDED: Mapping[str, Any] = {"pad_m": True, "dtype": "bf16", "dtype_c": "bf16", "k_batch": 2}


def _in_parts(c: GemmProblem) -> BoolExpr:
    return (c.k_batch > 1) | (c.streamk == "atomic")


@rule(
    "GPROB044", "parts-added-beyond-c", kind="wrong-result", until="2026.06",
    applies=lambda c: _in_parts(c) & c.adds_by_address,
    says=("rows of {dtype_c} beyond the last one are added to memory behind C: M = {M} is not a "
          "multiple of tile_m = {tile_m}"),
    source=[_VIEW,
            "core/arch/generic_memory_space_atomic.hpp: atomic_add_g (by address)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmPadViews (C is padded along N alone)"],
    issue="ROCm/rocm-libraries#5842",
    accepts=[_PADDED, {**_PADDED, "arch": "gfx90a", "M": 1024}],
    rejects=[{**_PADDED, "M": 520}],
)  # fmt: skip
def parts_stay_in_c(c: GemmProblem) -> BoolExpr:
    """Where parts of sums are added by address, M is a multiple of tile_m.

    Why: rows of a tile beyond M are zeros that are added as well. Other results go through the
    tensor's buffer, which leaves out what lies behind it; bf16 does so on gfx950 only, and fp8 and
    bf8 on no GPU. These read and write memory that is somebody else's or nobody's.

    Fix: use k_batch = 1, fp16 or fp32 for C, or a tile_m that divides M.
    """
    return c.M % c.tile_m == 0


@rule(
    "GPROB045", "floats-added-beyond-c", kind="wrong-result",
    applies=lambda c: all_of(_in_parts(c), c.has("float_atomics_by_address"), c.dtype_c.isin("fp16", "fp32")),
    says=["rows of {dtype_c} beyond the last one are added to memory behind C: M = {M} is not a multiple of tile_m = {tile_m}",
          "columns of {dtype_c} beyond the last one are added to memory behind C: N = {N} is not a multiple of tile_n = {tile_n}"],
    source=[_VIEW, "core/config.hpp: CK_TILE_USE_AMD_BUFFER_ATOMIC_ADD_FLOAT",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmPadViews (C is padded along one side alone)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeCBlockWindows, pad_not_contiguous_dim (CK 2026.09, read)"],
    issue="ROCm/rocm-libraries#7586",
    accepts=[_HALVES, {**_HALVES, "layout": "rcc", "pad_m": False, "M": 1024}],
    rejects=[{**_HALVES, "M": 520}, {**_HALVES, "layout": "rcc", "pad_m": False, "N": 520}],
)  # fmt: skip
def floats_stay_in_c(c: GemmProblem) -> BoolExpr:
    """On gfx11 parts of fp16 and fp32 are whole tiles along the side of C that is not contiguous.

    Why: headers add floats through the tensor's buffer on gfx9 and gfx12 alone, and C is padded
    along its contiguous side. What a tile has beyond the other are zeros, added to memory that is
    somebody else's or nobody's. Upstream met the same in attention backward, and turned the buffer
    on for its kernels alone. bf16 is padded since 2026.06 (GPROB044).

    Fix: use k_batch = 1, or a tile that divides M (N where C has contiguous columns).
    """
    return all_of(~c.c_row | (c.M % c.tile_m == 0), c.c_row | (c.N % c.tile_n == 0))


@rule(
    "GPROB046", "parts-that-other-units-miss", kind="wrong-result", since="2026.06", until="2026.09",
    applies=lambda c: c.has("scoped_atomics") & c.dtype_c.isin("fp16", "fp32", "int32"),
    says="compute units add parts of {dtype_c} to copies of C of their own: k_batch = {k_batch}, streamk = {streamk}",
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_atomic_add_impl (0 for the scope; read)",
            "core/tensor/buffer_view.hpp: atomic_add (bf16 is added by address, which compilers give the scope)"],
    issue="ROCm/rocm-libraries#10312, ROCm/rocm-libraries#10913",
    accepts=[_SCOPED],
    rejects=[{**_SCOPED, "k_batch": 2}],
)  # fmt: skip
def parts_reach_other_units(c: GemmProblem) -> BoolExpr:
    """On gfx1250 no parts of sums are added to fp16, fp32 or int32.

    Why: a buffer instruction with scope 0 adds in the compute unit's own cache, so that what other
    blocks add is lost. Upstream saw it there, with fp16 38 % of the elements wrong, and asks for
    the device's scope since 2026.09. Other GPUs of gfx12 have the same bits; of them nobody says
    that a sum was wrong.

    Fix: use k_batch = 1 without stream-K, or bf16 for C.
    """
    return ~_in_parts(c)

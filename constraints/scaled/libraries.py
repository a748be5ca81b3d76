"""The libraries beside CK Tile whose kernels stand in aiter's lists and tables.

Facts: ROCm/aiter of August 2026, aiter/configs and aiter/configs/model_configs (columns ``libtype`` and
``kernelName``), csrc/ck_gemm_* and csrc/ck_batched_gemm_* (dataclasses of the lists).
"""

from __future__ import annotations

from ckrules.kernels.reader_tables import OtherLibrary

_NO_RULES = "no rule book describes them"

CLASSIC = OtherLibrary(
    "classic CK",
    "templates of include/ck, not of CK Tile: no rule book describes them yet",
    words=("ck",),
    names=r"moe_ck2stages_|batched_gemm_|deepgemm_|(?:a\d+w\d+|bf16|f4|i8|f8)\w*?_\d+x\d+x\d+x\d+",
    records=(
        ("BLOCK_SIZE", "MPerBLOCK", "PIPELINE_VERSION"),
        ("BLOCK_SIZE", "MPerBLOCK", "WAVE_MAP_M"),
        ("BLOCK_SIZE", "MPerBlock", "GemmPipelineVersion"),
        ("BLOCK_SIZE", "MPerBlock", "MWaves"),
    ),
)
TAGS = OtherLibrary(
    "tags of CK Tile", "words that stand for kernels without saying which",
    words=("cktile",), names=r".*cktile",
)  # fmt: skip
ASSEMBLY = OtherLibrary(
    "assembly", "code objects written by hand: a name says no parameters that could be judged",
    words=("asm",), names=r"_ZN\d*5?aiter|_ZN|fmoe_|bf16gemm_|f4gemm_|mla_|pa_",
)  # fmt: skip
FLYDSL = OtherLibrary(
    "FlyDSL", f"a generator of its own: {_NO_RULES}",
    words=("flydsl",), names=r"flydsl_|conv3d_implicit_", records=(("lds_stage", "tile_m"),),
)  # fmt: skip
TRITON = OtherLibrary(
    "Triton", f"compiled when they are first called: {_NO_RULES}",
    words=("triton", "gluon"), names=r"triton|_gemm_|gluon|auto$",
)  # fmt: skip
OPUS = OtherLibrary(
    "opus", f"C++ templates of aiter's own: {_NO_RULES}",
    words=("opus",), names=r"opus_",
)  # fmt: skip
LIBRARIES = OtherLibrary(
    "torch, hipBLASLt and skinny", "kernels that a library chooses itself",
    words=("torch", "hipblaslt", "skinny"), names=r"Cijk_|torch|skinny|hipblaslt|wv_?splitk",
)  # fmt: skip
UNKNOWN = OtherLibrary("others", "the name is of none of the libraries known here", names=r"")

#: In the order in which a name is tried; the last takes every name.
OTHERS = (CLASSIC, TAGS, ASSEMBLY, FLYDSL, OPUS, TRITON, LIBRARIES, UNKNOWN)

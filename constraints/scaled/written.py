"""Measurements as rows of aiter's tuned tables.

Facts: ROCm/aiter of August 2026, aiter/configs (columns of the tables of each module),
csrc/cktile_gemm_a8w8_bpreshuffle/gen_instances.py ``get_tune_dict`` (a row's ``kernelId`` chooses
the kernel, whatever its name says), gemm_a8w8_bpreshuffle_cktile_common.py ``expand_blockpercu`` and
csrc/ck_gemm_a8w8_blockscale/gemm_a8w8_blockscale_cktile_instance.py (numbers of lists). Of September:
csrc/ck_gemm_a8w8/gemm_a8w8_common.py and gemm_a8w8_tune.py beside it (@ 10788a1), which add no kernels to
the list.
"""

from __future__ import annotations

from ckrules.constraints.scaled.tuned import TUNED
from ckrules.kernels.parts import Point
from ckrules.kernels.written_table import Numbered, WrittenTable

#: Blocks on a compute unit up to which aiter adds kernels to its lists.
_MOST_BLOCKS = 4
_BLOCKS = "k_block_per_cu"
_EXTENDED = ("flatmm", "abquant")


def extended(listed: Numbered) -> Numbered:
    """The list, and behind its last number each kernel for the other blocks on a compute unit.

    Lists other than those of pre-shuffled weights and of block scales stay as they are.

    >>> point = {"variant": "flatmm", "k_block_per_cu": 2}
    >>> [(n, p["k_block_per_cu"]) for n, p in extended([(0, point)])]
    [(0, 2), (1, 1), (2, 3), (3, 4)]
    """
    if not listed or listed[0][1]["variant"] not in _EXTENDED:
        return listed
    blocks: dict[tuple[object, ...], set[object]] = {}
    first: dict[tuple[object, ...], Point] = {}
    for _, point in listed:
        key = tuple(value for name, value in point.items() if name != _BLOCKS)
        first.setdefault(key, point)
        blocks.setdefault(key, set()).add(point[_BLOCKS])
    number = max(number for number, _ in listed)
    found = list(listed)
    for key, point in first.items():
        for count in range(1, _MOST_BLOCKS + 1):
            if count not in blocks[key]:
                number += 1
                found.append((number, {**point, _BLOCKS: count}))
    return found


_PROBLEM = ("gfx", "cu_num", "M", "N", "K")
_RESULT = (
    "libtype", "kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio",
)  # fmt: skip

WRITTEN = WrittenTable(
    table=TUNED,
    columns={
        **dict.fromkeys(("flatmm", "rowcol_quant"), (*_PROBLEM, "q_dtype_w", *_RESULT)),
        "abquant": (*_PROBLEM, *_RESULT),
    },
    name="kernelName", number="kernelId", style="aiter", extended=extended,
)  # fmt: skip

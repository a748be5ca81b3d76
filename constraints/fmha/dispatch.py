"""What upstream's dispatch calls for a problem: the first kernel of its chain of conditions.

``fmha_fwd`` of the generated fmha_fwd_api.cpp goes through GPU, type, head dimensions and traits in
the order in which the generator listed the kernels, and calls the first whose conditions hold. It
tries no other head dimension, and returns -1 where none holds. Facts: FmhaFwdApiTrait (scheck,
skcheck, dcheck, dvcheck, seqtune) and FmhaFwdApiPool of
example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py, CK 2025.11. Lengths of a batch without arrays of
lengths are meant, and no skipping of short sequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ckrules.constraints.fmha.problem import FUNCTIONS, AttentionProblem
from ckrules.constraints.fmha.targets import target
from ckrules.constraints.fmha.tiles import rows
from ckrules.constraints.fmha.vocabulary import PADS, TILE
from ckrules.constraints.fmha.words import ELEMENT_BYTES, profile
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point

CK = "2025.11"
#: ``K0_MAX_SUBMAX_MAP``: what head dimensions are a multiple of where they are not padded.
QUALIFIED: Mapping[int, int] = {32: 32, 48: 48, 64: 64, 96: 128, 128: 128, 192: 192, 256: 256}
_PIPELINES = ("qr_async", "qr", "qr_async_trload")


def chosen(
    problem: AttentionProblem, arch: str, dtype: str = "fp16", receipt: int = 0
) -> Point | None:
    """The kernel that ``fmha_fwd`` calls for a problem; None: it returns -1.

    Args:
        problem: Lengths, head dimensions and functions.
        arch: A GPU's name.
        dtype: The type of Q, K and V.
        receipt: What the library was generated for.

    Raises:
        UsageError: For a GPU that the generator refuses.

    >>> from ckrules.constraints.fmha.problem import parse
    >>> kernel = chosen(parse("batch=1,heads=8,seqlen_q=1000,hdim=128"), "gfx942")
    >>> kernel["pipeline"], kernel["tile_m0"], kernel["pad_sk"]
    ('qr_async', 128, True)
    """
    if target(arch, apart=True) == "none":
        raise UsageError(f"upstream's generator refuses {arch}")
    cases = _chain(arch, dtype, receipt)
    for (hdim, hdim_v), points in cases.items():
        if problem.hdim <= hdim and problem.hdim_v <= hdim_v:
            largest = max(int(p["tile_m0"]) for p in points)
            return next((p for p in points if _taken(p, problem, largest)), None)
    return None


@lru_cache(maxsize=32)
def _chain(arch: str, dtype: str, receipt: int) -> dict[tuple[int, int], list[Point]]:
    """The listed kernels by head dimensions, each in the order of the chain."""
    from ckrules.kernels.library import book

    rules = book("fmha_fwd", ck=CK, profile=profile(receipt))
    order = {tile: i for i, tile in enumerate(_tiles(arch, dtype))}
    cases: dict[tuple[int, int], list[Point]] = {}
    for point in rules.space(variant="fmha_fwd", arch=arch, dtype=dtype, skip=False):
        cases.setdefault((int(point["hdim"]), int(point["tile_n1"])), []).append(point)

    def place(point: Point) -> tuple[Any, ...]:
        tile = tuple(point[n] for n in TILE)
        pads = sum(bool(point[n]) for n in PADS)
        return order[tile], _PIPELINES.index(point["pipeline"]), pads

    return {heads: sorted(cases[heads], key=place) for heads in sorted(cases)}


def _tiles(arch: str, dtype: str) -> Iterator[tuple[int, ...]]:
    key = "fmha_fwd", target(arch, apart=False), dtype
    yield from (tuple(map(int, row[4:10])) for row in rows() if row[:3] == key)


def _taken(point: Point, problem: AttentionProblem, largest: int) -> bool:
    """Whether the conditions of a kernel in the chain hold."""
    functions = all(
        point[name] == (getattr(problem, name) == "yes")
        for name in FUNCTIONS
        if name not in ("mode", "mask", "bias", "rope")
    )
    if not functions or point["mode"] != problem.mode or point["bias"] != problem.bias:
        return False
    if (point["mask"] == "no") != (problem.mask == "no"):
        return False
    if problem.v_layout not in ("any", point["v_layout"]):  # t.is_v_rowmajor
        return False
    if point["tile_m0"] != largest and problem.seqlen_q > point["tile_m0"]:
        return False
    return _lengths(point, problem) and _heads(point, problem)


def _lengths(point: Point, problem: AttentionProblem) -> bool:
    """Scheck and skcheck."""
    if problem.mode == "group" or point["pipeline"] == "qr_async_trload":
        return True
    whole = problem.seqlen_k % int(point["tile_n0"]) == 0
    if point["pipeline"] == "qr_async":
        return bool(point["pad_sk"]) != whole
    rows = bool(point["pad_s"]) or problem.seqlen_q % int(point["tile_m0"]) == 0
    return rows and (bool(point["pad_sk"]) or whole)


def _heads(point: Point, problem: AttentionProblem) -> bool:
    """Dcheck and dvcheck; both ask for the length that is qualified for Q and K."""
    if point["pipeline"] == "qr_async":
        vector = 16 // ELEMENT_BYTES[str(point["dtype"])]
        return problem.hdim % vector == 0 and problem.hdim_v % vector == 0
    held = QUALIFIED[int(point["tile_k0max"])]
    first = bool(point["pad_d"]) or problem.hdim % held == 0
    return first and (bool(point["pad_dv"]) or problem.hdim_v % held == 0)

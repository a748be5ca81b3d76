"""A lint of the book: where no configuration is legal, a reason is on record.

A legal space is shown not to be empty by a point, and to be empty by its exact count; of these one
in ten by z3, too (a third of them in `make test`), for which not to know is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
import z3

from ckrules.arch import Gpu, load_all
from ckrules.constraints import CK_VERSIONS, book
from ckrules.engine.evaluate.bits import BitEncoder
from ckrules.engine.expr import const
from ckrules.engine.expr.traversal import substitute
from ckrules.engine.rules import version_key
from ckrules.engine.rules.batch import BatchChecker
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of, variants
from ckrules.kernels.selection import select

DTYPES = ("fp16", "bf16", "fp32")
#: GPUs that differ from gfx1100 in their register file alone have the same rules.
TWINS = ("gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1152")
GPUS = {g.name: g for g in load_all() if g.name not in TWINS}
SECONDS = 600

#: Why a combination has no legal configuration, and the rules whose absence would give it some.
NO_FP32 = "WMMA of RDNA 3 and 4 has no fp32 operands", {"WARP002"}
TOO_NEW = "these headers are older than the GPU", {"WARP002"}
NO_BF16 = "depthwise kernels have no inner product of bf16", {"DW001"}
WAVE32 = "depthwise kernels count on 64 threads a wave", {"DW011"}
NEITHER = "no inner product of bf16, and waves of 32", {"DW001", "DW011"}
NO_TURNED = "fp32 read with transpose loads has no warp GEMM", {"WARP003"}

#: Variants that are computed with matrix instructions.
GEMMS = (
    *("forward", "bwd_data", "bwd_weight", "standard", "preshuffle", "multi_d"),
    *("batched", "grouped", "stream_k"),
)

EMPTY: dict[tuple[str, str, str, str], tuple[str, set[str]]] = {
    **{
        (ck, variant, gpu, "fp32"): NO_FP32
        for ck in CK_VERSIONS
        for variant in GEMMS
        for gpu in ("gfx1100", "gfx1151", "gfx1200", "gfx1201")
    },
    **{("2025.11", variant, "gfx1250", dtype): TOO_NEW for variant in GEMMS for dtype in DTYPES},
    **{("2025.11", variant, "gfx950", "fp32"): NO_TURNED for variant in ("bwd_data", "bwd_weight")},
    **{
        ("2026.06", "forward_depthwise", gpu, "bf16"): NO_BF16
        for gpu in ("gfx908", "gfx90a", "gfx942", "gfx950")
    },
    **{
        (ck, "forward_depthwise", gpu, dtype): (
            NEITHER if (ck, dtype) == ("2026.06", "bf16") else WAVE32
        )
        for ck in CK_VERSIONS[1:]
        for gpu in ("gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx1250")
        for dtype in DTYPES
    },
}

#: A rule that these variants break beside those of `EMPTY`, by release.
BESIDE = {("2025.11", "preshuffle"): {"GEMM081"}}

#: The families of attention: their variants have tiles of their own.
ATTENTION = ("fmha", "fmha_bwd", "fmha_steps", "fmha_v3")

COMBINATIONS = [
    (ck, variant, gpu, dtype)
    for ck in CK_VERSIONS
    for variant in variants()
    if not (ck == "2025.11" and family_of(variant).name == "depthwise")
    and family_of(variant).name not in ("quant", "scaled", *ATTENTION)  # which have other types
    for gpu in GPUS
    for dtype in DTYPES
]


#: What points of a variant have that differ from the baseline.
STARTS: dict[str, dict[str, Any]] = {
    "preshuffle": {"pipeline": "preshufflev2", "double_smem_buffer": True},
    "multi_d": {"layout": "rcrr", "num_d": 1, "elementwise_op": "add"},
    "stream_k": {"streamk": "atomic"},
}


def _candidates(rules: RuleBook, variant: str, gpu: Gpu, dtype: str, ck: str) -> Iterator[Any]:
    """Plausible points: whole warp tiles of the GPU, few waves, narrow vectors."""
    base = {**rules.vocabulary.baseline, "variant": variant, "arch": gpu.name, "dtype": dtype}
    base |= STARTS.get(variant, {})
    base |= {"dtype_c": dtype} if "dtype_c" in base else {}
    if family_of(variant).name == "depthwise":
        yield base
        yield {**base, "in_vec": 4, "out_vec": 4}
        return
    tiles = gpu.warp_tiles(dtype, dtype, "fp32", ck)
    shapes = [(t.m, t.n, t.k) for t in tiles] or [(16, 16, 16), (32, 32, 8), (16, 16, 4)]
    for (m, n, k), (wm, wn), repeat, steps, vector in product(
        shapes, [(2, 2), (1, 1), (2, 1)], (2, 1, 4), (2, 4, 1), (8, 4, 2, 1)
    ):
        yield {
            **base, "warp_tile_m": m, "warp_tile_n": n, "warp_tile_k": k, "wave_m": wm,
            "wave_n": wn, "tile_m": m * wm * repeat, "tile_n": n * wn * repeat,
            "tile_k": k * steps,
            **{f"vector_{x}": vector for x in "abc" if f"vector_{x}" in base},
        }  # fmt: skip


def _legal(rules: RuleBook, candidates: Iterator[Any]) -> dict[str, Any] | None:
    """The first candidate that breaks no rule; mostly one of the first."""
    broken = _checker(rules)
    return next((p for p in map(rules.point, candidates) if not broken(p)), None)


@cache
def _checker(rules: RuleBook) -> BatchChecker:
    return BatchChecker(rules)


def _solve(rules: RuleBook, fixed: dict[str, str]) -> Any:
    """z3's answer to whether some candidate values of the other fields are legal."""
    encoder, solver = BitEncoder(), z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    for r in rules.rules:
        bound = substitute(
            r.condition,
            lambda n: const(fixed[n.data.name]) if n.op == "var" and n.data.name in fixed else None,
        )
        solver.add(encoder.bool(bound))
    solver.add(
        [encoder.within(f, f.data.values) for n, f in rules.fields.items() if n not in fixed]
    )
    return solver.check()


#: The types of GEMMs with scales that some GPU has kernels of, by release and variant.
_WHOLE = {"fp16", "bf16", "fp8", "bf8"}
SCALED = {
    ("2025.11", "flatmm"): _WHOLE,
    ("2025.11", "moe_flatmm"): {*_WHOLE, "bf16_fp4", "fp16_fp4"},
    ("2025.11", "mx_flatmm"): {"fp4"},
    ("2025.11", "abquant"): set(),  # these headers lack it
    ("2025.11", "mx_gemm"): set(),
    ("2026.06", "flatmm"): _WHOLE,
    ("2026.06", "moe_flatmm"): {*_WHOLE, "bf16_fp4", "fp16_fp4", "fp8_fp4", "fp4"},
    ("2026.06", "mx_flatmm"): {"fp4", "fp8", "fp8_fp4"},
    ("2026.06", "abquant"): {"fp8", "bf8"},
    ("2026.06", "mx_gemm"): set(),
}
SCALED |= {("2026.09", v): found for (ck, v), found in SCALED.items() if ck == "2026.06"}
SCALED["2026.09", "mx_gemm"] = {"fp4", "fp8", "fp8_fp4"}


@pytest.mark.parametrize(("ck", "variant"), SCALED)
def test_types_of_gemms_with_scales(ck: str, variant: str) -> None:
    space = select(Books(ck), {"variant": variant}).space
    found = {dtype for dtype, n in space.counts_by("dtype").items() if n}
    assert found == SCALED[ck, variant]


#: The GPUs that have kernels of attention's batch prefill, which loads pages asynchronously.
_ASYNC = {"2025.11": {"gfx908", "gfx90a", "gfx942", "gfx950"}}
_ASYNC["2026.06"] = _ASYNC["2026.09"] = {*_ASYNC["2025.11"], "gfx1250"}


@pytest.mark.parametrize("ck", CK_VERSIONS)
@pytest.mark.parametrize("variant", [v for v in variants() if family_of(v).name in ATTENTION])
def test_gpus_with_attention(ck: str, variant: str) -> None:
    counts = select(Books(ck), {"variant": variant}).space.counts_by("arch")
    expected = _ASYNC[ck] if variant == "fmha_batch_prefill" else set(GPUS)
    expected = {"gfx950"} if variant == "fmha_fwd_v3" else expected  # which transposes in LDS
    if ck == "2025.11" and family_of(variant).name != "fmha_steps":
        expected = expected - {"gfx1250"}  # its matrix instructions came later
    if variant == "fmha_bwd":  # whose 32 rows of P are more than a warp tile has (FBWD018)
        expected = expected - {"gfx1250"}
    if ck == "2025.11" and family_of(variant).name in ("fmha", "fmha_bwd"):
        # lanes hold P otherwise (FMHA063, FBWD031)
        expected = {g for g in expected if not g.startswith("gfx11")}
    assert {gpu for gpu in GPUS if counts[gpu]} == expected


@pytest.mark.parametrize(("ck", "variant", "gpu", "dtype"), COMBINATIONS)
def test_legal_space(ck: str, variant: str, gpu: str, dtype: str) -> None:
    if (ck, variant, gpu, dtype) in EMPTY:
        given = {"variant": variant, "arch": gpu, "dtype": dtype}
        assert select(Books(ck), given).space.count() == 0
    else:
        rules = book(variant, ck=ck)
        assert _legal(rules, _candidates(rules, variant, GPUS[gpu], dtype, ck)) is not None


@pytest.mark.parametrize(
    "combination",
    [
        pytest.param(c, marks=[pytest.mark.certify] * (k % 3 > 0))
        for k, c in enumerate(list(EMPTY)[::10])
    ],
    ids="-".join,
)
def test_the_solver_finds_nothing_either(combination: tuple[str, str, str, str]) -> None:
    """It shares the conditions with the exact space and nothing else."""
    ck, variant, gpu, dtype = combination
    fixed = {"variant": variant, "arch": gpu, "dtype": dtype}
    assert _solve(book(variant, ck=ck), fixed) == z3.unsat


@pytest.mark.parametrize("combination", EMPTY, ids="-".join)
def test_reasons_are_exact(combination: tuple[str, str, str, str]) -> None:
    """Without the named rules there would be legal points; they alone empty the space."""
    ck, variant, gpu, dtype = combination
    codes = EMPTY[combination][1] | BESIDE.get((ck, variant), set())
    rules = book(variant, ck=ck)
    for code in codes:
        assert rules[code]
    rest = rules.select(lambda r: r.code not in codes)
    assert _legal(rest, _candidates(rest, variant, GPUS[gpu], dtype, ck)) is not None


def test_reasons_follow_from_the_facts() -> None:
    for (ck, variant, gpu, dtype), reason in EMPTY.items():
        facts = GPUS[gpu]
        if reason is NO_FP32:
            assert facts.wave_size == 32
            assert not facts.warp_tiles("fp32", "fp32", "fp32", ck)
        elif reason is TOO_NEW:
            assert version_key(facts.since) > version_key(ck)
        elif reason is NO_TURNED:
            assert facts.has("lds_transpose_load")
        else:
            assert family_of(variant).name == "depthwise"
            assert ((ck, dtype) == ("2026.06", "bf16")) is (reason in (NO_BF16, NEITHER))
            assert (facts.wave_size == 32) is (reason in (WAVE32, NEITHER))

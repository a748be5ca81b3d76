"""Attention with two groups of waves: names, the example's kernels, LDS, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.arch import load_all
from ckrules.constraints import book
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.problem_fields import values
from ckrules.constraints.fmha_v3.vocabulary import BASELINE
from ckrules.kernels import problem_books
from ckrules.kernels.families import families
from ckrules.kernels.names import format_name, parse_name

VARIANT = "fmha_fwd_v3"
NAME = (
    "fmha_fwd_v3_d128_{}_batch_b256x32x128x128x32x128_r8x1x1_r8x1x1_w32x32x16_w32x32x16_vr_pssk_{}"
    "_nlse"
)
LONG = {"tile_n0": 64, "tile_k1": 64}
HEAD64 = {"hdim": 64, "tile_k0": 64, "tile_k0max": 64, "tile_n1": 64}
HEAD256 = {"hdim": 256, "tile_k0": 256, "tile_k0max": 256, "tile_n1": 256}


def _broken(ck: str = "2025.11", **changed: Any) -> list[str]:
    return [v.rule.code for v in book(VARIANT, ck=ck).violations({**BASELINE, **changed})]


def test_the_example_has_four_kernels() -> None:
    """Its files are fmha_fwd_v3_d128_{bf16,fp16}_{mask,nmask}.cpp; the mask is a causal one."""
    listed = book(VARIANT, ck="2025.11", profile="example").space(variant=VARIANT)
    names = {format_name(p) for p in listed}
    assert names == {NAME.format(t, m) for t in ("fp16", "bf16") for m in ("nmask", "mc")}
    legal = book(VARIANT, ck="2025.11")
    assert [legal.violations(p) for p in listed] == [[]] * 4


@pytest.mark.parametrize("text", [
    NAME.format("fp16", "nmask"),
    "fmha_fwd_v3_d64_bf16_group_b256x64x64x64x64x64_r8x1x1_r8x1x1_w32x32x16_w32x32x16_o1_vr_psk_mg_lse",
])  # fmt: skip
def test_names_go_both_ways(text: str) -> None:
    point = dict(parse_name(text).point)
    assert point["variant"] == VARIANT
    assert format_name(point) == text


def test_other_words_for_the_pipeline() -> None:
    family = families()["fmha_v3"]
    assert family.canonical("pipeline", "v3", ["qr_async_trload_v3"]) == "qr_async_trload_v3"


@pytest.mark.parametrize(("changed", "size"), [
    ({}, 65536),  # room for O
    ({**HEAD64, **LONG}, 4 * 4352 * 2 + 256 * 64 * 2),
    (LONG, 4 * 8704 * 2 + 256 * 64 * 2),
    (HEAD256, 131072),
])  # fmt: skip
def test_lds(changed: dict[str, Any], size: int) -> None:
    rules = book(VARIANT, ck="2025.11")
    assert rules.resources({**BASELINE, **changed}, ["lds_bytes"]) == {"lds_bytes": size}


def test_only_gfx950_has_such_kernels() -> None:
    rules = book(VARIANT, ck="2025.11")
    counts = rules.space(variant=VARIANT).counts_by("arch")
    assert {g.name for g in load_all() if counts.get(g.name)} == {"gfx950"}


@pytest.mark.parametrize(("changed", "codes"), [
    ({}, []),
    ({**HEAD64, **LONG}, []),
    (LONG, []),
    (HEAD256, []),
    ({"pad_s": False, "pad_sk": False}, []),
    (HEAD64, ["FTG023"]),
    ({"pad_d": True}, ["FTG021"]),
    ({"pad_dv": True}, ["FTG021"]),
    ({"warp_tile_k1": 8}, ["FTG007"]),
    ({"warp_tile_m1": 16, "warp_tile_n1": 16, "warp_tile_k1": 32}, ["FTG009"]),
    ({"warp_tile_m0": 16, "warp_tile_n0": 16, "warp_tile_k0": 32}, ["FTG008"]),
    ({"tile_n0": 48, "tile_k1": 48}, ["FTG022"]),
    ({"tile_m0": 512}, ["FTG006"]),
    ({"lse": True}, ["FTG028"]),
    ({"v_layout": "col"}, ["FTG027"]),
    ({"arch": "gfx942"}, ["FTG020", "FTG024"]),
])  # fmt: skip
def test_what_is_refused(changed: dict[str, Any], codes: list[str]) -> None:
    assert _broken(**changed) == codes


@pytest.mark.parametrize(("changed", "codes"), [
    ({"mask": "causal"}, []), ({"mask": "mask"}, ["FTG029"]), ({"lse": True}, ["FTG029"]),
    ({**HEAD64, **LONG}, ["FTG003"]),
])  # fmt: skip
def test_what_2026_refuses(changed: dict[str, Any], codes: list[str]) -> None:
    assert _broken("2026.06", **changed) == codes


@pytest.mark.parametrize(("text", "changed", "codes"), [
    ("seqlen_q=1000,seqlen_k=900,hdim=128", {}, []),
    ("seqlen_q=1000,seqlen_k=900,hdim=128", {"pad_sk": False}, ["TPROB004"]),
    ("seqlen_q=100,hdim=120", {}, ["TPROB005"]),
    ("seqlen_q=100,hdim=128,hdim_v=256", {}, ["TPROB005"]),
    ("seqlen_q=100,hdim=128,bias=alibi", {}, ["TPROB003"]),
    ("seqlen_q=100,hdim=128,mask=window", {"mask": "causal"}, ["TPROB002", "TPROB007"]),
    ("seqlen_q=100,seqlen_k=32,hdim=128,mask=window", {"mask": "generic"}, []),
    ("seqlen_q=100,seqlen_k=32,hdim=128,mode=group", {}, ["TPROB001"]),
])  # fmt: skip
def test_problems(text: str, changed: dict[str, Any], codes: list[str]) -> None:
    rules = problem_books.book(VARIANT, ck="2025.11")
    problem = values(parse(f"batch=2,heads=8,heads_k=2,{text}"))
    found = rules.violations({**BASELINE, **changed, **problem})
    assert [v.rule.code for v in found] == codes


def _tiles_seen(seqlen_q: int, seqlen_k: int, causal: bool, tile: tuple[int, int]) -> set[int]:
    """The tiles of K that the blocks of Q see, as GetTileRangeAlongX says."""
    rows, columns = tile
    seen = set()
    for first in range(0, seqlen_q, rows):
        last = min(first + rows + seqlen_k - seqlen_q, seqlen_k) if causal else seqlen_k
        seen.add(max(0, -(-last // columns)))
    return seen


@pytest.mark.parametrize("columns", [32, 64])
@pytest.mark.parametrize("causal", [False, True])
def test_two_tiles_of_keys_are_those_that_blocks_see(columns: int, causal: bool) -> None:
    """Beside a walk over the blocks: the rule has a closed form."""
    rules = problem_books.book(VARIANT, ck="2025.11")
    tile = {"tile_n0": columns, "tile_k1": columns}
    mask = {"mask": "causal" if causal else "no"}
    word = ",mask=causal" if causal else ""
    for seqlen_q in (1, 31, 200, 256, 300, 512, 700, 1111):
        for seqlen_k in (1, 32, 33, 64, 65, 128, 129, 300, 600):
            text = f"batch=1,heads=1,seqlen_q={seqlen_q},seqlen_k={seqlen_k},hdim=128{word}"
            found = rules.violations({**BASELINE, **tile, **mask, **values(parse(text))})
            seen = _tiles_seen(seqlen_q, seqlen_k, causal, (256, columns))
            assert [v.rule.code for v in found] == (["TPROB007"] if 2 in seen else []), text

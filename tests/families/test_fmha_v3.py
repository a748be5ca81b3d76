"""Attention with two groups of waves: names, the example's kernels, LDS, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from ckrules.arch import load_all
from ckrules.constraints import book
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.problem_fields import values
from ckrules.constraints.fmha_v3.vocabulary import BASELINE
from ckrules.kernels import problem_books
from ckrules.kernels.families import families, problems_of
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
    ("seqlen_q=100,hdim=128,mask=window", {"mask": "causal"}, ["TPROB002"]),
    ("seqlen_q=100,seqlen_k=32,hdim=128,mask=window", {"mask": "generic"}, []),
    ("seqlen_q=100,seqlen_k=32,hdim=128,mode=group", {}, ["TPROB001"]),
])  # fmt: skip
def test_problems(text: str, changed: dict[str, Any], codes: list[str]) -> None:
    rules = problem_books.book(VARIANT, ck="2025.11")
    problem = values(parse(f"batch=2,heads=8,heads_k=2,{text}"))
    found = rules.violations({**BASELINE, **changed, **problem})
    assert [v.rule.code for v in found] == codes


def _tiles_seen(
    lengths: tuple[int, int], window: tuple[int, int], tile: tuple[int, int]
) -> set[int]:
    """The tiles of K that the blocks of Q see, as GetTileRangeAlongX says; -1: no edge."""
    (seqlen_q, seqlen_k), (left, right), (rows, columns) = lengths, window, tile
    x = 1 + (seqlen_q - 1 if right < 0 else right) + seqlen_k - seqlen_q
    y = 1 + (seqlen_k - 1 if left < 0 else left) + seqlen_q - seqlen_k
    seen = set()
    for i_y in range(0, seqlen_q, rows):
        begin = max(i_y + 1 - y, 0) // columns
        end = -(-min(i_y + rows - 1 + x, seqlen_k) // columns)
        seen.add(max(end - begin, 0))
    return seen


def _refused(text: str, **changed: Any) -> bool:
    rules = problem_books.book(VARIANT, ck="2025.11")
    problem = values(parse(f"heads=1,hdim=128,{text}"))
    codes = [v.rule.code for v in rules.violations({**BASELINE, **changed, **problem})]
    assert codes in ([], ["TPROB007"]), (text, codes)
    return bool(codes)


def _tile(columns: int) -> dict[str, int]:
    return {"tile_n0": columns, "tile_k1": columns}


WINDOWS = (
    (-1, -1), (-1, 0), (0, 0), (0, 1), (1, 0), (31, 0), (32, 32), (40, 0), (63, 0), (64, 0),
    (65, 300), (127, 1), (128, 0), (256, 5), (300, 0), (2000, 2000),
)  # fmt: skip
#: Sequences, keys of the longest and of all.
GROUPS = (
    (2, 40, 50), (2, 66, 131), (2, 66, 132), (2, 70, 100), (2, 90, 155), (2, 90, 122),
    (3, 32, 96), (3, 70, 102), (3, 70, 103), (3, 70, 205), (3, 70, 204), (3, 70, 210),
)  # fmt: skip


def _mask(left: int, right: int) -> tuple[str, str]:
    """The mask of a kernel, and what a problem says of it."""
    if left < 0:
        return ("no", "") if right < 0 else ("causal", ",mask=causal")
    return "generic", f",mask=window,left={left},right={right}"


def test_tiles_of_keys_divide_those_of_queries() -> None:
    """What the closed form of TPROB007 is for: of no legal kernel do blocks see tiles in part."""
    legal = book(VARIANT, ck="2025.11").space(variant=VARIANT)
    counts = legal.counts_by("tile_m0", "tile_n0")
    assert {tile for tile, number in counts.items() if number} == {(256, 32), (256, 64)}


@pytest.mark.parametrize("columns", [32, 64, 128])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_two_tiles_of_keys_are_those_that_blocks_see(window: tuple[int, int], columns: int) -> None:
    """Beside a walk over the blocks: the rule has a closed form."""
    mask, text = _mask(*window)
    ends = set()
    for seqlen_q in (1, 31, 200, 256, 300, 512, 700, 1111):
        for seqlen_k in (1, 32, 33, 64, 65, 128, 129, 300, 600, 1500):
            lengths = f"batch=1,seqlen_q={seqlen_q},seqlen_k={seqlen_k}{text}"
            seen = _tiles_seen((seqlen_q, seqlen_k), window, (256, columns))
            assert _refused(lengths, mask=mask, **_tile(columns)) == (2 in seen), lengths
            ends.add(2 in seen)
    assert ends == {False, True}


def _groups(batch: int, longest: int, total: int) -> Iterator[tuple[int, ...]]:
    """The lengths that a longest sequence and a total leave, each with a row at least."""
    for rest in product(range(longest + 1), repeat=batch - 1):
        if sum(rest) == total - longest:
            yield (longest, *rest)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (64, 0), (63, 9), (70, 70)], ids=str)
def test_groups_are_those_whose_every_sequence_is_right(window: tuple[int, int]) -> None:
    """Beside all groups that the totals leave: without a mask exact, with one on the safe side."""
    mask, text = _mask(*window)
    verdicts = set()
    for batch, longest, total in GROUPS:
        lengths = set().union(*_groups(batch, longest, total)) - {0}
        for seqlen_q, total_q in ((1, batch), (300, 300 * batch), (300, 300 + batch - 1)):
            said = (f"batch={batch},mode=group,seqlen_q={seqlen_q},seqlen_k={longest}"
                    f",total_q={total_q},total_k={total}{text}")  # fmt: skip
            refused = _refused(said, mode="group", mask=mask)
            rows = {seqlen_q, 1 if total_q != seqlen_q * batch else seqlen_q}
            wrong = any(2 in _tiles_seen((q, k), window, (256, 32)) for q in rows for k in lengths)
            assert refused or not wrong, said
            if mask == "no":
                assert refused == wrong, said
            verdicts.add(refused)
    assert verdicts == {False, True}


@pytest.mark.parametrize(("text", "refused"), [
    ("batch=1,seqlen_k=1000", False), ("batch=2,seqlen_k=1000", True),
    ("batch=2,seqlen_k=32", False), ("batch=2,seqlen_k=1000,total_k=2000", False),
    ("batch=3,seqlen_k=1000,total_k=2000", True),
])  # fmt: skip
def test_groups_without_totals_have_any_lengths(text: str, refused: bool) -> None:
    assert _refused(f"{text},seqlen_q=100,mode=group", mode="group") == refused


@pytest.mark.parametrize("mask", ["no", "causal", "mask", "generic"])
@pytest.mark.parametrize("mode", ["batch", "group"])
def test_built_in_problems_break_the_rule_and_keep_it(mode: str, mask: str) -> None:
    """Windows and groups of several sequences, too, where the kernel takes them."""
    point = {**BASELINE, "mode": mode, "mask": mask}
    rules = problem_books.book(VARIANT, ck="2025.11")
    ends: dict[str, set[bool]] = {"any": set(), "window": set(), "group": set()}
    for problem in problems_of(VARIANT).smoke(point):
        codes = {v.rule.code for v in rules.violations({**point, **values(problem)})}
        refused = "TPROB007" in codes
        ends["any"].add(refused)
        if problem.mask == "window":
            ends["window"].add(refused)
        if problem.mode == "group" and problem.batch > 1 and problem.seqlen_k > 32:
            ends["group"].add(refused)
    both = {False, True}
    windows = both if mask in ("mask", "generic") else set()
    assert ends == {"any": both, "window": windows, "group": both if mode == "group" else set()}

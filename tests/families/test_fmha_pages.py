"""Pages of batch prefill: since which release, in names, in upstream's list, and what is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.words import LISTED
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping, config_from_name
from ckrules.kernels.families import problems_of
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name

PREFILL = "fmha_batch_prefill"
TILE = "b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16"
TRAITS = "qr_async_vr_psskddv_nlogits_nbias_nmask_nlse_ndropout"
NOVEMBER = f"{PREFILL}_d128_fp16_group_{TILE}_{TRAITS}_nsquant"
NAME = f"{PREFILL}_d128_fp16_group_ps{{}}_{TILE}_{TRAITS}_nqscale_nsink_{{}}"


def faults(name: str, ck: str, arch: str = "gfx942", **changed: Any) -> set[str]:
    config = config_from_name(name, Books(ck), arch=arch)
    found = book(PREFILL, ck=ck).violations({**config.point, **changed})
    return {fault.rule.code for fault in found}


# -- release ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["fmha_fwd", "fmha_fwd_pagedkv", PREFILL])
def test_pages_begin_with_2026(variant: str) -> None:
    for ck in ("2025.11", "2026.06", "2026.09"):
        rules = book(variant, ck=ck)
        every = rules.space(variant=variant, arch="gfx942").count()
        listed = rules.space(variant=variant, arch="gfx942", **LISTED).count()
        assert (every > listed > 0) is (variant == PREFILL and ck != "2025.11")


def test_a_kernel_of_2025_with_pages_is_told_so() -> None:
    config = config_from_name(
        NAME.format("16_gload", "vectorized_vllm"), Books("2025.11"), arch="gfx942"
    )
    (fault,) = book(PREFILL, ck="2025.11").violations(config.point)
    assert fault.rule.code == "FMHA073"
    assert "since CK 2026.06: page_size = 16" in fault.message


def test_configurations_may_leave_pages_out() -> None:
    whole = config_from_name(NOVEMBER, Books("2026.09"), arch="gfx942").point
    given = {name: value for name, value in whole.items() if name not in LISTED}
    assert config_from_mapping(given, Books("2026.09")).point == {**given, **LISTED}


def test_lists_of_2025_have_no_pages_in_any_version() -> None:
    counts = {
        book(PREFILL, ck=ck, profile="receipt_200").space(variant=PREFILL, arch="gfx942").count()
        for ck in ("2025.11", "2026.06", "2026.09")
    }
    assert len(counts) == 1


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["1_bload", "1_gload", "16_bload", "1024_bload"])
@pytest.mark.parametrize("end", ["linear_sglang", "linear_vllm", "vectorized_vllm"])
def test_names_of_2026_print_back(page: str, end: str) -> None:
    name = NAME.format(page, end)
    parsed = parse_name(name)
    assert format_name(parsed.point, parsed.spelling) == name
    usual = all(parsed.point[n] == v for n, v in LISTED.items())
    assert format_name(parsed.point) == (NOVEMBER if usual else name)


@pytest.mark.parametrize(("page", "now"), [("16", "16_bload"), ("16_64bit", "16_gload")])
def test_older_names_are_read(page: str, now: str) -> None:
    assert parse_name(NAME.format(page, "linear_vllm")) == parse_name(
        NAME.format(now, "linear_vllm")
    )
    without = NAME.replace("_nsink", "").format(page, "linear_vllm")
    assert parse_name(without) == parse_name(NAME.format(now, "linear_vllm"))


def test_names_say_pages() -> None:
    space = book(PREFILL, ck="2026.09").space(variant=PREFILL, arch="gfx942")
    for point in space.sample(200, seed=3):
        assert {**parse_name(format_name(point)).point, "arch": "gfx942"} == point


@pytest.mark.parametrize("word", ["kv_blockscale", "per_token_head"])
def test_scales_without_a_field_are_refused(word: str) -> None:
    name = NAME.format("1024_bload", "linear_vllm")
    with pytest.raises(KernelNameError, match="heads and MX have no field") as caught:
        parse_name(name.replace("nqscale", word))
    assert caught.value.column == name.index("nqscale") + 1


# -- what upstream lists ----------------------------------------------------------------------

#: The tiles by types. The first of heads of 256, for GPUs of few compute units, is that of
#: ROCm/rocm-libraries#8492, and of bytes one that the text @ cec3dac of the fork
#: zpengmei/rocm-libraries has in a comment; with both the list is as long as upstream counts it.
_HALVES = (
    (128, "b64x128x64x128x64x128_r4x1x1_r4x1x1_w16x16x16_w16x16x16"), (128, TILE),
    (256, "b128x32x16x256x16x256_r4x1x1_r4x1x1_w32x32x16_w32x32x16_o2"),
    (256, "b128x128x32x256x32x256_r4x1x1_r4x1x1_w32x32x16_w32x32x16"),
)  # fmt: skip
_BYTES = (
    (128, "b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x32_w32x32x32"),
    (256, "b128x64x32x256x32x256_r4x1x1_r4x1x1_w32x32x32_w32x32x32_o2"),
    (256, "b128x128x32x256x32x256_r4x1x1_r4x1x1_w32x32x32_w32x32x32"),
)  # fmt: skip
_CAPS = [(cap, bias) for cap, bias in product(("logits", "nlogits"), ("nbias", "bias", "alibi"))
         if cap == "nlogits" or bias == "nbias"]  # fmt: skip
_STRAIGHT = "qr_async_vr_psskddv"
_MASKS = (("nmask", "nsink"), ("mask", "nsink"), ("mask", "sink"))
_PLACES = [
    f"{layout}_{table}" for layout in ("linear", "vectorized") for table in ("sglang", "vllm")
]


def listed(page: int) -> Iterator[str]:
    """Names of receipt 200 with pages of one size that hold a tile, as the generator's loops go."""
    for dtype in ("fp16", "bf16"):
        for (hdim, tile), (cap, bias), (mask, sink), lse, dropout, place in product(
            _HALVES, _CAPS, _MASKS, ("lse", "nlse"), ("dropout", "ndropout"), _PLACES
        ):
            traits = f"{cap}_{bias}_{mask}_{lse}_{dropout}_nqscale_{sink}_{place}"
            yield f"{PREFILL}_d{hdim}_{dtype}_group_ps{page}_bload_{tile}_{_STRAIGHT}_{traits}"
    for (hdim, tile), cap, scale, (mask, sink), place in product(
        _BYTES, ("logits", "nlogits"), ("pertensor", "kv_blockscale"), _MASKS, _PLACES
    ):
        traits = f"{cap}_nbias_{mask}_nlse_ndropout_{scale}_{sink}_{place}"
        yield f"{PREFILL}_d{hdim}_fp8bf16_group_ps{page}_bload_{tile}_{_STRAIGHT}_{traits}"


def test_upstreams_list_is_as_long_as_counted_there() -> None:
    """ROCm/composable_kernel#3760 adds pages of 2048 rows: 1,681 files, one of them the API."""
    names = list(listed(2048))
    assert len(set(names)) == len(names) == 1680
    assert sum("kv_blockscale" in name for name in names) == 72


@pytest.mark.parametrize("page", [1024, 2048])
def test_upstreams_list_is_legal(page: int) -> None:
    names = [name for name in listed(page) if "kv_blockscale" not in name]
    for name in names[::7]:
        assert faults(name, "2026.09") == set()
        assert format_name(parse_name(name).point, parse_name(name).spelling) == name


@pytest.mark.parametrize(
    ("page", "places"), [("1_bload", 2), ("1_gload", 2), ("16_bload", 4), ("16_gload", 4)]
)
def test_short_pages_are_listed_with_both_loads(page: str, places: int) -> None:
    fine = [place for place in _PLACES if not faults(NAME.format(page, place), "2026.09")]
    assert fine == _PLACES[:places]
    wide = {"FMHA076"} if "gload" in page else set()
    assert faults(NAME.format(page, fine[0]), "2026.09", arch="gfx90a") == wide


# -- what is read -----------------------------------------------------------------------------


def rows_read(page: int, tile: int) -> list[int]:
    """The rows that a kernel of 2026.09 reads of K: place by place in the list, for two pages more.

    A page of a tile or more is that of the tile's first row; else each row has its own.
    """
    read = []
    for first in range(0, 2 * max(page, tile), tile):
        for row in range(first, first + tile):
            own = row if page < tile else first
            read.append(own // page * page + row % page)
    return read


@pytest.mark.parametrize("tile", [16, 32, 64, 96, 128, 192, 256])
@pytest.mark.parametrize("page", [1, 8, 16, 64, 128, 256, 1024])
def test_tiles_lie_in_the_page_that_is_read(page: int, tile: int) -> None:
    read = rows_read(page, tile)
    found = faults(NAME.format(f"{page}_bload", "linear_vllm"), "2026.09", tile_n0=tile)
    assert ("FMHA075" in found) is (read != list(range(len(read))))


# -- problems ---------------------------------------------------------------------------------

SIZES = "heads=8,seqlen_q=128,mode=group"


@pytest.mark.parametrize(
    ("page", "end", "problem", "codes"),
    [
        ("1_bload", "linear_sglang", "batch=2,seqlen_k=1000", set()),
        ("1_bload", "linear_sglang", "batch=2,seqlen_k=1000,page=5", set()),
        ("16_bload", "linear_vllm", "batch=2,seqlen_k=1000,page=16", set()),
        ("16_bload", "linear_vllm", "batch=2,seqlen_k=1000,page=24", {"FPROB050"}),
        ("16_bload", "vectorized_vllm", "batch=2,seqlen_k=1000,page=16", set()),
        ("16_bload", "vectorized_vllm", "batch=2,seqlen_k=1000,page=32", {"FPROB050"}),
        ("1024_bload", "linear_vllm", "batch=2,seqlen_k=1000", {"FPROB050"}),
        ("1024_bload", "linear_vllm", "batch=16,seqlen_k=100000,page=1024", set()),
        ("16_bload", "linear_vllm", "batch=10,seqlen_k=100000,page=16", set()),
        ("16_bload", "linear_vllm", "batch=11,seqlen_k=100000,page=16", {"FPROB034"}),
        ("16_gload", "linear_vllm", "batch=99,seqlen_k=100000,page=16", set()),
        ("16_bload", "linear_vllm", "batch=2,seqlen_k=1000,page=16,hdim=96", set()),
        ("16_gload", "linear_vllm", "batch=2,seqlen_k=1000,page=16,hdim=96", {"FPROB051"}),
        ("1024_bload", "linear_vllm", "batch=2,seqlen_k=1000,page=1024,hdim=96", {"FPROB051"}),
        ("1024_bload", "linear_vllm", "batch=2,seqlen_k=1000,page=1024,heads_k=1,hdim=96", set()),
    ],
)  # fmt: skip
def test_problems_of_pages(page: str, end: str, problem: str, codes: set[str]) -> None:
    config = config_from_name(NAME.format(page, end), Books("2026.09"), arch="gfx942")
    asked = problems_of(PREFILL).values(
        parse(f"{SIZES},{problem}" + ",hdim=128" * ("hdim" not in problem))
    )
    rules = problem_books.book(PREFILL, ck="2026.09")
    assert {f.rule.code for f in rules.violations({**config.point, **asked})} == codes

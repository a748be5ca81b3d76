"""The way through LDS: every element is loaded, stored and read, and banks are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.arch.banks import Turns, together
from ckrules.kernels.books import Books
from ckrules.kernels.families import families
from ckrules.kernels.lds_map import LdsMap, OperandMap
from ckrules.kernels.selection import select

BOOKS = Books("2025.11")
PLAIN = "warp_tile_m == warp_tile_n & num_wave_groups == 1 & wave_k == 1 & tile_m * tile_n <= 8192"


def drawn(variant: str, arch: str, n: int, *where: str) -> list[dict[str, Any]]:
    """Legal kernels whose way is modelled."""
    given = {"variant": variant, "arch": arch, "dtype": "fp16"}
    words = "pipeline in ['basic_v1', 'mem', 'compv3', 'compv4', 'compv6']"
    space = select(BOOKS, given, [PLAIN, words, *where]).space
    return [dict(p) for p in space.sample(n, seed=7)]


def mapped(point: dict[str, Any]) -> LdsMap | str:
    family = families()["conv"]
    words = BOOKS.of(str(point["variant"])).vocabulary
    return family.lds_map(point, words, load(str(point["arch"])))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201", "gfx1100"])
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_every_element_goes_its_way_once(variant: str, arch: str) -> None:
    for point in drawn(variant, arch, 6):
        found = mapped(point)
        assert isinstance(found, LdsMap), (point, found)
        ends = [_all_of(operand) for operand in found.operands]
        assert ends[0] <= found.operands[1].layout.start, "B begins behind A"


@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_rows_that_are_not_a_power_of_two_long_keep_their_elements_apart(variant: str) -> None:
    """Rows of 48, 96 or 192 elements are swizzled into the next row unless rows are few."""
    points = drawn(variant, "gfx90a", 12, "tile_k % 3 == 0", "warp_tile_m in [16, 32]")
    assert points or variant != "bwd_weight", "rows of 192 elements are multiples of 16 vectors"
    for point in points:
        found = mapped(point)
        assert isinstance(found, LdsMap), (point, found)
        assert _all_of(found.operands[0]) <= found.operands[1].layout.start
        _all_of(found.operands[1])


@pytest.mark.parametrize(
    ("variant", "arch", "change"),
    [
        ("forward", "gfx90a", {"tile_n": 16, "vector_b": 16}),
        ("forward", "gfx1100", {"tile_m": 32, "tile_n": 32, "wave_m": 2, "wave_n": 2,
                                "vector_b": 16}),
        ("bwd_data", "gfx90a", {}),
        ("bwd_data", "gfx950", {"tile_k": 96, "wave_n": 2}),
    ],
)  # fmt: skip
def test_kernels_that_computed_wrong_with_such_rows(
    variant: str, arch: str, change: dict[str, Any]
) -> None:
    """Each ran on the emulator, with other results than the reference (CK 2025.11)."""
    book = BOOKS.of(variant)
    point = {
        **book.vocabulary.baseline, "variant": variant, "arch": arch, "tile_m": 16, "tile_n": 64,
        "tile_k": 48, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16,
        "vector_a": 16, "vector_c": 4, **change,
    }  # fmt: skip
    assert [v.code for v in book.violations(point)] == ["LDS002"]


def _all_of(operand: OperandMap) -> int:
    """Holds an operand's accesses against its elements; where it ends in LDS."""
    size = operand.layout.size
    places = {
        operand.layout.place(row, k)
        for row in range(operand.rows)
        for k in range(operand.layout.depth)
    }
    assert len(places) == operand.rows * operand.layout.depth
    assert min(places) == operand.layout.start
    stored = Counter(_elements(operand.stores(), size))
    assert set(stored) == places
    assert set(stored.values()) == {1}
    read = Counter(_elements(operand.reads(), size))
    assert set(read) == places
    # waves along the other dimension read the same, and so do lanes that share a row
    shared = operand.wave_size // (operand.fragment.rows * operand.fragment.lanes)
    assert set(read.values()) == {operand.fragment.waves[1] * shared}
    return max(places) + size


def _elements(accesses: Any, size: int) -> list[int]:
    return [place + step for a in accesses for place in a.places for step in range(0, a.size, size)]


def test_owners_are_the_lanes_that_store() -> None:
    """Who loads an element and who stores it are the same lane, by two ways of counting."""
    for variant in ("forward", "bwd_weight"):
        (point,) = drawn(variant, "gfx942", 1)
        found = mapped(point)
        assert isinstance(found, LdsMap)
        for operand in found.operands:
            by_place = {
                place + step: (access.wave, lane)
                for access in operand.stores()
                for lane, place in enumerate(access.places)
                for step in range(0, access.size, operand.layout.size)
            }
            for row in range(operand.rows):
                for k in range(operand.layout.depth):
                    y, x = (k, row) if operand.transposed else (row, k)
                    owner = operand.loads.owner(y, x)[:2]
                    assert by_place[operand.layout.place(row, k)] == owner


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pipeline": "comp_async"}, "pipeline comp_async"),
        ({"num_wave_groups": 2}, "several wave groups"),
        ({"warp_tile_m": 4, "warp_tile_n": 64}, "warp tiles 4 x 64 x 16"),
    ],
)
def test_what_is_not_modelled_is_said(change: dict[str, Any], said: str) -> None:
    (point,) = drawn("forward", "gfx942", 1)
    found = mapped({**point, "warp_tile_k": 16, **change})
    assert isinstance(found, str)
    assert said in found
    assert found.endswith("modelled")


def test_other_headers_and_families_are_not_modelled() -> None:
    newer = Books("2026.06").of("forward").vocabulary
    (point,) = drawn("forward", "gfx942", 1)
    found = families()["conv"].lds_map(point, newer, load("gfx942"))
    assert "2026.06 are not modelled" in str(found)
    other = families()["depthwise"].lds_map(point, newer, load("gfx942"))
    assert other == "the way of depthwise kernels through LDS is not modelled"


def test_groups_of_lanes_are_the_wave() -> None:
    for writes in (True, False):
        groups = together("gfx9", 32, 64, 16, writes=writes)
        assert sorted(lane for group in groups for lane in group) == list(range(64))
        assert {len(group) for group in groups} == {8}
    assert together("gfx9", 64, 64, 16, writes=True) == [range(64)]


def test_turns_are_added() -> None:
    assert (Turns(8, 4) + Turns(1, 1)).conflicts == 4


def test_quantised_gemms_take_the_same_way() -> None:
    """Their pipelines take the policy of plain ones; what has 4 bits, and weights, do not."""
    family = families()["quant"]
    words, gpu = BOOKS.of("aquant").vocabulary, load("gfx942")

    def said(**change: Any) -> LdsMap | str:
        return family.lds_map({**words.baseline, **change}, words, gpu)

    for change in ({}, {"variant": "bquant"}, {"variant": "rowcol_quant", "group_k": 1}):
        found = said(**change)
        assert isinstance(found, LdsMap)
        for operand in found.operands:
            _all_of(operand)
    assert "int4" in str(said(dtype="i4_fp8"))
    assert "preshufflev2" in str(said(variant="bquant", pipeline="preshufflev2"))

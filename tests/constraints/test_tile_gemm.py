"""The shared rules alone, over a vocabulary that knows nothing of convolution."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ckrules.constraints import tile_gemm
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rules.book import RuleBook, collect

from .plain_gemm import ALWAYS_MET, BASELINE, TURNED, book

BOOKS = {ck: book(ck) for ck in ("2025.11", "2026.06")}  # building checks every example
each_book = pytest.mark.parametrize("rules", BOOKS.values(), ids=BOOKS)

#: A space that has legal points in every pipeline, layout and number of waves.
SMALL: dict[str, tuple[Any, ...]] = {
    "layout_a": ("row", "column"), "layout_b": ("row", "column"), "arch": ("gfx942", "gfx1201"),
    "dtype": ("fp16",), "tile_m": (64, 96), "tile_n": (64,), "tile_k": (32, 48),
    "wave_m": (1, 2), "wave_n": (1, 2), "wave_k": (1,), "warp_tile_m": (16, 32),
    "warp_tile_n": (16,), "warp_tile_k": (16,), "pipeline": ("mem", "compv3", "compv4"),
    "scheduler": ("intrawave",), "epilogue": ("cshuffle", "default"),
    "double_smem_buffer": (False, True), "num_wave_groups": (1,),
}  # fmt: skip


@each_book
def test_baseline_is_legal(rules: RuleBook) -> None:
    assert rules.violations(rules.point(BASELINE)) == []


@each_book
def test_rules_read_no_field_of_another_family(rules: RuleBook) -> None:
    for r in rules.rules:
        read = {n.data.name for n in walk(r.condition) if n.op == "var"}
        assert read <= rules.fields.keys(), r.code


@each_book
def test_every_topic_is_there(rules: RuleBook) -> None:
    topics = {r.topic for r in rules.rules}
    assert topics == {"TILE", "WAVE", "WARP", "PIPE", "VEC", "EPI", "LDS", "HW"}


@each_book
def test_space_is_what_the_rules_accept_point_by_point(rules: RuleBook) -> None:
    conditions = [r.condition for r in rules.rules]
    points = [dict(zip(SMALL, v, strict=True)) for v in itertools.product(*SMALL.values())]
    legal = []
    for point in points:
        at = At(point)
        if all(at.holds(c) for c in conditions):
            legal.append(point)
    space = rules.space(**SMALL)
    assert 0 < len(legal) < len(points)
    assert space.count() == len(legal)
    assert list(space) == legal


@each_book
def test_layouts_decide_what_is_transposed(rules: RuleBook) -> None:
    straight = rules.resources(rules.example({}), ["a_extent", "b_extent"])
    turned = rules.resources(
        rules.example({**TURNED, "tile_m": 256, "tile_n": 32}), ["a_extent", "b_extent"]
    )
    assert straight == {"a_extent": 64, "b_extent": 64}
    assert turned == {"a_extent": 256, "b_extent": 32}


@each_book
def test_widths_are_computed(rules: RuleBook) -> None:
    names = ["vector_a", "vector_b", "vector_c"]
    half = rules.resources(rules.example({}), names)
    single = rules.resources(rules.example({"dtype": "fp32"}), names)
    assert list(half.values()) == [8, 8, 8]
    assert list(single.values()) == [4, 4, 4]


@each_book
def test_rules_left_out_have_nothing_to_reject(rules: RuleBook) -> None:
    ck = rules.vocabulary.ck
    left_out = [r.build(rules.vocabulary) for r in collect(tile_gemm) if r.code in ALWAYS_MET[ck]]
    assert len(left_out) == len(ALWAYS_MET[ck])
    for point in rules.space(**SMALL):
        at = At(point)
        assert all(at.holds(r.condition) for r in left_out)

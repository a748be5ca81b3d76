"""Upstream's preselected sets of GEMMs and aiter's kernels as catalogs."""

from __future__ import annotations

import pytest

from ckrules.constraints.catalogs import load, upstream
from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.engine.expr import Value
from ckrules.kernels.library import book
from ckrules.support.errors import UnknownNameError

#: Kernels of each set, as upstream's registry of them says.
SIZES = {
    "fp16_rcr_compute": 7, "fp16_rcr_memory": 8, "fp16_rcr_latency": 2, "fp16_rcr_multi_d": 8,
    "fp16_rcr_preshuffle": 2, "fp16_rcr_all": 27, "fp16_rcr_essential": 6,
    "bf16_rcr_essential": 2, "int8_rcr_essential": 2, "fp8_rcr_essential": 2, "mixed_precision": 2,
}  # fmt: skip


def every(catalog: Catalog, gpu: str) -> list[dict[str, Value]]:
    """The kernels of all variants, layouts and types."""
    values = [catalog._fields.values(k) for k in catalog.keys[2:]]
    keys = [(v, gpu) for v in catalog.family.variants]
    for column in values:
        keys = [(*k, value) for k in keys for value in column]
    return [p for k in keys for p in catalog.listed(*k)]


def test_the_sets_are_upstreams() -> None:
    assert {n: len(every(load(n), "gfx942")) for n in upstream("gemm")} == SIZES
    together = [*SIZES][:5]
    parts = [tuple(p.values()) for n in together for p in every(load(n), "gfx942")]
    assert sorted(parts) == sorted(tuple(p.values()) for p in every(load("fp16_rcr_all"), "gfx942"))


@pytest.mark.parametrize("ck", ["2025.11", "2026.06"])
def test_two_of_the_essential_six_cannot_compile(ck: str) -> None:
    """Unary operations have no form for D tensors; int8 has no sums in floats."""
    catalog = load("fp16_rcr_essential", ck=ck)
    legal = catalog.stage(every(catalog, "gfx942"), "legal")
    assert (len(legal.points), legal.removed) == (4, {"GEMM003": 2})
    eight = load("int8_rcr_essential", ck=ck)
    assert set(eight.stage(every(eight, "gfx942"), "legal").removed) >= {"GEMM006"}


def test_the_filter_refuses_five_of_seven_that_are_for_computing() -> None:
    catalog = load("fp16_rcr_compute")
    for gpu, kept in (("gfx90a", 2), ("gfx942", 2), ("gfx950", 5)):
        generated = catalog.stage(every(catalog, gpu), "generated")
        assert len(generated.points) <= kept
        assert generated.removed["GDSP004"] == 7 - kept


def test_stages_are_those_that_the_family_has() -> None:
    assert load("aiter").stages == ("listed", "legal")
    assert load("fp16_rcr_all").stages == ("listed", "generated", "legal")
    with pytest.raises(UnknownNameError, match="stage of scaled lists 'generated'"):
        load("aiter").stage([], "generated")


def test_aiters_kernels_are_of_its_profile() -> None:
    rules = book("flatmm", profile="aiter")
    for gpu, count in (("gfx942", 136), ("gfx950", 157), ("gfx90a", 0)):
        points = every(load("aiter"), gpu)
        assert len(points) == count
        assert not [v for p in points for v in rules.violations(p)]


def test_aiters_a8w8_with_rows_and_columns_is_legal_but_for_eight_waves() -> None:
    catalog = load("aiter_a8w8")
    for gpu, count, refused in (
        ("gfx942", 6, {}),
        ("gfx950", 12, {"EPI011": 2}),
        ("gfx90a", 0, {}),
    ):
        points = every(catalog, gpu)
        assert len(points) == count
        assert catalog.stage(points, "legal").removed == refused

"""Upstream's rule sets come out of the catalogs exactly, at both stages."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints.catalogs import load, upstream
from ckrules.engine.expr import Value

DATA = Path(__file__).parents[1] / "data" / "grouped_conv_rule_sets.json.gz"
#: The release whose generator made the lists; what its filter lets through is another's later.
CK = "2026.06"
GOLDEN: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(DATA.read_bytes()))


def listed(key: str) -> tuple[Any, list[Mapping[str, Value]]]:
    name, gpu, variant, ndim, dtype = key.split("/")
    catalog = load(name, ck=CK)
    return catalog, list(catalog.listed(variant, gpu, int(ndim[0]), dtype))


def test_all_of_upstreams_sets_are_there() -> None:
    assert upstream("conv") == ["default", "full", "full-tests", "rdna", "tiny"]
    assert len(GOLDEN) == 72


@pytest.mark.parametrize("key", GOLDEN)
def test_listed_and_generated_are_upstreams(key: str) -> None:
    catalog, points = listed(key)
    names = [catalog.kernel_name(p) for p in points]
    assert names == GOLDEN[key]["listed"]  # in upstream's order, which full-tests counts in
    assert len(set(names)) == len(names)
    generated = catalog.stage(points, "generated")
    kept = [catalog.kernel_name(p) for p in generated.points]
    assert kept == GOLDEN[key]["generated"]
    assert len(generated.reasons) == len(points) - len(kept)
    assert sum(generated.first.values()) == len(points) - len(kept)
    assert all(codes for _, codes in generated.reasons)


def test_every_listed_kernel_breaks_no_rule_of_its_catalog() -> None:
    for key in list(GOLDEN)[::7]:
        catalog, points = listed(key)
        for point in points[::9]:
            assert catalog.book(str(point["variant"])).violations(point) == []


def test_nothing_is_generated_for_rdna_or_backward_data() -> None:
    """What docs/upstream-differences.md lists as listed and not generated."""
    full = load("full", ck=CK)
    for gpu in ("gfx1200", "gfx1201"):
        points = full.listed("bwd_weight", gpu, 2, "fp16")
        assert full.stage(points, "generated").removed["DISP003"] == len(points) > 0
    for gpu in ("gfx90a", "gfx942", "gfx950"):
        points = full.listed("bwd_data", gpu, 2, "bf16")
        assert full.stage(points, "generated").removed["DISP004"] == len(points) > 0


def test_rdna_has_a_kernel_for_each_wave_map() -> None:
    rdna = load("rdna", ck=CK)
    points = rdna.listed("forward", "gfx1200", 3, "bf16")
    assert [rdna.kernel_name(p) for p in points] == [
        f"grouped_conv_fwd_bf16_ndhwgc_3d_compv3_cshuffle_intrawave_{rest}_16x16x16_vec2_2_8"
        for rest in ("32x64x32_2x4x1", "16x128x32_1x8x1", "128x16x32_8x1x1", "64x32x32_4x2x1")
    ]
    assert len(rdna.stage(points, "legal").points) == 4
    for gpu, variant, dtype in (
        ("gfx942", "forward", "fp16"), ("gfx1250", "forward", "fp16"),
        ("gfx1201", "bwd_data", "fp16"), ("gfx1201", "forward", "fp32"),
    ):  # fmt: skip
        assert rdna.listed(variant, gpu, 2, dtype) == []


def test_other_gpus_take_every_exact_tiling_where_no_curated_one_fits() -> None:
    """gfx90a has no map of one or two waves, so small tiles fall back to all its tilings."""
    full = load("full", ck=CK)
    points = full.listed("forward", "gfx90a", 2, "fp16")
    shapes = {(p["warp_tile_m"], p["warp_tile_n"]) for p in points if "warp_tile_m" in p}
    assert (4, 64) in shapes
    assert (64, 4) in shapes
    kept = full.stage(points, "generated").points
    assert {p["warp_tile_k"] for p in kept if p.get("warp_tile_m") in (4, 64)} == {16}
    assert full.listed("forward", "gfx942", 2, "fp32") != []
    assert all(p["wave_m"] * p["wave_n"] == 4 for p in points if "wave_m" in p)  # type: ignore[operator]

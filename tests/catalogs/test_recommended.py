"""The catalog `recommended`: few kernels for each GPU, variant and dtype, all of them legal."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from ckrules.arch import load_all
from ckrules.constraints import catalogs
from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.constraints.conv.networks import networks
from ckrules.constraints.conv.problem import parse
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.applicability import Applicability
from ckrules.kernels.books import Books
from ckrules.kernels.names import format_name
from tests.cli.run import run

PLACE = files(catalogs) / "data" / "recommended"
GPUS = sorted(f.name.removesuffix(".toml") for f in PLACE.iterdir())
VARIANTS = ("forward", "bwd_data", "bwd_weight")
DTYPES = ("fp16", "bf16", "fp32")
#: Where no kernel is legal for both releases.
NONE = {
    *((arch, variant, "fp32") for arch in GPUS if arch.startswith("gfx1") for variant in VARIANTS),
    *(("gfx950", variant, "fp32") for variant in VARIANTS[1:]),
}


def listed(catalog: Catalog, variant: str, arch: str, dtype: str) -> list[dict[str, Any]]:
    return [p for n in (1, 2, 3) for p in catalog.listed(variant, arch, n, dtype)]


def test_there_is_a_file_for_each_gpu_whose_speed_is_known() -> None:
    assert [g.name for g in load_all() if g.performance] == sorted(
        GPUS, key=[g.name for g in load_all()].index
    )


@pytest.mark.parametrize("arch", GPUS)
def test_every_kernel_is_legal_in_both_releases(arch: str) -> None:
    checkers = [BatchChecker(Books(ck).of("forward")) for ck in ("2025.11", "2026.06")]
    catalog = catalogs.load("recommended", archs=[arch])
    found = 0
    for variant in VARIANTS:
        for dtype in DTYPES:
            points = listed(catalog, variant, arch, dtype)
            found += len(points)
            assert len(points) <= 64
            assert len({format_name(p) for p in points}) == len(points)
            assert [p for p in points for check in checkers if check(p)] == []
            assert all(
                (p["variant"], p["arch"], p["dtype"]) == (variant, arch, dtype) for p in points
            )
            assert points or (arch, variant, dtype) in NONE
    assert found > 100


@pytest.mark.parametrize("variant", VARIANTS)
def test_nearly_every_convolution_has_a_kernel(variant: str) -> None:
    books = Books("2025.11")
    catalog = catalogs.load("recommended", archs=["gfx942"])
    points = listed(catalog, variant, "gfx942", "fp16")
    without = []
    for network in networks():
        for text in network.problems:
            if variant == "bwd_weight" and parse(text).ndim == 1:
                text = text.replace(",W=", ",H=1,W=").replace(",X=", ",Y=1,X=")
                text = text.replace("stride=", "stride=1x").replace("pad=", "pad=0x")
            accepts = Applicability(text, books)
            if not any(accepts(p) == [] for p in points):
                without.append(text)
    assert len(without) <= 2, without


def test_networks_say_where_they_are_from_and_no_shape_twice() -> None:
    shapes = Counter(str(parse(p)) for n in networks() for p in n.problems)
    assert len(shapes) >= 90
    assert max(shapes.values()) == 1
    assert {parse(s).ndim for s in shapes} == {1, 2, 3}
    assert all(len(n.source) > 20 for n in networks())


def test_only_the_files_of_gpus_that_are_asked_for_are_read() -> None:
    catalog = catalogs.load("recommended", archs=["gfx942"])
    assert {r["arch"] for block in catalog.data.rows for r in block.rows} == {"gfx942"}
    assert len(catalogs.load("recommended").data.rows) == len(GPUS)


def test_it_is_a_catalog_like_any_other() -> None:
    words = ["--catalog", "recommended", "--variant", "forward", "--arch", "gfx942"]
    listed_count = int(run("count", *words).stdout)
    assert listed_count == int(run("count", *words, "--stage", "legal").stdout) > 40
    assert run("count", *words[:-1], "gfx1250").stdout == "0\n"
    assert "recommended" in run("catalogs").stdout

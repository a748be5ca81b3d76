"""What the dispatcher of June 2026 generates: its counts and names, restated from upstream."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.kernels.library import book
from ckrules.kernels.names import styled_name
from ckrules.readers.catalogs import load_catalog

DATA = Path(__file__).parent.parent / "data" / "dispatcher_gemm"
LISTS = [json.loads(line) for line in (DATA / "lists.jsonl").read_text().splitlines()]
#: Longer lists take seconds each, and have the same checks.
LONGEST = 400


@pytest.mark.parametrize("config", ["default_config", "builtin"])
@pytest.mark.parametrize("variant", ["standard", "preshuffle", "multi_d"])
def test_lists_are_the_dispatchers(config: str, variant: str) -> None:
    catalog = load_catalog(str(DATA / f"{config}.json"), Books("2026.06"))
    wrong, seen = [], 0
    for line in LISTS:
        own, kind, gpu, dtype = line["key"].split("/")
        if (own, kind) != (config, variant) or line["n"] > LONGEST:
            continue
        points = catalog.listed(kind, gpu, "rcrr" if kind == "multi_d" else "rcr", dtype)
        names = sorted(styled_name(p, "dispatcher") for p in points)
        seen += 1
        found = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        if len(names) != line["n"] or found != line.get("sha256", found):
            wrong.append((line["key"], len(names), names[:1]))
    assert wrong == []
    assert seen or (config, variant) == ("builtin", "multi_d")


def test_it_generates_what_no_header_compiles() -> None:
    """int8 sums in float, and unary operations have D tensors."""
    catalog = load_catalog(str(DATA / "default_config.json"), Books())
    rules = book("standard")
    int8 = catalog.listed("standard", "gfx942", "rcr", "int8")
    assert int8
    assert all("GEMM006" in {v.code for v in rules.violations(p)} for p in int8)
    ds = catalog.listed("multi_d", "gfx942", "rcrr", "fp16")
    unary = [p for p in ds if p["elementwise_op"] in ("relu", "gelu")]
    assert len(unary) * 3 == len(ds) * 2
    assert all("GEMM003" in {v.code for v in rules.violations(p)} for p in unary)


@pytest.mark.parametrize(("profile", "ck"), [("dispatcher", "2026.06"), ("tile_engine", "2025.11")])
def test_what_a_tool_has_no_option_for_is_counted_once(profile: str, ck: str) -> None:
    """Plain kernels were counted for every strategy of stream-K, operation and layout of D."""
    space = book("standard", ck=ck, profile=profile).space()
    some = space.bind(arch="gfx942", dtype="fp16", pipeline="compv3", tile_m=128, tile_n=128)
    found = some.bind(variant="standard").counts_by("streamk", "elementwise_op", "num_d")
    assert [key for key, n in found.items() if n] == [("off", "passthrough", 0)]
    for variant, letters in (("standard", 3), ("multi_d", 4)):
        layouts = some.bind(variant=variant).counts_by("layout")
        assert {len(x) for x, n in layouts.items() if n} == {letters}

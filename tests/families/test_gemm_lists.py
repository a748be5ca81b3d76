"""What tile_engine lists for its own files, in its spelling and order (recorded from upstream)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.constraints.gemm.naming import NAMING
from ckrules.constraints.gemm.tool_names import TILE_ENGINE
from ckrules.kernels.books import Books
from ckrules.kernels.names import styled_name
from ckrules.readers.catalogs import load_catalog
from ckrules.support.errors import UsageError
from tests.cli.run import run, write

DATA = Path(__file__).parent.parent / "data" / "tile_engine"
VARIANTS = {"gemm": "standard", "gemm_preshuffle": "preshuffle", "gemm_multi_d": "multi_d"}
LISTS = [json.loads(line) for line in (DATA / "lists.jsonl").read_text().splitlines()]
#: Longer lists take seconds each, and have the same checks.
LONGEST = 1200


def _digest(names: list[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def _config(key: str) -> str:
    op, name, *_ = key.split("/")
    return str(DATA / f"{op}__{name}.json")


@pytest.mark.parametrize(
    "config", sorted({_config(x["key"]) for x in LISTS}), ids=lambda p: Path(p).stem
)
def test_lists_are_upstreams(config: str) -> None:
    catalog = load_catalog(config, Books("2025.11"))
    wrong, seen = [], 0
    for line in LISTS:
        op, _, gpu, dtype, layout = line["key"].split("/")
        if _config(line["key"]) != config or line["n"] > LONGEST:
            continue
        points = catalog.listed(VARIANTS[op], gpu, layout, dtype)
        names = [styled_name(p, "tile_engine") for p in points]
        seen += 1
        if (len(names), _digest(names)) != (line["n"], line["sha256"]):
            wrong.append((line["key"], len(names), names[:2]))
    assert wrong == []
    assert seen or "comprehensive" in config


def test_the_command_prints_the_list() -> None:
    key = next(x for x in LISTS if x["key"] == "gemm_preshuffle/default_config/gfx950/fp8/rcr")
    words = ("--family", "gemm", "--variant", "preshuffle", "--stage", "listed", "--ck", "2025.11")
    result = run(
        "enumerate", *words, "--catalog", _config(key["key"]), "--arch", "gfx950", "--dtype", "fp8",
        "--layout", "rcr", "--names", "tile_engine", "--format", "names",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    names = result.stdout.splitlines()
    assert (len(names), _digest(names)) == (key["n"], key["sha256"])


def test_the_space_of_a_list_is_the_list() -> None:
    catalog = load_catalog(_config("gemm/own_small"), Books("2025.11"))
    listed = catalog.listed("standard", "gfx942", "rcr", "fp16")
    space = catalog.space("standard", arch="gfx942", layout="rcr", dtype="fp16")
    assert space.count() == len(listed) > 0
    for point in listed:
        assert catalog.book("standard").violations(point) == []


def test_some_listed_kernels_compute_wrong() -> None:
    """Where warp tiles along M do not split into whole shuffles, and upstream lists them."""
    catalog = load_catalog(_config("gemm/default_config"), Books("2025.11"))
    staged = catalog.stage(catalog.listed("standard", "gfx942", "rcr", "fp16"), "legal")
    broken: Counter[str] = Counter(c for _, codes in staged.reasons for c in codes)
    rules = book("standard", ck="2025.11")
    assert not [c for c in broken if rules[c].kind == "compile" and c != "PIPE002"]
    odd = [p for p, codes in staged.reasons if "EPI002" in codes]
    assert {p["tile_m"] for p in odd} == {192}
    assert {(p["wave_m"], p["warp_tile_m"]) for p in odd} == {(4, 16)}


def test_names_are_read_back() -> None:
    for line in LISTS[::20]:
        op, _, gpu, dtype, layout = line["key"].split("/")
        if line["n"] > LONGEST:
            continue
        catalog = load_catalog(_config(line["key"]), Books("2025.11"))
        for point in catalog.listed(VARIANTS[op], gpu, layout, dtype)[::50]:
            name = TILE_ENGINE.format(point)
            parsed = NAMING.parse(name)
            assert NAMING.format(parsed.point, parsed.spelling) == name
            usual = NAMING.format(point)
            assert {**NAMING.parse(usual).point, "arch": gpu} == point


def test_a_kernel_that_it_does_not_make_has_no_name() -> None:
    point = {**book("standard").vocabulary.baseline, "num_wave_groups": 2}
    with pytest.raises(UsageError, match="tile_engine has no kernel with num_wave_groups = 2"):
        TILE_ENGINE.format(point)


FAULTS: list[tuple[Any, str]] = [
    ({"tile_config": {}, "trait_config": {}}, r"x.json:1:17: tile_config has no tile_m"),
    ({"tile_config": {"tile_m": {"min": 1}}, "trait_config": {}},
     r'tile_m is not of the form {"values": \[...\]} or {"min", "max", "step"}'),
    ({"tile_config": {"tile_m": {"min": 16, "max": 64, "step": 0}}, "trait_config": {}},
     "step at least 1"),
    ({"tile_config": {"tile_m": {"values": ["a"]}}, "trait_config": {}}, "tile_m = 'a'"),
    ({"tile_config": {"tile_m": {"values": [16]}, "tile_n": {"values": 3}}, "trait_config": {}},
     "values of tile_n are not a list"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "said"), FAULTS)
def test_faults_name_their_place(tmp_path: Path, value: Any, said: str) -> None:
    path = write(tmp_path, "x.json", json.dumps(value))
    with pytest.raises(UsageError, match=said):
        load_catalog(path, Books("2025.11"))


def test_keys_that_the_tool_ignores_are_told() -> None:
    catalog = load_catalog(_config("gemm/test_simple_test_config"), Books("2025.11"))
    assert catalog.data.remarks == ("tile_engine does not read test_params",)


def test_a_list_of_values_goes_before_a_range(tmp_path: Path) -> None:
    """As tile_engine's own reader does; what is skipped is told."""
    config = json.loads(Path(_config("gemm/test_simple_test_config")).read_text())
    config["tile_config"]["tile_m"] = {"values": [64], "min": 128, "max": 256, "step": 64}
    catalog = load_catalog(write(tmp_path, "x.json", json.dumps(config)), Books("2025.11"))
    keys = ", ".join(f"tile_config.tile_m.{k}" for k in ("max", "min", "step"))
    assert catalog.data.remarks == (f"tile_engine does not read test_params, {keys}",)
    assert catalog.data.sweep is not None
    assert catalog.data.sweep.axes["tile_m"] == (64,)

"""Configurations from names and mappings."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest

import ckrules
from ckrules.kernels.books import Books
from ckrules.kernels.config import ConfigError, config_from_mapping, config_from_name
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.schema import FieldError
from ckrules.kernels.selection import select
from ckrules.support.errors import UsageError
from tests.cli.run import ILLEGAL, legal

BOOKS = Books()
NAMES = (
    gzip.decompress((Path(__file__).parent.parent / "data" / "golden_names.txt.gz").read_bytes())
    .decode()
    .split()
)


def test_features_and_layout_are_filled_in() -> None:
    config = config_from_mapping(legal(), BOOKS)
    assert list(config.point) == list(BOOKS.of("forward").fields)
    assert config.point["layout"] == "nhwgc"
    assert config.point["pad_m"] is True
    assert config.point["streamk"] == "off"
    assert config.variant == "forward"


@pytest.mark.parametrize(("ndim", "layout"), [(1, "nwgc"), (2, "nhwgc"), (3, "ndhwgc")])
def test_every_spelling_of_the_layout(ndim: int, layout: str) -> None:
    for spelt in (None, layout, "nhwgc"):
        config = config_from_mapping(legal(ndim=ndim, layout=spelt), BOOKS)
        assert config.point["layout"] == layout
        assert f"_{spelt or 'nhwgc'}_{ndim}d_" in str(config.name)


@pytest.mark.parametrize(("alias", "pipeline"), [("compv1", "basic_v1"), ("compv2", "basic_v2")])
def test_pipeline_aliases(alias: str, pipeline: str) -> None:
    config = config_from_mapping(legal(pipeline=alias), BOOKS)
    assert config.point["pipeline"] == pipeline
    assert f"_{alias}_" in str(config.name)
    assert f"_{pipeline}_" in str(config_from_mapping(legal(pipeline=pipeline), BOOKS).name)


def test_the_gpu_of_the_configuration_wins() -> None:
    assert config_from_mapping(legal(), BOOKS, arch="gfx950").point["arch"] == "gfx942"
    assert config_from_mapping(legal(arch=None), BOOKS, arch="gfx950").point["arch"] == "gfx950"
    named = config_from_mapping(legal(arch="gfx942:sramecc+:xnack-"), BOOKS)
    assert named.point["arch"] == "gfx942"


def test_every_upstream_name_comes_back() -> None:
    for name in NAMES[:: max(1, len(NAMES) // 2000)]:
        assert config_from_name(name, BOOKS, arch="gfx942").name == name


def test_name_and_mapping_agree() -> None:
    named = config_from_name(ILLEGAL, BOOKS, arch="gfx942")
    assert config_from_mapping(named.point, BOOKS).point == named.point


def test_a_point_without_a_name() -> None:
    config = config_from_mapping(legal(streamk_persistent=True), BOOKS)
    assert config.name is None


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        (legal(tile_mm=1), [("tile_mm", True, "unknown field 'tile_mm': did you mean 'tile_m'")]),
        (
            legal(tile_m="x", pad_k=0),
            [("tile_m", False, "not an integer"), ("pad_k", False, "not true or false")],
        ),
        (legal(tile_m=None), [("", False, "missing field tile_m")]),
        ({"variant": "forward"}, [("", False, "and 11 more")]),
        ({}, [("", False, "no field variant")]),
        ({"varaint": 1}, [("varaint", True, "did you mean 'variant'")]),
        (legal(variant=["forward"]), [("variant", False, "is not one of forward, bwd_data")]),
        (legal(variant="x" * 99), [("variant", False, "(99 characters)")]),
        (legal(pipeline="x" * 999), [("pipeline", False, "(999 characters)")]),
        (legal(**{"y" * 99: 1}), [("y" * 99, True, "(99 characters)")]),
        (legal(ndim=4), [("ndim", False, "out of range")]),
        (legal(layout="nhwc"), [("layout", False, "did you mean 'nhwgc'")]),
        (legal(arch="gfx942:"), [("arch", False, "unknown arch")]),
    ],
)
def test_faults_name_the_key(given: dict[str, Any], faults: list[tuple[str, bool, str]]) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from_mapping(given, BOOKS)
    assert [(f.key, f.at_key) for f in caught.value.faults] == [f[:2] for f in faults]
    for fault, (_, _, said) in zip(caught.value.faults, faults, strict=True):
        assert said in fault.message


def test_errors_survive_pickling() -> None:
    error = ConfigError([FieldError("no", "tile_m")])
    assert pickle.loads(pickle.dumps(error)).faults == error.faults


def test_a_bad_name_says_where() -> None:
    with pytest.raises(KernelNameError) as caught:
        config_from_name(ILLEGAL.replace("fp16", "fp61"), BOOKS, arch="gfx942")
    assert caught.value.column == ILLEGAL.index("fp16") + 1


def test_a_number_outside_the_range_of_a_field() -> None:
    with pytest.raises(ConfigError, match="tile_m = 999999 is out of range"):
        config_from_name(ILLEGAL.replace("96x64x64", "999999x64x64"), BOOKS, arch="gfx942")


def test_the_library_checks() -> None:
    assert ckrules.check(legal()) == []
    assert ckrules.check(ILLEGAL, arch="gfx942")[0].code == "TILE001"
    assert ckrules.check(legal(), ck="2025.11") == []
    with pytest.raises(UsageError, match="no GPU"):
        ckrules.check(ILLEGAL)
    with pytest.raises(LookupError, match="unknown profile"):
        ckrules.check(legal(), profile="none")


def test_a_space_knows_upstreams_word_for_layouts() -> None:
    three = select(BOOKS, {"variant": "forward", "ndim": "3", "layout": "nhwgc"})
    assert "ndhwgc" in three.fixed["layout"]
    two = select(BOOKS, {"variant": "forward", "ndim": [2, 3], "layout": "nhwgc"})
    assert two.fixed["layout"] == ("nhwgc",)


def test_the_library_makes_spaces() -> None:
    space = ckrules.kernel_space(
        "forward_depthwise", ["gfx942", "gfx950"], dtype="fp16", filter=3, nbatch=1
    )
    assert space.domains["arch"] == ("gfx942", "gfx950")
    assert space.count() > 0
    with pytest.raises(LookupError, match="did you mean 'filter'"):
        ckrules.kernel_space("forward_depthwise", fliter=3)


@pytest.mark.parametrize("ck", [2025.11, None, ["2025.11"], True])
def test_a_version_is_a_text(ck: object) -> None:
    with pytest.raises(ckrules.CkrulesError, match=r"is not a string such as '2025\.11'"):
        ckrules.check({**legal(), "ck": ck})

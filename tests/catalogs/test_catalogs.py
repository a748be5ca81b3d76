"""Catalogs as rules and spaces, selections, users' files and their faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import load as load_gpu
from ckrules.constraints import book
from ckrules.constraints.catalogs import STAGES, load
from ckrules.constraints.catalogs.selections import every_nth, in_turn
from ckrules.support.document import TomlFileError
from ckrules.support.errors import UnknownNameError, UsageError

HERE = Path(__file__).parent / "data"
MINE, DERIVED = str(HERE / "mine.toml"), str(HERE / "derived.toml")


def keys(points: Any, *fields: str) -> set[tuple[Any, ...]]:
    return {tuple(p[f] for f in fields) for p in points}


SPACES = [
    ("default", "bwd_weight", "gfx950", 3, "fp32"),
    ("full", "forward", "gfx1201", 2, "bf16"),
    ("full", "bwd_data", "gfx90a", 2, "fp16"),
    ("full", "bwd_weight", "gfx942", 3, "fp32"),
    ("rdna", "forward", "gfx1100", 2, "fp16"),
    ("tiny", "forward", "gfx942", 2, "fp32"),
    (MINE, "forward", "gfx942", 3, "fp16"),
    (DERIVED, "bwd_weight", "gfx942", 2, "bf16"),
]


@pytest.mark.parametrize("key", SPACES, ids=lambda k: "/".join(map(str, k)).split("data/")[-1])
def test_the_space_is_the_list(key: tuple[str, str, str, int, str]) -> None:
    name, variant, gpu, ndim, dtype = key
    catalog = load(name)
    points = [p for p in catalog.listed(variant, gpu, ndim, dtype) if p["variant"] == variant]
    space = catalog.space(variant, arch=gpu, ndim=ndim, dtype=dtype)
    assert space.count() == len(points) > 0
    assert {tuple(p[f] for f in space.names) for p in space} == keys(points, *space.names)
    assert all(p in space for p in points)


@pytest.mark.parametrize("stage", STAGES)
def test_the_space_of_a_stage_is_the_stage(stage: str) -> None:
    full = load("full")
    points = full.listed("bwd_weight", "gfx942", 2, "fp32")
    left = full.stage(points, stage)
    space = full.space("bwd_weight", stage=stage, arch="gfx942", ndim=2, dtype="fp32")
    assert space.count() == len(left.points)
    assert all(p in space for p in left.points)


def test_depthwise_is_a_space_of_its_own() -> None:
    full = load("full")
    space = full.space("forward_depthwise", arch="gfx1201", dtype="fp32")
    points = full.listed("forward", "gfx1201", 2, "fp32")
    assert space.count() == len(points) == 20
    assert full.stage(points, "generated").points == points
    with pytest.raises(UsageError, match="other fields"):
        full.space(["forward", "forward_depthwise"])


def test_a_catalog_explains_what_it_does_not_hold() -> None:
    full = load("full")
    point = dict(full.listed("forward", "gfx942", 2, "fp16")[0])
    rules = full.book("forward")
    assert rules.violations(point) == []

    def codes(**changed: Any) -> set[str]:
        return {v.code for v in rules.violations({**point, **changed})}

    assert "CAT001" in codes(tile_m=96)
    assert "CAT002" in codes(wave_m=2)
    assert codes(vector_c=1) == {"CAT003"}
    assert "CAT004" in codes(pipeline="compv3")
    assert codes(pad_k=False) == {"CAT005"}
    assert codes(double_smem_buffer=True) == {"CAT006"}
    assert "specialization-not-for-tile" in {r.name for r in rules.rules}
    assert rules["BLDR003"].kind == "profile"


def test_full_contains_its_selections() -> None:
    for variant in ("forward", "bwd_weight"):
        whole = load("full").listed(variant, "gfx942", 2, "fp16")
        tests = load("full-tests").listed(variant, "gfx942", 2, "fp16")
        tiny = load("tiny").listed(variant, "gfx942", 2, "fp16")
        assert [p for p in whole if p in tests] == tests
        assert all(p in tests for p in tiny)
        assert len(tiny) == 10
        assert 0.19 < len(tests) / len(whole) < 0.22
        pairs = [{(p["pipeline"], p["scheduler"]) for p in s if "pipeline" in p}
                 for s in (whole, tests)]  # fmt: skip
        assert pairs[0] == pairs[1]


def row(i: int, category: str, pipeline: str = "mem") -> dict[str, Any]:
    return {"i": i, "c": category, "ndim": 2, "dtype": "fp16", "pipeline": pipeline}


def category(point: Mapping[str, Any]) -> str:
    return str(point["c"])


def test_every_nth_takes_of_each_category_and_covers() -> None:
    rows = [row(i, "ab"[i % 2], "compv3" if i == 8 else "mem") for i in range(12)] + [row(12, "c")]
    assert [p["i"] for p in every_nth(rows, category, 5, [])] == [8, 9, 12]
    assert [p["i"] for p in every_nth(rows, category, 3, ["pipeline"])] == [4, 5, 8, 10, 11, 12]
    del rows[12]["pipeline"]
    assert [p["i"] for p in every_nth(rows, category, 5, ["pipeline"])] == [8, 9, 12]
    assert every_nth([], category, 5, ["pipeline"]) == []


def test_in_turn_goes_round_the_categories() -> None:
    rows = [row(i, "aaab"[i % 4]) for i in range(8)]
    assert [p["i"] for p in in_turn(rows, category, 5)] == [0, 3, 1, 7, 2]
    assert [p["i"] for p in in_turn(rows, category, 1)] == [0, 3]
    assert len(in_turn(rows, category, 99)) == 8
    assert in_turn([], category, 3) == []


def test_a_users_catalog_with_kernels() -> None:
    mine = load(MINE)
    points = mine.listed("forward", "gfx942", 2, "fp16")
    assert [mine.kernel_name(p) for p in points] == [
        f"grouped_conv_fwd_fp16_nhwgc_2d_{pipeline}_cshuffle_intrawave_{shape}_vec8_8_8"
        for pipeline in ("compv3", "mem")
        for shape in ("128x128x64_2x2x1_32x32x16", "96x64x32_1x2x1_32x32x16")
    ]
    deep = mine.listed("forward", "gfx942", 3, "fp16")[0]
    assert mine.kernel_name(deep).startswith("grouped_conv_fwd_fp16_ndhwgc_3d_")
    assert mine.listed("forward", "gfx942", 2, "fp32") == []
    assert mine.listed("bwd_data", "gfx942", 2, "fp16") == []
    big = {**points[0], "tile_m": 256, "tile_n": 256}
    assert [v.rule.name for v in mine.book().violations(big)] == ["too-much-lds"]


def test_a_users_catalog_with_tiles() -> None:
    catalog = load(DERIVED)
    points = catalog.listed("bwd_weight", "gfx942", 2, "fp16")
    seen = keys(points, "tile_m", "wave_m", "pipeline", "scheduler", "two_stage", "vector_c")
    assert seen == {
        *((64, w, p, s, t, c)
          for w in (1, 2) for c in (4, 8)
          for p, s, t in (("compv3", "intrawave", False), ("mem", "interwave", False),
                          ("mem", "intrawave", True))),
        *((128, 2, "compv4", "intrawave", False, c) for c in (4, 8)),
    }  # fmt: skip
    assert {p["warp_tile_k"] for p in points} == {16}
    assert {p["double_smem_buffer"] for p in points if p["pipeline"] == "compv4"} == {True}
    assert not any(p["tile_m"] == 128 for p in catalog.listed("bwd_weight", "gfx942", 2, "bf16"))


def test_a_selection_from_a_users_file(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_bytes(Path(MINE).read_bytes())
    head = '[catalog]\nname = "cut"\ntitle = "t"\nsource = "s"\n'
    cut = tmp_path / "cut.toml"
    cut.write_text(head + '[select]\nfrom = "base.toml"\nin_turn = 1\n')
    assert len(load(cut).listed("forward", "gfx942", 2, "fp16")) == 1
    cut.write_text(head + '[select]\nfrom = "cut.toml"\nin_turn = 1\n')
    with pytest.raises(UsageError, match="selects from itself"):
        load(cut)


HEAD = '[catalog]\nname = "x"\ntitle = "t"\nsource = "s"\n'
FAULTS = {
    "1:1: [catalog] has no key 'title'": "[catalog]\nname = 'x'\n",
    "5:1: unknown key 'fixd' in the file, did you mean 'fixed'?": HEAD + "[fixd]\n",
    "6:1: unknown key 'vector_d' in [fixed]": HEAD + "[fixed]\nvector_d = 8\n",
    "6:12: vector_a = 'wide' is not an integer": HEAD + "[fixed]\nvector_a = 'wide'\n",
    "8:10: '8x8' is not a size, expected like 128x64x32":
        HEAD + "[[tiles]]\nvariant = 'forward'\ndtype = ['fp16']\ntiles = ['8x8']\nndim = [2]\n",
    "1:1: nothing in the file says variant": HEAD,
    "6:15: 'tile_q + 1', column 1: unknown field 'tile_q'":
        HEAD + "[derived]\nwarp_tile_k = 'tile_q + 1'\n",
    "not an expression": HEAD + "[derived]\nwarp_tile_k = '1 +'\n",
    "'fast' is not a vector strategy": HEAD + "[vectors]\nstrategies = {}\notherwise = ['fast']\n",
    "'mem' is not a PIPELINE/SCHEDULER": HEAD + "[pipelines.forward]\n64x64x64 = ['mem']\n",
    "6:14: otherwise: 'one' is not a wave strategy": HEAD + "[waves]\notherwise = ['one']\n",
    "[select] needs one of every and in_turn": HEAD + "[select]\nfrom = 'full'\n",
    "unknown catalog 'ful': did you mean 'full'": HEAD + "[select]\nfrom = 'ful'\nevery = 2\n",
    "takes its configurations from another one":
        HEAD + "[fixed]\nvector_a = 1\n[select]\nfrom = 'full'\nevery = 2\n",
    "not valid TOML": "[catalog\n",
}  # fmt: skip


@pytest.mark.parametrize("message", FAULTS)
def test_faults_of_a_file_name_their_place(message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(FAULTS[message])
    with pytest.raises(TomlFileError) as caught:
        load(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_other_faults() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'full'"):
        load("fulll")
    with pytest.raises(UsageError, match="No such file"):
        load("nowhere.toml")
    full = load("full")
    for bad in (("fwd", "gfx942", 2, "fp16"), ("forward", "gfx94", 2, "fp16"),
                ("forward", "gfx942", 2, "fp8")):  # fmt: skip
        with pytest.raises(UnknownNameError):
            full.listed(*bad)
    with pytest.raises(UsageError, match="ndim must be"):
        full.listed("forward", "gfx942", 4, "fp16")
    with pytest.raises(UnknownNameError, match="stage"):
        full.stage([], "made")


def test_a_gpu_without_upstreams_tables_lists_nothing() -> None:
    from dataclasses import replace

    gpu = replace(load_gpu("gfx942"), name="gfx943", dispatcher=None)
    full = load("full", gpus=[gpu])
    assert full.listed("bwd_weight", "gfx943", 2, "fp16") == []
    rules = book("forward", profile="dispatcher", gpus=[gpu])
    point = {**rules.vocabulary.baseline, "arch": "gfx943", "wave_m": 1}
    assert rules.violations(point) == []  # the filter only warns of a GPU it does not know


ROWS = (
    HEAD
    + """family = "depthwise"
[[kernels]]
derived = { pad_h = "(filter - 1) // 2", pad_w = "(filter - 1) // 2" }
fixed = { nbatch = 8, in_vec = 8, out_vec = 8, stride_h = 1, stride_w = 1 }
columns = ["dtype", "tile_h", "tile_w", "filter", "sub_h", "sub_w"]
rows = [["fp16", 16, 16, 3, 4, 8], ["fp16", 16, 16, 5, 4, 8], ["fp32", 8, 8, 3, 2, 2]]
"""
)


def test_a_catalog_of_rows_of_another_family(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(ROWS)
    catalog = load(path)
    assert catalog.family.name == "depthwise"
    points = catalog.listed("forward_depthwise", "gfx942", 2, "fp16")
    assert keys(points, "filter", "pad_h", "nbatch") == {(3, 1, 8), (5, 2, 8)}
    assert len(catalog.listed("forward_depthwise", "gfx942", 2, "fp32")) == 1
    space = catalog.space(arch="gfx942")
    assert space.count() == 3
    assert all(p in space for p in points)
    rules = catalog.book()
    assert rules.violations(points[0]) == []
    assert [v.code for v in rules.violations({**points[0], "pad_h": 2})] == ["CAT011"]
    assert catalog.stage(points, "legal").points == points


def test_a_cell_of_several_values_means_a_row_for_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(ROWS.replace('["fp16", 16, 16, 5', '[["fp32", "fp16"], 16, 16, [5, 7]'))
    listed = load(path).listed
    halves = listed("forward_depthwise", "gfx942", 2, "fp16")
    assert [p["filter"] for p in halves] == [3, 5, 7]
    whole = listed("forward_depthwise", "gfx942", 2, "fp32")
    assert [(p["filter"], p["pad_h"]) for p in whole] == [(5, 2), (7, 3), (3, 1)]


def test_rows_of_the_own_family_stand_for_every_value_that_they_leave_open(tmp_path: Path) -> None:
    shape = {f"{s}_{d}": 1 for s in ("tile", "wave", "warp_tile") for d in "mnk"}
    columns = ["variant", *shape, "pipeline", "scheduler", "epilogue", *VECTORS]
    row = ["forward", 128, 128, 64, 2, 2, 1, 32, 32, 16, "compv1", "intrawave", "cshuffle", 8, 8, 8]
    path = tmp_path / "own.toml"
    path.write_text(f"{HEAD}[[kernels]]\ncolumns = {columns}\nrows = [{row}]\n")
    catalog = load(path)
    (point,) = catalog.listed("forward", "gfx942", 3, "bf16")
    assert (point["layout"], point["pipeline"], point["pad_m"]) == ("ndhwgc", "basic_v1", True)
    assert catalog.listed("bwd_data", "gfx942", 3, "bf16") == []
    assert catalog.space("forward", arch="gfx942").count() == 9
    assert point in catalog.space("forward")


VECTORS = ("vector_a", "vector_b", "vector_c")
WRONG_ROWS = {
    "5:10: family: 'dephwise' is not a family": ROWS.replace('"depthwise"', '"dephwise"'),
    "nothing says nbatch of these rows": ROWS.replace("nbatch = 8, ", ""),
    "rows: expected 6 values": ROWS.replace(", 4, 8], ", ", 4], ", 1),
    "unknown dtype 'fp61'": ROWS.replace('["fp16", 16, 16, 3', '["fp61", 16, 16, 3'),
    "10:36: unknown dtype 'fp61'": ROWS.replace('"fp16", 16, 16, 5', '["fp16", "fp61"], 16, 16, 5'),
    "is not a field of depthwise kernels": ROWS.replace('"tile_h"', '"tile_x"'),
    "unknown key 'depthwise'": HEAD + "[depthwise]\n",
    "listed in one form":
        HEAD + "[[kernels]]\ncolumns = ['tile_m']\nrows = []\n"
        "[[kernels]]\nvariant = ['forward']\npipelines = ['mem']\nshapes = []\n",
    "nothing in the file lists depthwise kernels": HEAD + 'family = "depthwise"\n',
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG_ROWS)
def test_faults_of_rows(message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(WRONG_ROWS[message])
    with pytest.raises(TomlFileError) as caught:
        load(path)
    assert message in str(caught.value)

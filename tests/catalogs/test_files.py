"""Catalogs of files: any file that is read can be counted, compared and asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.readers.catalogs import load_catalog
from tests.cli.run import SMALL, legal, run, write
from tests.readers.test_formats import DATA

CONF = DATA / "nhwgc_fp16.conf"


@pytest.fixture
def conf(tmp_path: Path) -> str:
    """The instances of both generations, without the line that cannot be read."""
    lines = CONF.read_text().splitlines()
    kept = [line for line in lines if line.count(",") > 10 or "<" not in line]
    return write(tmp_path, "nhwgc_fp16.conf", "\n".join(kept) + "\n")


def _json(*words: str) -> dict[str, object]:
    result = run(*words, "--format", "json")
    assert result.exit_code in (0, 1), result.stderr
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_a_builder_file_is_a_catalog(conf: str) -> None:
    """Counts by stage are those of ``check`` on the same file."""
    words = ("--catalog", conf, "--arch", "gfx942")
    verdicts = run("check", "--isolated", "--arch", "gfx942", "--verdicts", conf).stdout
    checked = [json.loads(line) for line in verdicts.splitlines()]
    assert checked
    assert _json("count", *words)["count"] == len(checked)
    legal_ones = sum(v["legal"] for v in checked)
    assert _json("count", *words, "--stage", "legal")["count"] == legal_ones
    story = _json("why", *words)["stages"]
    assert isinstance(story, dict)
    assert story["listed"]["count"] == len(checked)
    assert story["legal"]["count"] == legal_ones
    codes = {v["code"] for c in checked for v in c["violations"]}
    assert set(story["legal"]["removed"]) <= codes


def test_a_file_is_reconciled(conf: str) -> None:
    """What the catalog leaves out of the file is said."""
    said = run("why", "--catalog", conf, "--arch", "gfx942").stdout
    assert "1 entry left out (CFG006)" in said
    twice = Path(conf).read_text() * 2
    Path(conf).write_text(twice)
    assert "8 entries repeated" in run("why", "--catalog", conf, "--arch", "gfx942").stdout
    assert (
        "note: nhwgc_fp16.conf: 8 entries repeated"
        in run("count", "--catalog", conf, "--arch", "gfx942").stderr
    )
    page = run("catalogs", conf, "--arch", "gfx942").stdout
    assert "8 entries repeated" in page


def test_a_file_and_its_region_are_the_same(conf: str) -> None:
    """``diff`` goes by rules, ``count`` by the list."""
    words = ("--catalog", conf, "--arch", "gfx942", "--variant", "forward")
    listed = _json("count", *words)["count"]
    found = _json("diff", conf, "full", "--variant", "forward", "--arch", "gfx942")
    assert isinstance(found["only_a"], dict)
    assert found["only_a"]["count"] + found["both"] == listed  # type: ignore[operator]
    assert listed == 5
    equal = run("diff", "catalog=" + conf, conf, "--arch", "gfx942", "--variant", "forward")
    assert equal.stdout.startswith("equal: 5 configurations")


def test_values_of_files_are_compared(tmp_path: Path) -> None:
    """The one value that each of two files has of a field tells their kernels apart."""
    kernel = "grouped_conv_fwd_fp16_nhwgc_2d_mem_cshuffle_intrawave_64x64x{}_2x2x1_32x32x8"
    files = [write(tmp_path, f"{k}.txt", kernel.format(k) + "\n") for k in (32, 64)]
    found = _json("diff", *files, "--arch", "gfx942")
    assert (found["equal"], found["both"], found["without_fields"]) == (False, 0, [])
    sides = (f"{files[0]},gfx942", f"{files[0]},gfx950")
    assert _json("diff", *sides)["without_fields"] == ["arch"]


def test_sides_say_the_gpu_of_kernels_that_name_none(conf: str, tmp_path: Path) -> None:
    part = ("--variant", "forward", "--catalog", conf)
    assert _json("diff", "gfx942", "gfx950", *part)["both"] == 5
    apart = _json("diff", "gfx942", "gfx1201", *part)  # two get other waves
    assert (apart["both"], apart["catalog"], apart["ck"]) == (3, conf, "2026.09")
    kernel = "grouped_conv_fwd_fp16_nhwgc_2d_mem_cshuffle_intrawave_64x64x64_2x2x1_32x32x8\n"
    path = write(tmp_path, "one.txt", kernel)
    found = run("diff", "gfx942,2025.11", "gfx942,2026.09", "--catalog", path)
    assert found.stdout.startswith("equal: 1 configuration on both sides")
    assert "rule added, of problems: PROB010" in found.stdout
    none = run("diff", "2025.11", "2026.09", "--catalog", path)
    assert (none.exit_code, "so give --arch" in none.stderr) == (2, True)


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "names"])
def test_what_is_listed_can_be_listed_again(form: str, tmp_path: Path) -> None:
    suffix = {"names": "txt"}.get(form, form)
    path = str(tmp_path / f"points.{suffix}")
    run("sample", *SMALL, "-n", "30", "--seed", "4", "--format", form, "-o", path)
    counted = _json("count", "--catalog", path, "--arch", "gfx942")
    assert counted["count"] == 30
    assert _json("count", "--catalog", path, "--arch", "gfx942", "--stage", "legal")["count"] == 30


def test_the_version_that_rows_say_is_the_catalogs(tmp_path: Path) -> None:
    part = ("--variant", "bwd_data", "--arch", "gfx942", "--ck", "2025.11", "--seed", "5")
    rows = run("sample", *part, "-n", "20", "--format", "jsonl", "-q").stdout
    path = write(tmp_path, "old.jsonl", rows)
    assert run("count", "--catalog", path, "--stage", "legal").stdout == "20\n"
    listed = run("enumerate", "--catalog", path, "--format", "jsonl").stdout
    assert sorted(listed.splitlines()) == sorted(rows.splitlines())
    assert run("diff", path, "stage=legal,catalog=" + path).exit_code == 0
    other = run("count", "--catalog", path, "--ck", "2026.06")
    assert "for CK 2025.11, and CK 2026.06 is asked for" in other.stderr
    mixed = write(tmp_path, "mixed.jsonl", rows + rows.replace("2025.11", "2026.09"))
    refused = run("count", "--catalog", mixed)
    assert refused.exit_code == 2
    assert "rows for CK 2025.11 and 2026.09, expected one version" in refused.stderr


def test_files_of_two_families_and_many_fields(tmp_path: Path) -> None:
    space = ("--variant", "forward,bwd_data", "--arch", "gfx942,gfx950")
    rows = run("sample", *space, "-n", "200", "--seed", "2", "--format", "jsonl", "-q").stdout
    rows += run("sample", *SMALL, "-n", "5", "--seed", "2", "--format", "jsonl", "-q").stdout
    path = write(tmp_path, "mixed.jsonl", rows)
    assert _json("count", "--catalog", path)["count"] == 205
    assert _json("count", "--catalog", path, "--variant", "forward_depthwise")["count"] == 5
    compared = _json("diff", "listed", "legal", "--catalog", path)
    assert compared["both"] == 200
    assert "5 kernels of other families" in run("diff", "listed", "legal", "--catalog", path).stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.conf", "", "a.conf: empty"),
        ("a.json", '{"variant": "forward", "tile_mm": 1}', "a.json:1:24: unknown field 'tile_mm'"),
        ("a.txt", "grouped_conv_fwd_fp16_nope\n", "a.txt:1:"),
        ("a.toml", "[catalog]\nname = 1\n", "a.toml:"),
    ],
)
def test_faults_have_their_place(name: str, content: str, said: str, tmp_path: Path) -> None:
    result = run("count", "--catalog", write(tmp_path, name, content), "--arch", "gfx942")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_without_a_gpu_asks_for_one(conf: str) -> None:
    result = run("count", "--catalog", conf)
    assert result.exit_code == 2
    assert "give --arch" in result.stderr
    assert "more cannot be read" in result.stderr


def test_configurations_in_toml_are_no_tables(tmp_path: Path) -> None:
    path = write(tmp_path, "mine.toml", '[[kernels]]\nvariant = "forward"\n')
    with pytest.raises(ValueError, match=r"mine\.toml:1"):
        load_catalog(path, Books(), ["gfx942"])
    fields = "\n".join(f"{k} = {json.dumps(v)}" for k, v in legal().items())
    for mark in ("", "\ufeff"):
        path = write(tmp_path, "mine.toml", f"{mark}[[kernels]]\n{fields}\n")
        assert len(load_catalog(path, Books()).listed("forward", "gfx942", 2, "fp16")) == 1


MIXED = (
    "quant_bquant_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_128x128x64_2x2x1_32x32x16_qg1x1x64",
    "gemm_fp16_rcr_compv3_cshuffle_intrawave_True_True_True_False_256x128x64_2x2x1_32x32x16",
    "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8",
)


@pytest.mark.parametrize("first", range(len(MIXED)))
def test_a_file_of_several_families_has_each_kernel_once(first: int, tmp_path: Path) -> None:
    """Whichever family comes first: the others have other keys and types."""
    path = tmp_path / "mixed.txt"
    path.write_text("\n".join((*MIXED[first:], *MIXED[:first])), encoding="utf-8")
    words = ("enumerate", "--catalog", str(path), "--arch", "gfx942", "-q")
    assert sorted(run(*words).stdout.split()) == sorted(MIXED)
    assert run(*words, "--variant", "standard").stdout.split() == [MIXED[1]]


def test_what_is_said_beside_kernels_leaves_none_out(tmp_path: Path) -> None:
    head = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
    name = "a8w8_blockscale_cktile_32x128x128_1x4x1_16x16x128_intrawave_0x1x0_2"
    path = tmp_path / "mine_tuned_gemm.csv"
    path.write_text(f"{head}\ngfx950,256,64,4096,7168,cktile,8,0,12.5,{name},313,2600,0.0\n")
    assert "ROW003" in run("check", str(path)).stdout
    found = run("count", "--catalog", str(path))
    assert (found.stdout, found.stderr) == ("1\n", "")

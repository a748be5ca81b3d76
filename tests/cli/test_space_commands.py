"""``enumerate``, ``count`` and ``sample``: the same points in every form."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckrules import conv_space
from ckrules.names import parse_name
from ckrules.selection import Books, select
from tests.cli.run import SMALL, run

FIXED = {
    "variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "filter": 3, "nbatch": 1,
    "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def points() -> list[dict[str, Any]]:
    """The small space's points, straight from the engine."""
    return [dict(p) for p in conv_space(**FIXED)]  # type: ignore[arg-type]


def listed(*words: str) -> list[dict[str, Any]]:
    """What ``enumerate --format jsonl`` prints."""
    result = run("enumerate", *SMALL, "--format", "jsonl", *words)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_jsonl_lists_every_point(points: list[dict[str, Any]]) -> None:
    assert len(points) > 100
    assert listed() == points


def test_listed_points_are_legal(points: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(p) + "\n" for p in points)
    result = run("check", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (0, "")


def test_names_are_the_default_where_nobody_reads(points: list[dict[str, Any]]) -> None:
    result = run("enumerate", *SMALL)
    read = [{**parse_name(n).point, "arch": "gfx942"} for n in result.stdout.splitlines()]
    assert read == points


def test_csv(points: list[dict[str, Any]]) -> None:
    result = run("enumerate", *SMALL, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert rows == [{k: str(v) for k, v in p.items()} for p in points]


def test_parquet(points: list[dict[str, Any]], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "points.parquet"
    fields = "variant,tile_h,tile_w,lds_bytes,name"
    assert run("enumerate", *SMALL, "-o", str(path)).exit_code == 0
    assert parquet.read_table(path).to_pylist() == points
    assert run("enumerate", *SMALL, "--fields", fields, "-o", str(path)).exit_code == 0
    rows = parquet.read_table(path).to_pylist()
    assert list(rows[0]) == fields.split(",")
    assert rows == listed("--fields", fields)


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "points.parquet"
    result = run("enumerate", *SMALL, "-o", str(path))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: parquet needs pyarrow: pip install 'ckrules[parquet]'")
    assert list(tmp_path.iterdir()) == []


def test_a_plain_table(points: list[dict[str, Any]]) -> None:
    result = run("enumerate", *SMALL, "--format", "table", "--fields", "tile_h,tile_w")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["tile_h", "tile_w"]
    assert [tuple(map(int, x.split())) for x in lines[1:]] == [
        (p["tile_h"], p["tile_w"]) for p in points
    ]
    assert result.stdout.isascii()


def test_derived_quantities_can_be_listed(points: list[dict[str, Any]]) -> None:
    book = Books().of("forward_depthwise")
    rows = listed("--fields", ",".join(book.vocabulary.quantities))
    assert rows == [book.resources(p) for p in points]


@pytest.mark.parametrize("limit", [0, 1, 7, 10**6])
def test_limit(points: list[dict[str, Any]], limit: int) -> None:
    assert listed("--limit", str(limit)) == points[:limit]


def test_shards_are_the_parts_of_the_whole(points: list[dict[str, Any]]) -> None:
    parts = [listed("--shard", f"{i}/3") for i in (1, 2, 3)]
    assert [p for part in parts for p in part] == points
    sizes = [int(run("count", *SMALL, "--shard", f"{i}/3").stdout) for i in (1, 2, 3)]
    assert sizes == [len(p) for p in parts]
    assert listed("--shard", "2/3", "--limit", "2") == parts[1][:2]


def test_lists_and_conditions_select(points: list[dict[str, Any]]) -> None:
    wide = [p for p in points if p["tile_h"] in (8, 16) and p["in_vec"] >= 2]
    found = listed("--set", "tile_h=8,16", "--where", "in_vec >= 2")
    assert sorted(map(str, found)) == sorted(map(str, wide))
    both = listed("--where", "tile_h == 8 | tile_h == 16", "--where", "in_vec >= 2")
    assert sorted(map(str, both)) == sorted(map(str, wide))


def test_conditions_know_derived_quantities(points: list[dict[str, Any]]) -> None:
    book = Books().of("forward_depthwise")
    small = [p for p in points if book.resources(p, ["lds_bytes"])["lds_bytes"] <= 2048]
    assert 0 < len(small) < len(points)
    assert int(run("count", *SMALL, "--where", "lds_bytes <= 2048").stdout) == len(small)


def test_values_outside_the_candidates_can_be_set() -> None:
    result = run("count", "--variant", "forward_depthwise", "--set", "nbatch=3", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["nbatch"] == 3


def test_count(points: list[dict[str, Any]]) -> None:
    assert run("count", *SMALL).stdout == f"{len(points)}\n"
    found = json.loads(run("count", *SMALL, "--format", "json").stdout)
    assert found == {**FIXED, "ck": "2026.06", "profile": "legal", "count": len(points)}


@pytest.mark.parametrize("by", ["tile_h", "tile_h,in_vec", "tile_h,in_vec,out_vec"])
def test_count_by(points: list[dict[str, Any]], by: str) -> None:
    fields = by.split(",")
    expected = Counter(tuple(p[f] for f in fields) for p in points)
    found = json.loads(run("count", *SMALL, "--by", by, "--format", "json").stdout)
    assert found["count"] == len(points)
    groups = {tuple(g[f] for f in fields): g["count"] for g in found["groups"]}
    assert groups == expected
    table = run("count", *SMALL, "--by", by).stdout.splitlines()
    assert table[0].split() == [*fields, "count"]
    assert table[-1].split() == ["total", str(len(points))]
    rows = run("count", *SMALL, "--by", by, "--format", "csv").stdout.splitlines()
    assert len(rows) == len(groups) + 1
    lines = run("count", *SMALL, "--by", by, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == found["groups"]


def test_an_empty_part_is_an_answer() -> None:
    result = run("enumerate", *SMALL, "--where", "tile_h > 10000")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("0 points (")
    assert run("count", *SMALL, "--where", "false").stdout == "0\n"
    assert run("sample", *SMALL, "--where", "false").exit_code == 0


def test_the_summary_says_what_each_family_removed(points: list[dict[str, Any]]) -> None:
    selection = select(Books(), FIXED)
    candidates = selection.candidates().count()
    summary = run("enumerate", *SMALL, "--limit", "5").stderr
    assert summary == (
        f"5 of {len(points):,} points (forward_depthwise on gfx942, fp16, filter 3, nbatch 1, "
        "stride_h 1, stride_w 1, pad_h 1, pad_w 1); "
        f"{candidates:,} candidates, removed by family: DW {candidates - len(points):,}\n"
    )
    assert run("enumerate", *SMALL, "--limit", "5", "--no-summary").stderr == ""


def test_a_sample_is_repeatable_and_legal(points: list[dict[str, Any]]) -> None:
    words = ["sample", *SMALL, "-n", "50", "--format", "jsonl"]
    first = run(*words, "--seed", "7")
    again = run(*words, "--seed", "7")
    other = run(*words, "--seed", "8")
    assert first.stdout == again.stdout != other.stdout
    drawn = [json.loads(line) for line in first.stdout.splitlines()]
    assert len({str(p) for p in drawn}) == 50
    assert all(p in points for p in drawn)
    assert first.stderr.endswith("seed 7\n")


def test_a_sample_without_a_seed_says_which_it_took() -> None:
    words = ["sample", *SMALL, "-n", "5"]
    first = run(*words)
    seed = first.stderr.rsplit(" ", 1)[1].strip()
    assert run(*words, "--seed", seed).stdout == first.stdout


def test_a_sample_larger_than_the_space_is_all_of_it(points: list[dict[str, Any]]) -> None:
    assert len(run("sample", *SMALL, "-n", "100000").stdout.splitlines()) == len(points)


def test_several_gpus_in_a_list_of_names_are_noted() -> None:
    words = [w if w != "gfx942" else "gfx942,gfx950" for w in SMALL]
    result = run("enumerate", *words, "--limit", "1", "--no-summary")
    assert "names say no GPU" in result.stderr
    assert run("enumerate", *words, "--limit", "1", "--no-summary", "--format", "csv").stderr == ""


def test_the_convolution_space_starts_with_legal_points() -> None:
    words = ["--variant", "bwd_weight", "--arch", "gfx1201", "--dtype", "fp16", "--ndim", "2"]
    names = run("enumerate", *words, "--limit", "20", "--no-summary").stdout
    assert names.count("\n") == 20
    result = run("check", "--arch", "gfx1201", "-", stdin=names)
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_closed_pipe_stops_the_listing() -> None:
    command = [sys.executable, "-m", "ckrules", "enumerate", *SMALL[:4], "--format", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 0


def on_terminal(*words: str) -> str:
    """What the command writes to a terminal of 100 columns."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "ckrules", *words],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the child has gone
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    assert child.wait(60) == 0
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_table(points: list[dict[str, Any]]) -> None:
    text = on_terminal("enumerate", *SMALL)
    lines = text.splitlines()
    assert lines[0].startswith("In all rows: variant forward_depthwise, arch gfx942, dtype fp16")
    assert lines[-1] == f"first 20 of {len(points):,} points"
    assert "\x1b" not in text
    sample = on_terminal("sample", *SMALL, "-n", "3", "--seed", "1", "--fields", "tile_h,tile_w")
    assert sample.split()[:2] == ["tile_h", "tile_w"]


def test_a_terminal_gets_names_when_asked(points: list[dict[str, Any]]) -> None:
    assert len(on_terminal("enumerate", *SMALL, "--format", "names").splitlines()) == len(points)

"""``enumerate``, ``count`` and ``sample``: the same points in every form."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckrules import kernel_space
from ckrules.cli.counts import WHY
from ckrules.kernels.books import Books
from ckrules.kernels.names import parse_name
from ckrules.kernels.selection import select
from tests.cli.run import SMALL, points_of, run

FIXED = {
    "variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "filter": 3, "nbatch": 1,
    "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def points() -> list[dict[str, Any]]:
    """The small space's points, straight from the engine."""
    return [dict(p) for p in kernel_space(**FIXED)]  # type: ignore[arg-type]


def listed(*words: str) -> list[dict[str, Any]]:
    """What ``enumerate --format jsonl`` prints."""
    result = run("enumerate", *SMALL, "--format", "jsonl", *words)
    assert result.exit_code == 0
    return points_of(result.stdout)


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
    never = run("count", *SMALL, "--where", "tile_h == 1000")
    assert (never.exit_code, never.stdout) == (0, "0\n")
    assert never.stderr.splitlines() == ["tile_h is never 1000; nearest 32", WHY]


def test_values_outside_the_candidates_can_be_set() -> None:
    result = run("count", "--variant", "forward_depthwise", "--set", "nbatch=3", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["nbatch"] == 3


def test_count(points: list[dict[str, Any]]) -> None:
    assert run("count", *SMALL).stdout == f"{len(points)}\n"
    found = json.loads(run("count", *SMALL, "--format", "json").stdout)
    assert found == {**FIXED, "ck": "2026.09", "profile": "legal", "count": len(points)}


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


def test_count_by_a_derived_quantity(points: list[dict[str, Any]]) -> None:
    """A quantity is counted as a field is, alone or beside one."""
    book = Books().of("forward_depthwise")
    sizes = [book.resources(p, ["lds_bytes"])["lds_bytes"] for p in points]
    found = json.loads(run("count", *SMALL, "--by", "lds_bytes", "--format", "json").stdout)
    assert [(g["lds_bytes"], g["count"]) for g in found["groups"]] == sorted(Counter(sizes).items())
    both = json.loads(run("count", *SMALL, "--by", "in_vec,lds_bytes", "--format", "json").stdout)
    pairs = Counter((p["in_vec"], size) for p, size in zip(points, sizes, strict=True))
    assert {(g["in_vec"], g["lds_bytes"]): g["count"] for g in both["groups"]} == pairs
    result = run("count", *SMALL, "--by", "lds_byte")
    assert (result.exit_code, "did you mean 'lds_bytes'" in result.stderr) == (2, True)


def test_a_catalog_is_counted_by_a_derived_quantity() -> None:
    words = ["--catalog", "tiny", "--variant", "forward", "--arch", "gfx942"]
    listed = run("enumerate", *words, "--format", "jsonl", "--fields", "lds_bytes").stdout
    sizes = Counter(json.loads(line)["lds_bytes"] for line in listed.splitlines())
    found = json.loads(run("count", *words, "--by", "lds_bytes", "--format", "json").stdout)
    assert [(g["lds_bytes"], g["count"]) for g in found["groups"]] == sorted(sizes.items())


def test_an_empty_part_is_an_answer() -> None:
    result = run("enumerate", *SMALL, "--where", "tile_h > 10000")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("0 configurations (")
    assert run("count", *SMALL, "--where", "false").stdout == "0\n"
    assert run("sample", *SMALL, "--where", "false").exit_code == 0


def test_the_summary_says_what_each_family_removed(points: list[dict[str, Any]]) -> None:
    selection = select(Books(), FIXED)
    candidates = selection.candidates().count()
    summary = run("enumerate", *SMALL, "--limit", "5").stderr
    assert summary.startswith(
        f"5 of {len(points):,} configurations (forward_depthwise on gfx942, fp16, filter 3, "
        "nbatch 1, stride_h 1, stride_w 1, pad_h 1, pad_w 1)\n"
    )
    assert run("enumerate", *SMALL, "--limit", "5", "-q").stderr == ""
    lines = run("enumerate", *SMALL, "--limit", "5", "-q", "--summary").stderr.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["candidates", f"{candidates:,}"],
        ["DW", "removes", f"{candidates - len(points):,}"],
    ]
    assert lines[1].endswith("depthwise convolution")  # what the letters mean


def test_a_sample_is_repeatable_and_legal(points: list[dict[str, Any]]) -> None:
    words = ["sample", *SMALL, "-n", "50", "--format", "jsonl"]
    first = run(*words, "--seed", "7")
    again = run(*words, "--seed", "7")
    other = run(*words, "--seed", "8")
    assert first.stdout == again.stdout != other.stdout
    drawn = points_of(first.stdout)
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


def test_pairs_of_features_are_a_list_of_tests(points: list[dict[str, Any]]) -> None:
    words = ["sample", *SMALL, "--pairs", "--seed", "3", "--format", "jsonl"]
    whole = run(*words)
    drawn = points_of(whole.stdout)
    assert all(p in points for p in drawn)
    for one, two in itertools.combinations(("in_vec", "out_vec", "sub_h", "tile_w"), 2):
        assert {(p[one], p[two]) for p in drawn} == {(p[one], p[two]) for p in points}
    told = re.search(r", ([\d,]+) of ([\d,]+) pairs of features, seed 3$", whole.stderr.strip())
    assert told is not None
    assert told[1] == told[2]
    assert len(drawn) < 200
    assert points_of(run(*words, "-n", "5").stdout) == drawn[:5]
    assert run(*words, "--where", "false").stdout == ""
    refused = run("sample", "--pairs", "--catalog", "recommended")
    assert (refused.exit_code, "--pairs does not go with --catalog" in refused.stderr) == (2, True)


def test_several_gpus_in_a_list_of_names_are_noted() -> None:
    words = [w if w != "gfx942" else "gfx942,gfx950" for w in SMALL]
    result = run("enumerate", *words, "--limit", "1", "-q")
    assert "names do not say the GPU" in result.stderr
    assert run("enumerate", *words, "--limit", "1", "-q", "--format", "csv").stderr == ""


def test_the_convolution_space_starts_with_legal_points() -> None:
    words = ["--variant", "bwd_weight", "--arch", "gfx1201", "--dtype", "fp16", "--ndim", "2"]
    names = run("enumerate", *words, "--limit", "20", "-q").stdout
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
        assert child.wait() == 0


def on_terminal(*words: str, width: int = 100) -> str:
    """What the command writes to a terminal of so many columns."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}
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
    assert child.wait() == 0
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_table(points: list[dict[str, Any]]) -> None:
    text = on_terminal("enumerate", *SMALL)
    lines = text.splitlines()
    assert lines[0].startswith("In all rows: variant forward_depthwise, arch gfx942, dtype fp16")
    widths = {len(line) for line in lines}
    assert max(widths) <= 100
    assert all(line.strip() for line in lines)
    assert len(lines) > 20
    assert "\x1b" not in text
    sample = on_terminal("sample", *SMALL, "-n", "3", "--seed", "1", "--fields", "tile_h,tile_w")
    assert sample.split()[:2] == ["tile_h", "tile_w"]


def test_points_are_spread_over_the_whole_order(points: list[dict[str, Any]]) -> None:
    """The middles of equal parts; a terminal's table has the same points."""
    found = run("enumerate", *SMALL, "--spread", "7", "--format", "jsonl", "-q")
    rows = points_of(found.stdout)
    total = len(points)
    assert rows == [points[(2 * i + 1) * total // 14] for i in range(7)]
    every = run("enumerate", *SMALL, "--spread", str(2 * total), "--format", "jsonl", "-q")
    assert points_of(every.stdout) == points
    of_catalog = run("enumerate", "--catalog", "tiny", *SMALL[:4], "--spread", "2", "-q").stdout
    assert len(of_catalog.splitlines()) == 2


def test_no_statistics_are_counted_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(*_: object) -> None:
        raise AssertionError("what topics remove is counted")

    monkeypatch.setattr("ckrules.cli.removed.removed", counted)
    assert run("enumerate", *SMALL, "--limit", "2").exit_code == 0


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_fits_the_terminal(width: int) -> None:
    """Long names lose their middle, columns without room are named, and --wide shows all."""
    fields = ("--fields", "name,tile_h,in_vec,arch")
    words = ("sample", *SMALL, "-n", "3", "--seed", "1", "-q", *fields)
    lines = on_terminal(*words, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert ("…" in lines[1]) is (width < 100)
    assert lines[1].startswith("grouped_")
    whole = on_terminal(*words, "--wide", width=width).splitlines()
    assert max(map(len, whole)) > 80
    assert "…" not in whole[1]


@pytest.mark.parametrize("command", ["count", "enumerate", "sample", "why", "diff", "portable"])
def test_a_suffix_that_no_form_has_is_refused(command: str, tmp_path: Path) -> None:
    sides = ["gfx942", "gfx950"] if command == "diff" else []
    target = tmp_path / "out.jsn"
    result = run(command, *sides, *SMALL, "-o", str(target))
    assert (result.exit_code, target.exists()) == (2, False)
    assert "did you mean .json?" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet", "txt"])
def test_the_suffix_says_the_form(suffix: str, tmp_path: Path) -> None:
    listed, counts = tmp_path / f"points.{suffix}", tmp_path / f"counts.{suffix}"
    run("enumerate", *SMALL, "-n", "3", "-o", str(listed))
    run("count", *SMALL, "--by", "tile_h", "-o", str(counts))
    if suffix == "parquet":
        import pyarrow.parquet as pq

        assert pq.read_table(listed).num_rows == 3
        total = sum(pq.read_table(counts)["count"].to_pylist())
    elif suffix == "json":
        assert len(json.loads(listed.read_text())) == 3
        total = json.loads(counts.read_text())["count"]
    elif suffix == "jsonl":
        assert len([json.loads(t) for t in listed.read_text().splitlines()]) == 3
        total = sum(json.loads(t)["count"] for t in counts.read_text().splitlines())
    else:
        assert listed.read_text().startswith("variant," if suffix == "csv" else "grouped_conv")
        sign = "," if suffix == "csv" else None
        rows = [t.split(sign) for t in counts.read_text().splitlines()[1:]]
        total = sum(int(r[-1]) for r in rows if r[0] != "total")
    assert total == int(run("count", *SMALL).stdout)


def test_a_terminal_gets_names_when_asked(points: list[dict[str, Any]]) -> None:
    assert len(on_terminal("enumerate", *SMALL, "--format", "names").splitlines()) == len(points)


def test_a_family_stands_for_its_variants() -> None:
    rest = SMALL[2:]
    named = run("count", "--family", "depthwise", "--format", "json", *rest)
    assert json.loads(named.stdout) == json.loads(run("count", "--format", "json", *SMALL).stdout)
    listed = run("count", "--family", "depthwise", "--catalog", "tiny", *rest[:4]).stdout
    assert listed == run("count", "--catalog", "tiny", *SMALL[:6]).stdout
    both = run("count", "--family", "depthwise", *SMALL)
    assert (both.exit_code, both.stdout) == (0, f"{json.loads(named.stdout)['count']}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--family", "depthwize"], "unknown family 'depthwize': did you mean 'depthwise'?"),
        (["--family", "conv", "--variant", "forward_depthwise"],
         "forward_depthwise is not a variant of the family conv"),
    ],
)  # fmt: skip
def test_a_family_that_does_not_fit(words: list[str], said: str) -> None:
    result = run("count", *words)
    assert (result.exit_code, result.stderr) == (2, f"error: {said}\n")


def test_a_short_table_joins_groups_and_names_what_is_not_usual() -> None:
    words = ["--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "3"]
    words += ["--set", "pipeline=mem", "--set", "tile_m=64,128", "--set", "tile_n=64"]
    words += ["--set", "tile_k=64", "--set", "vector_a=8", "--set", "vector_b=8"]
    text = on_terminal("sample", *words, "-n", "4", "--seed", "1")
    shown = " ".join(text.split())
    assert "x64x64" in shown
    assert "8x8x" in shown
    assert "layout" not in shown
    assert "tile_m" not in shown

"""Catalogs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ckrules.cli.group import LazyGroup
from ckrules.constraints.catalogs import load
from ckrules.kernels.names import format_name

HERE = Path(__file__).parent / "data"
FULL = ("--catalog", "full", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "2")


def run(*args: str) -> Result:
    from ckrules.cli import group

    root = next(v for v in vars(group).values() if isinstance(v, LazyGroup))
    return CliRunner().invoke(root, list(args))


def test_count_by_pipeline_and_scheduler() -> None:
    out = run("count", *FULL, "--by", "pipeline,scheduler", "--format", "json")
    assert out.exit_code == 0, out.output
    found = json.loads(out.stdout)
    full = load("full")
    variants = ("forward", "bwd_data", "bwd_weight")
    points = [p for v in variants for p in full.listed(v, "gfx942", 2, "fp16")]
    assert found["count"] == len(points) == 3207
    groups = {(g["pipeline"], g["scheduler"]): g["count"] for g in found["groups"]}
    assert groups["-", "-"] == 20  # depthwise kernels have neither
    for pair in {(p["pipeline"], p["scheduler"]) for p in points if "pipeline" in p}:
        same = [p for p in points if (p.get("pipeline"), p.get("scheduler")) == pair]
        assert groups[pair] == len(same)


@pytest.mark.parametrize(("stage", "count"), [("listed", 679), ("generated", 675)])
def test_enumerate_prints_the_usual_names_or_upstreams(stage: str, count: int) -> None:
    args = ("--variant", "forward", "--stage", stage, "--format", "names", "-q")
    full = load("full")
    points = full.stage(full.listed("forward", "gfx942", 2, "fp16"), stage).points
    usual = run("enumerate", *FULL, *args).stdout.splitlines()
    assert usual == [format_name(p) for p in points]
    assert any("_basic_v1_" in name for name in usual)
    upstream = run("enumerate", *FULL, *args, "--names", "rule_set").stdout.splitlines()
    assert upstream == [full.kernel_name(p) for p in points]
    assert any("_compv1_" in name for name in upstream)
    assert len(points) == count


def test_filters_limits_and_other_forms() -> None:
    base = ("enumerate", *FULL, "-q")
    out = run(*base, "--variant", "forward", "--where", "tile_m == 256", "--format", "jsonl")
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    assert rows
    assert {r["tile_m"] for r in rows} == {256}
    out = run(*base, "--variant", "forward_depthwise", "--format", "csv")
    assert len(out.stdout.splitlines()) == 21
    out = run(*base, "--variant", "bwd_data", "--set", "pipeline=wavelet", "--limit", "3")
    assert [("_wavelet_" in n) for n in out.stdout.splitlines()] == [True] * 3
    parts = [run(*base, "--variant", "bwd_data", "--shard", f"{i}/3").stdout for i in (1, 2, 3)]
    assert "".join(parts) == run(*base, "--variant", "bwd_data").stdout
    out = run("sample", *FULL, "--variant", "bwd_data", "-n", "4", "--seed", "7", "-q")
    assert len(set(out.stdout.splitlines())) == 4
    assert run(*base, "--variant", "forward", "--format", "csv").exit_code == 2
    mine = run("count", "--catalog", str(HERE / "mine.toml"), "--arch", "gfx942")
    assert mine.stdout == "8\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--catalog", "ful"), "did you mean 'full'"),
        (("--catalog", "full", "--stage", "legl"), "did you mean 'legal'"),
        (("--stage", "legal"), "--stage needs --catalog"),
        (
            ("--catalog", "full", "--profile", "builder", "--stage", "legal"),
            "--profile builder is --stage builder, not legal",
        ),
        (("--catalog", "full", "--set", "colour=1"), "unknown field 'colour'"),
        (("--catalog", "full", "--dtype", "fp8"), "unknown dtype 'fp8'"),
    ],
)
def test_faults(args: tuple[str, ...], message: str) -> None:
    out = run("count", *args)
    assert out.exit_code == 2
    assert message in out.output


def test_catalogs_lists_and_shows() -> None:
    assert "full          " in run("catalogs").stdout
    assert "CAT004 pipeline-not-in-catalog" in run("catalogs", "full").stdout
    found = json.loads(run("catalogs", "tiny", "--format", "json").stdout)
    assert found["from"] == "full-tests"


@pytest.mark.parametrize("name", ["full", "full-tests", "tiny", "fp16_rcr_all", "mixed_precision"])
def test_catalogs_of_june_say_what_newer_texts_have(name: str) -> None:
    """Which version's list it is, and which newer text was read, in one line of its page."""
    (note,) = json.loads(run("catalogs", name, "--format", "json").stdout)["notes"]
    assert note.startswith("in CK 2026.09 as in June 2026: ")
    assert f"note: {note}\n" in run("catalogs", name).stdout
    assert json.loads(run("catalogs", "rdna", "--format", "json").stdout)["notes"] == []


def test_where_a_catalog_is_used_its_text_is_not_spoken_of() -> None:
    """Two lines of commits stood in every answer of `enumerate`, `count` and `why`."""
    part = ("--catalog", "full", "--variant", "bwd_data", "--arch", "gfx942", "--dtype", "fp16")
    for words in (("count", *part), ("why", *part, "--ndim", "2")):
        done = run(*words)
        assert "June" not in done.stdout + done.stderr

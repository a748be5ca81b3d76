"""``ckrules check --arch A,B``: configurations that name no GPU are checked for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import legal, run, write

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8"


@pytest.mark.parametrize("stdin", [None, NAME])
def test_every_gpu_has_a_line_of_the_summary(stdin: str | None) -> None:
    words = ("check", "--isolated", "--arch", "gfx942,gfx1201", "-" if stdin else NAME)
    result = run(*words, "--format", "json", stdin=stdin)
    assert result.exit_code == 1
    assert {(d["code"], d["arch"]) for d in json.loads(result.stdout)} == {("WARP002", "gfx1201")}
    assert result.stderr.splitlines() == [
        "gfx942: 1 configuration: 1 legal",
        "gfx1201: 1 configuration: 0 legal, 1 illegal (1 violation)",
    ]


def test_what_names_a_gpu_is_checked_once(tmp_path: Path) -> None:
    other = [legal(arch=gpu) for gpu in ("gfx942", "gfx90a", "gfx1201")]
    path = write(tmp_path, "a.ck.json", [*other, legal(arch=None)])
    result = run("check", "--isolated", "--arch", "gfx942,gfx950", "--verdicts", path)
    seen = [json.loads(line)["arch"] for line in result.stdout.splitlines()]
    assert sorted(seen) == ["gfx1201", "gfx90a", "gfx942", "gfx942", "gfx950"]


def test_what_cannot_be_read_is_said_once_and_counts_for_each_gpu(tmp_path: Path) -> None:
    rows = [legal(arch=None), {**legal(arch=None), "tile_mm": 1}]
    path = write(tmp_path, "a.ck.json", rows)
    result = run("check", "--isolated", "--arch", "gfx942,gfx950", path)
    assert result.exit_code == 2
    assert result.stderr.count("unknown field 'tile_mm'") == 1
    counts = {line.partition(": ")[2] for line in result.stderr.splitlines()[-2:]}
    assert counts == {"1 configuration: 1 legal; 1 could not be read"}


def test_a_remark_is_said_once_and_counts_for_each_gpu(tmp_path: Path) -> None:
    path = write(tmp_path, "sets.hpp", "DECL_KERNEL_ALL(everything);\n")
    result = run("check", "--isolated", "--arch", "gfx942,gfx950", path)
    assert result.stdout.count("CFG006") == 1
    counts = {line.partition(": ")[2] for line in result.stderr.splitlines()[:2]}
    assert counts == {"0 configurations: 0 legal, 1 warning"}


@pytest.mark.parametrize("option", ["--fix", "--diff", "--write-baseline", "--prune-baseline"])
def test_files_are_changed_for_one_gpu(option: str) -> None:
    result = run("check", "--isolated", "--arch", "gfx942,gfx950", option, NAME)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{option} takes one GPU" in result.stderr

"""``--distinct``: of configurations that make the same device code, only one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.engine.rules.alike import keys
from ckrules.kernels.books import Books
from tests.cli.run import legal, run, write

PART = [
    *("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ck", "2025.11"),
    *("--set", "tile_m=16", "--set", "tile_n=32", "--set", "tile_k=16", "--set", "wave_m=1"),
    *("--set", "wave_n=1", "--set", "ndim=2", "--set", "pipeline=basic_v1,mem"),
]
PROBLEM = "N=1,C=64,K=64,H=14,W=14,Y=3,X=3,pad=1"
KEY = keys(Books("2025.11").of("forward").vocabulary.alike)


def points(*words: str) -> list[dict[str, Any]]:
    found = run(*words, "--format", "jsonl", "-q")
    assert found.exit_code == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_counts_lists_and_samples_have_one_of_each_set() -> None:
    everything = points("enumerate", *PART)
    sets = {KEY(p) for p in everything}
    kept = points("enumerate", *PART, "--distinct")
    assert len({KEY(p) for p in kept}) == len(kept) == len(sets) < len(everything)
    assert int(run("count", *PART, "--distinct").stdout) == len(sets)
    drawn = points("sample", *PART, "--distinct", "-n", "20", "--seed", "1")
    assert all(p in kept for p in drawn)


@pytest.mark.parametrize(
    "asked",
    [("vector_c", "4"), ("vector_c", "2,8"), ("epilogue", "default"), ("vector_b", "4")],
)
def test_options_and_conditions_ask_the_same(asked: tuple[str, str]) -> None:
    """What comes before a configuration stays only if it is asked for as well."""
    field, values = asked
    names = [v if v.isdigit() else f"'{v}'" for v in values.split(",")]
    where = " | ".join(f"{field} == {name}" for name in names)
    by_set = run("count", *PART, "--distinct", "--set", f"{field}={values}").stdout
    assert run("count", *PART, "--distinct", "--where", where).stdout == by_set
    assert int(by_set) > 0
    parts = run(
        "count", *PART, "--distinct", "--where", where, "--by", "vector_a", "--format", "json"
    )
    assert sum(row["count"] for row in json.loads(parts.stdout)["groups"]) == int(by_set)


def test_a_search_finds_canonical_kernels() -> None:
    found = run("search", *PART, "--distinct", "--problem", PROBLEM, "-n", "4", "--format", "json")
    assert found.exit_code == 0, found.stderr
    kept = points("enumerate", *PART, "--distinct")
    kernels = [{**k["config"], "ck": "2025.11"} for k in json.loads(found.stdout)["kernels"]]
    assert kernels
    assert all(k in kept for k in kernels)


def test_summaries_say_what_it_removes() -> None:
    found = run("enumerate", *PART, "--distinct", "--limit", "1", "--summary")
    assert "one of each code" in found.stderr
    assert "--distinct removes" in found.stderr
    assert json.loads(run("count", *PART, "--distinct", "--format", "json").stdout)["distinct"]


def test_kernels_are_generated_once(tmp_path: Path) -> None:
    same = [legal(epilogue="default", vector_c=v) for v in (8, 2, 4)]
    path = write(tmp_path, "k.json", [*same, legal(vector_a=4)])
    out = tmp_path / "out"
    found = run("generate", path, "-o", str(out), "--ck", "2025.11", "--distinct")
    assert found.exit_code == 0, found.stderr
    assert "2 configurations left out: they make the same code as others" in found.stderr
    lines = (out / "ckrules-kernels.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["config"]["vector_c"] for line in lines] == [2, 8]


def test_of_a_mixed_file_one_is_generated_of_what_is_known_to_be_the_same(tmp_path: Path) -> None:
    """Nothing is known of GEMMs: they are all kept, beside convolutions and without."""
    same = [legal(epilogue="default", vector_c=v) for v in (8, 2)]
    gemm = {**book("standard", ck="2025.11").vocabulary.baseline, "arch": "gfx942"}
    found = run(
        "generate", write(tmp_path, "k.json", [*same, gemm]), "-o", str(tmp_path / "out"),
        "--ck", "2025.11", "--distinct",
    )  # fmt: skip
    assert found.exit_code == 0, found.stderr
    assert "1 configuration left out" in found.stderr
    assert "1 gemm kernel kept: which of them make the same code is not known" in found.stderr
    lines = (tmp_path / "out" / "ckrules-kernels.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["config"]["variant"] for line in lines} == {"forward", "standard"}
    alone = run(
        "generate", write(tmp_path, "g.json", [gemm]), "-o", str(tmp_path / "g"),
        "--ck", "2025.11", "--distinct",
    )  # fmt: skip
    assert alone.exit_code == 2


def test_a_list_keeps_one_of_those_that_it_has(tmp_path: Path) -> None:
    same = [legal(epilogue="default", vector_c=v) for v in (8, 2, 4)]
    path = write(tmp_path, "k.json", [legal(vector_a=4), *same])
    words = ["--catalog", path, "--ck", "2025.11", "--variant", "forward", "--arch", "gfx942"]
    assert run("count", *words).stdout == "4\n"
    assert run("count", *words, "--distinct").stdout == "2\n"
    assert [p["vector_c"] for p in points("enumerate", *words, "--distinct")] == [8, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count", "--variant", "gemm", "--arch", "gfx942"], "nothing is known of gemm kernels"),
        (["count", *PART, "--profile", "builder"], "--distinct goes with the profiles legal and"),
        (
            ["search", *PART[:6], "--catalog", "default", "--problem", PROBLEM],
            "--distinct with --catalog is for what lists kernels",
        ),
    ],
)
def test_what_it_does_not_go_with(words: list[str], said: str) -> None:
    found = run(*words, "--distinct")
    assert found.exit_code == 2
    assert said in found.stderr

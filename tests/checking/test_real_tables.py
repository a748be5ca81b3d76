"""Rows of aiter's tables as they were in August 2026; each finding was looked at by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ckrules.kernels.books import Books
from ckrules.readers import Census, Context, Entry, InputReading
from tests.cli.run import run
from tests.families.test_aiter import DATA, ROWS, gpus_of, point_of

CONFIGS = Path(__file__).parent.parent / "data" / "aiter" / "configs"


def _messages() -> dict[str, list[str]]:
    done = run("check", "--isolated", "--format", "jsonl", "--select", "ROW", str(CONFIGS))
    assert done.exit_code == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        assert one["code"] == "ROW003"
        found.setdefault(Path(one["source"]).name, []).append(one["message"])
    return found


def test_rates_that_are_not_of_their_times() -> None:
    found = _messages()
    kinds = Counter(
        (name, "TB/s" in m, m.startswith("tflops = 0.0,"))
        for name, those in found.items()
        for m in those
    )
    assert kinds == {
        # bandwidths in TB/s, in a column that all other tables have in GB/s
        ("a8w8_blockscale_bpreshuffle_tuned_gemm_dsv3.csv", True, False): 11,
        ("dsv4_a8w8_blockscale_bpreshuffle_tuned_gemm.csv", True, False): 93,
        # times without their rates: 0.0 in both columns
        ("gptoss_fp8fp4_tuned_fmoe.csv", False, True): 14,
        # rates of another time than the row's
        ("a8w8_blockscale_tuned_gemm_qwen3_5_397b_a13b.csv", False, False): 7,
    }


def test_rows_and_kernels_are_counted() -> None:
    done = run("check", "--isolated", "--format", "summary", str(CONFIGS))
    assert "137 configurations: 137 legal" in done.stderr
    assert "153 rows of 4 tuned tables" in done.stderr
    assert "kernels of tags of CK Tile in 1 file" in done.stderr


def test_every_kernel_of_the_tables_is_in_the_lists_of_its_gpu() -> None:
    census = Census()
    for row in ROWS:
        for gpu in row["gpus"] if len(row["gpus"]) > 1 else gpus_of(row):
            census.listed(point_of(row, gpu))
    tables = [str(DATA / "tuned_names.csv"), *map(str, CONFIGS.glob("*.csv"))]
    entries = [
        item
        for table in tables
        for item in InputReading(table, Context(Books(), None, census=census))
        if isinstance(item, Entry)
    ]
    assert len({e.config.name for e in entries}) > 100
    assert list(census.unlisted()) == []

"""How long a check takes and how much memory; hooks run on every commit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import legal
from tests.cli.test_imports import HEAVY, imported
from tests.readers.test_formats import DATA, FILES

pytestmark = pytest.mark.whole


def test_nothing_heavy_is_imported() -> None:
    """One process reads a file of every format, and reports in three."""
    files = [str(DATA / name) for name in FILES]
    words = ["check", "--isolated", "--arch", "gfx942", *files, "--format"]
    assert not imported(*([*words, form] for form in ("concise", "full", "sarif"))) & set(HEAVY)


def many(path: Path, count: int) -> None:
    """A file of different configurations, most of them legal."""
    kernels = [
        legal(tile_m=64 << i % 3, tile_n=64 << i // 3 % 2, vector_a=1 << i // 6 % 4,
              vector_b=1 << i // 24 % 4, vector_c=1 << i // 96 % 4, tile_k=32 << i // 384 % 2,
              specialization=("default", "filter1x1_pad0")[i // 768 % 2])
        for i in range(count)
    ]  # fmt: skip
    path.write_text(json.dumps({"kernels": kernels}, indent=1))


def name(i: int) -> str:
    """The i-th name of a convolution, all but a few of them illegal."""
    tile = "x".join(str((96, 64, 80, 112, 128, 48, 160)[i // 7**k % 7]) for k in range(3))
    vector = "_".join(str(1 << i // 343 // 4**k % 4) for k in range(3))
    head = "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    return f"{head}_{tile}_2x2x1_16x16x16_vec{vector}"


def calls(path: Path, *words: str, first: str = "") -> int:
    """How many Python functions a check of a file calls: a cost that no other process changes."""
    code = (
        "import cProfile; from ckrules.cli import main; calls = cProfile.Profile(builtins=False)\n"
        f"{first}\n"
        f"calls.runcall(main, {['check', '--isolated', '-q', *words, str(path)]!r})\n"
        "print(sum(entry.callcount for entry in calls.getstats()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def test_the_cost_of_a_configuration_does_not_grow_with_their_number(tmp_path: Path) -> None:
    costs = []
    for count in (1, 101, 1001):
        many(tmp_path / "a.json", count)
        costs.append(calls(tmp_path / "a.json"))
    few, all_ = (costs[1] - costs[0]) / 100, (costs[2] - costs[0]) / 1000
    assert all_ < 1.2 * few
    assert all_ < 1000  # some 400; a back end that interprets every rule takes far more


@pytest.mark.slow
def test_the_cost_of_an_illegal_name(tmp_path: Path) -> None:
    """Beyond the first findings, which alone get repairs: here a tenth as many as otherwise."""
    fewer = "from ckrules.engine.rules import repairs; repairs.EXACT, repairs.TARGETED = 100, 500"
    costs = []
    for count in (2_000, 3_000):
        with (tmp_path / "a.names").open("w") as stream:
            stream.writelines(f"{name(i)}\n" for i in range(count))
        costs.append(calls(tmp_path / "a.names", "--arch", "gfx942", first=fewer))
    assert (costs[1] - costs[0]) / 1000 < 210  # some 170, with some three findings each


def test_a_file_of_a_hundred_megabytes_needs_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = json.dumps(legal()) + "\n"
    with path.open("w") as stream:
        for _ in range((4 << 20) // len(line)):
            stream.write(line)
    code = (
        "import re, sys; from ckrules.cli import main;"
        f"main(['check', '--isolated', '--ignore', 'CFG001', '-q', {str(path)!r}]);"
        # not ru_maxrss, which a process inherits from the larger one that started it
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) >> 10)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 100  # read line by line; see benchmarks/check.py

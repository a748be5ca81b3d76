"""Files of kernels of several families: each family reads the words of options as its own."""

from __future__ import annotations

import json

import pytest

from ckrules.constraints import book
from tests.cli.run import run, write


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two convolutions, and behind them GEMMs of two types that convolutions lack or have."""
    conv, gemm = book("forward").vocabulary.baseline, book("standard").vocabulary.baseline
    rows = [
        {**conv, "dtype": "fp16"},
        {**conv, "dtype": "bf16"},
        {**gemm, "dtype": "fp8", "layout": "rcr"},
        {**gemm, "dtype": "fp16", "layout": "rcr"},
    ]
    text = "".join(json.dumps({**row, "ck": "2025.11"}) + "\n" for row in rows)
    return write(tmp_path_factory.mktemp("mixed"), "kernels.jsonl", text)


@pytest.mark.parametrize(
    ("words", "total"),
    [
        ("--dtype fp8", 1),
        ("--dtype fp16", 2),
        ("--dtype fp8,half", 3),
        ("--variant standard --dtype fp8", 1),
        ("--family gemm --dtype fp8", 1),
        ("--layout rcr", 2),
        ("--layout nhwgc,rcr", 4),
        ("--variant forward,standard --layout rcr --dtype fp16", 1),
        ("--layout nhwgc --dtype fp8", 0),
    ],
)
def test_kernels_are_chosen_by_their_own_words(words: str, total: int, mixed: str) -> None:
    done = run("count", "--catalog", mixed, *words.split())
    assert (done.exit_code, done.stdout) == (0, f"{total}\n"), done.stderr
    listed = run("enumerate", "--catalog", mixed, *words.split(), "--format", "jsonl", "-q")
    assert len(listed.stdout.splitlines()) == total


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--dtype fp99", "unknown dtype 'fp99': known are fp16, bf16, fp32\n"),
        ("--layout xyz", "unknown layout 'xyz': known are nwgc, "),
        ("--variant forward --dtype fp8", "unknown dtype 'fp8': known are fp16, bf16, fp32\n"),
        ("--variant standard --layout nhwgc", "unknown layout 'nhwgc': known are rcr, "),
        ("--set no_such=1", "unknown field 'no_such'"),
    ],
)
def test_words_that_no_asked_family_knows_are_refused(words: str, said: str, mixed: str) -> None:
    done = run("count", "--catalog", mixed, *words.split())
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {said}")


def test_commands_that_need_one_family_take_the_one_that_knows_the_words(mixed: str) -> None:
    words = ("--catalog", mixed, "--dtype", "fp8", "--problem", "M=512,N=512,K=512")
    done = run("rank", *words, "--format", "jsonl", "-q")
    assert done.exit_code == 0, done.stderr
    assert [json.loads(line)["config"]["dtype"] for line in done.stdout.splitlines()] == ["fp8"]

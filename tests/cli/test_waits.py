"""What takes long shows on a terminal what it does, and ends on Ctrl-C."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.helpers.terminal import TerminalRun

pytestmark = pytest.mark.whole

GZIPPED = Path(__file__).resolve().parents[2] / "benchmarks/data/forward_bf16_gfx950.csv.gz"
GEMM = ["--variant", "gemm", "--arch", "gfx942", "--dtype", "fp16", "--ck", "2025.11"]
FORWARD = ["--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--set", "ndim=2"]
PROBLEM = ["--problem", "N=1,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"]


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Measured times of enough problems to learn from."""
    file = tmp_path_factory.mktemp("times") / "times.csv"
    file.write_bytes(gzip.decompress(GZIPPED.read_bytes()))
    return str(file)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["search", *FORWARD, *PROBLEM], "kernels looked at"),
        (["explore", *FORWARD], "counting the kernels"),
        (["enumerate", *FORWARD, "-o", "{folder}/all.csv"], "points"),
        (["enumerate", *GEMM, "--best", "2"], "searches for the fastest kernels"),
        (["lint", *FORWARD], "kinds of findings"),
        (
            ["diff", "gfx942", "gfx950", "--variant", "forward", "--dtype", "fp16"],
            "steps of comparing",
        ),
        (["diff", "default", "full"], "reading what is compared"),
        (["evaluate", "--measurements", "{times}", "--folds", "2"], "models trained"),
        (["train", "--measurements", "{times}", "-o", "{folder}/model.gz"], "models trained"),
        (["count", "--by", "arch"], "counting the kernels"),
        (
            ["report", "diff", "gfx942", "gfx950", "--variant", "forward", "-o", "{folder}/x.html"],
            "steps of comparing",
        ),
        (["docs", "--out", "{folder}/rules"], "reading the rules"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_a_long_command_shows_a_bar_and_ends_on_ctrl_c(
    words: list[str], title: str, times: str, tmp_path: Path
) -> None:
    given = (w.format(folder=tmp_path, times=times) for w in words)
    run = TerminalRun(*given, CKRULES_CACHE_DIR="")
    assert run.until(title), run.seen
    assert run.interrupt() == 130, run.seen
    assert "Traceback" not in run.seen
    assert not list(tmp_path.iterdir())


def test_a_list_in_a_file_says_how_much_there_is(tmp_path: Path) -> None:
    total = "0/2,000,000"
    run = TerminalRun("enumerate", *GEMM, "--limit", "2000000", "-o", str(tmp_path / "all.csv"))
    assert run.until(total), run.seen
    assert run.interrupt() == 130


def test_output_goes_where_it_is_sent(tmp_path: Path) -> None:
    """And not to the terminal, whose bar took all that was printed: the file stayed empty."""
    names = tmp_path / "names.txt"
    words = ["enumerate", *FORWARD, "--limit", "1000", "--format", "names"]
    run = TerminalRun(*words, stdout=names)
    assert run.until("0/1,000"), run.seen
    assert run.end() == 0
    assert "grouped_conv" not in run.seen
    assert len(names.read_text().splitlines()) == 1000

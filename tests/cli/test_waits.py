"""What takes long shows on a terminal what it does, and ends on Ctrl-C."""

from __future__ import annotations

import gzip
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GZIPPED = Path(__file__).resolve().parents[2] / "benchmarks/data/forward_bf16_gfx950.csv.gz"
GEMM = ["--variant", "gemm", "--arch", "gfx942", "--dtype", "fp16", "--ck", "2025.11"]
FORWARD = ["--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--set", "ndim=2"]
PROBLEM = ["--problem", "N=1,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"]


class TerminalRun:
    """A command whose standard error is a terminal."""

    def __init__(self, *words: str) -> None:
        self._leader, follower = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "ckrules", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=follower,
            env={**os.environ, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(follower)
        self.seen = ""

    def until(self, text: str, seconds: float = 300) -> bool:
        """Whether a text appears before the command ends."""
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            try:
                self.seen += os.read(self._leader, 1 << 16).decode(errors="replace")
            except OSError:  # the child has gone
                break
        return text in self.seen

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code."""
        self.child.send_signal(signal.SIGINT)
        self.until("Traceback", 60)
        code = self.child.wait(60)
        os.close(self._leader)
        return code


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
        (["evaluate", "--measurements", "{times}", "--folds", "2"], "models trained"),
        (["train", "--measurements", "{times}", "-o", "{folder}/model.gz"], "models trained"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_long_command_shows_a_bar_and_ends_on_ctrl_c(
    words: list[str], title: str, times: str, tmp_path: Path
) -> None:
    run = TerminalRun(*(w.format(folder=tmp_path, times=times) for w in words))
    assert run.until(title), run.seen
    assert run.interrupt() == 130, run.seen
    assert "Traceback" not in run.seen
    assert not list(tmp_path.iterdir())


def test_a_list_in_a_file_says_how_much_there_is(tmp_path: Path) -> None:
    total = "0/2,000,000"
    run = TerminalRun("enumerate", *GEMM, "--limit", "2000000", "-o", str(tmp_path / "all.csv"))
    assert run.until(total), run.seen
    assert run.interrupt() == 130

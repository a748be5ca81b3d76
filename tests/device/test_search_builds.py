"""`ckrules search --device` from rules to times with nothing replaced but the clock.

`make certify` runs it: tests/device/test_workshop.py has the same of kernels that nobody compiles.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckrules.constraints.conv.problem import parse
from tests.cli.run import run
from tests.device import timed_cpu
from tests.device.reference_device import simulated_ms
from tests.device.test_interruption import ROOT, stored
from tests.helpers.toolchain import require_toolchain

PROBLEM = "N=1,C=8,K=8,H=5,W=5,Y=1,X=1"
PART = (
    "pipeline == 'basic_v1' & epilogue == 'cshuffle' & tile_m == 32 & tile_n == 32"
    " & tile_k <= 32 & wave_m == 2 & wave_n == 2 & warp_tile_m == 16 & warp_tile_n == 16"
    " & num_groups_to_merge == 1 & specialization == 'default' & not split_image"
    " & vector_a == 4 & vector_b == 4 & vector_c == 4"
)
WORDS = (
    *("search", "--problem", PROBLEM, "--variant", "forward", "--arch", "gfx942"),
    *("--dtype", "fp16", "--ck", "2025.11", "--where", PART),
)


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_a_search_builds_and_goes_on_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_toolchain()
    site = str(timed_cpu.registered(tmp_path / "site"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), site]))
    home = tmp_path / "tried"
    words = (*WORDS, "--device", "timed-cpu", "--dir", str(home))
    process = subprocess.Popen(
        [sys.executable, "-m", "ckrules", *words, "--measure", "2"],
        env={**os.environ, "TIMED_CPU_SECONDS": "4"},
        stderr=subprocess.DEVNULL,
    )
    while not (home.is_dir() and stored(home)):
        assert process.poll() is None, "the search ended by itself"
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = stored(home)
    assert before == 1
    done = run(*words, "--measure", "2", "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.endswith("2 kernels tried, 1 of them before; ended: kernels\n")
    assert stored(home) == 2
    for each in json.loads(done.stdout)["kernels"]:
        right = simulated_ms(each["config"], parse(PROBLEM))
        assert each["measured"] == pytest.approx(1e3 * right)
    assert len(list(home.glob("*.hsaco"))) >= 2


def test_the_device_cpu_has_no_clock(tmp_path: Path) -> None:
    done = run(*WORDS, "--device", "cpu", "--dir", str(tmp_path / "tried"))
    assert (done.exit_code, done.stderr) == (
        2, "error: the device cpu has no clock: nothing can be timed\n"
    )  # fmt: skip
    assert not (tmp_path / "tried").exists()

"""`ckrules gpu-helper`: upstream's JSON for what was chosen and run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ckrules.runtime import Dispatcher
from tests.cli.run import run
from tests.device.conftest import double
from tests.runtime import doubles

__all__ = ["double"]
Double = Callable[..., str]


@pytest.fixture(autouse=True)
def _described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Described kernels in place of built ones."""
    monkeypatch.setattr("ckrules.runtime.Dispatcher", partial(Dispatcher, opener=doubles.OPENER))


def helper(place: Path, device: str, *words: str) -> tuple[int, dict[str, Any], str]:
    done = run("gpu-helper", *words, "--dir", str(place), "--device", device, "--repeat", "2")
    return done.exit_code, json.loads(done.stdout) if done.stdout else {}, done.stderr


def test_a_product_is_run_and_compared(tmp_path: Path, double: Double) -> None:
    place = doubles.folder(tmp_path / "out", mine=doubles.GEMM)
    code, found, said = helper(place, double(), "24", "16", "32", "--validate")
    assert (code, said) == (0, "")
    assert list(found) == [
        *("problem", "kernel", "selected_kernel", "source", "execution", "validation", "status"),
    ]
    assert found["problem"] == {"M": 24, "N": 16, "K": 32}
    assert found["kernel"] == found["selected_kernel"] == "mine"
    assert found["execution"]["flops"] == 2 * 24 * 16 * 32
    assert found["execution"]["time_ms"] == 0.5
    assert found["execution"]["tflops"] == pytest.approx(24576 / 0.5e-3 / 1e12)
    checked = found["validation"]
    assert (checked["accuracy"], checked["correct_elements"]) == (100.0, 24 * 16)
    assert checked["total_elements"] == 24 * 16
    assert found["status"] == "success"


def test_without_validate_the_comparison_is_not_shown(tmp_path: Path, double: Double) -> None:
    place = doubles.folder(tmp_path / "out", mine=doubles.GEMM)
    code, found, _ = helper(place, double(), "24", "12", "32")
    assert code == 0
    assert "validation" not in found
    assert found["padded"] == {"M": 24, "N": 16, "K": 32}
    code, found, _ = helper(place, double({"mine": "nan"}), "24", "16", "32")
    assert (code, found["status"]) == (1, "wrong")
    assert "NaN" in found["error"]


def test_convolutions_have_it_too(tmp_path: Path, double: Double) -> None:
    both = {"f": doubles.CONV, "d": {**doubles.CONV, "variant": "bwd_data"}}
    place = doubles.folder(tmp_path / "out", **both)
    line = ("--problem", "N=2,C=16,K=32,H=7,W=6,Y=3,X=3,pad=1")
    code, found, _ = helper(place, double(), *line, "--set", "variant=bwd_data", "--validate")
    assert (code, found["kernel"], found["status"]) == (0, "d", "success")
    assert (found["problem"]["C"], found["problem"]["Hi"]) == (16, 7)
    code, found, said = helper(place, double(), *line)
    assert (code, found) == (2, {})
    assert "give variant: bwd_data, forward" in said


def test_what_cannot_be_run_is_one_line(tmp_path: Path, double: Double) -> None:
    place = doubles.folder(tmp_path / "out", mine=doubles.CONV)
    line = ("--problem", "N=1,C=8,K=8,W=9,X=3")
    code, found, said = helper(place, double(), *line)
    assert (code, found["error"]) == (1, "No kernel selected")
    assert said.startswith("error: none of 1 kernels computes problems such as")
    for words, expected in (
        (("8", "8"), "error: give M, N and K, or --problem"),
        (("8", "8", "8", *line), "error: give M, N and K, or --problem"),
        ((*line, "--set", "dtype"), "error: --set 'dtype': expected FIELD=VALUE"),
        ((*line, "--set", "dtype=fp16", "--set", "dtype=bf16"), "error: --set dtype: given twice"),
        ((*line, "--set", "dtyp=fp16"), "error: unknown field 'dtyp': did you mean 'dtype'?"),
    ):
        code, found, said = helper(place, double(), *words)
        assert (code, found) == (2, {})
        assert said.startswith(expected)
    code, _, said = helper(place, double(count=0), "--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3")
    assert code == 3
    assert said.startswith("no GPU for --device reference")


def test_words_are_read_as_people_write_them(tmp_path: Path, double: Double) -> None:
    """`half` and `MI300X` were refused, which every other command takes."""
    place = doubles.folder(tmp_path / "out", mine=doubles.GEMM)
    product = ("24", "16", "32")
    words = ("--arch", "MI300X", "--set", "dtype=half", "--set", "layout=RCR")
    code, found, said = helper(place, double(), *product, *words, "--set", "variant=gemm")
    assert (code, found["kernel"], said) == (0, "mine", "")
    code, _, said = helper(place, double(), *product, "--set", "dtype=bfloat16")
    assert (code, said.endswith(" has dtype = bfloat16: there are fp16\n")) == (1, True)
    for other in ("MI250X", "gfx77"):
        code, _, said = helper(place, double(), *product, "--arch", other)
        assert (code, said.endswith("; there are kernels of gfx942\n")) == (2, True)


def test_a_run_that_is_not_finished_is_undecided(tmp_path: Path, double: Double) -> None:
    """As `ckrules run` has it; it ended with 1, as if the result were wrong."""
    place = doubles.folder(tmp_path / "out", mine=doubles.GEMM)
    device = double({"mine": "hang"})
    words = ("--timeout", "1", "--device-option", "clock=none")
    code, found, _ = helper(place, device, "24", "16", "32", *words)
    assert (code, found["status"]) == (4, "unfinished")

"""What commands say of kernels whose headers and GPUs are not the package's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from ckrules.checking.json_schemas import configurations
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from tests.explore.client import client, text
from tests.families.cutlass.test_names import NAME

Command = Callable[..., CompletedProcess[str]]


def test_a_kernel_without_pictures_is_not_an_internal_error(command: Command) -> None:
    """The GPU was looked for among the package's: StopIteration."""
    drawn = command("draw", "--arch", "H100", NAME)
    assert drawn.returncode == 2
    assert drawn.stderr == "error: there are no pictures of cutlass kernels\n"


def test_nothing_is_said_of_evidence_that_is_not_kept(command: Command) -> None:
    """They were told to be read only and none to have been run, against the plug-in's records."""
    listed = command("enumerate", "--variant", "hopper_gemm", "--limit", "1")
    assert listed.returncode == 0
    assert listed.stderr.endswith(" configurations (hopper_gemm)\n")
    assert listed.stderr.count("\n") == 1
    wrong = NAME.replace("128x256x64", "192x256x64")
    checked = command("check", "--arch", "H100", "--format", "full", wrong)
    assert "CUTT004" in checked.stdout
    assert "confirmed" not in checked.stdout
    assert "Evidence" not in command("explain", "CUTT004").stdout


def test_a_release_of_ck_is_none_of_cutlass(command: Command) -> None:
    """It was taken, and changed nothing."""
    for name in ("count", "enumerate"):
        asked = command(name, "--variant", "hopper_gemm", "--ck", "2025.11")
        assert asked.returncode == 2, name
        said = "--ck is a release of CK, and these kernels are of CUTLASS 4.2.0: leave it out"
        assert asked.stderr == f"error: {said}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("catalog", "fp16"), "error: no cutlass_library: "),
        (("build", "there/is/none", "--cutlass", "."), "error: "),
        (("draw", __file__), "error: "),
    ],
)
def test_programs_end_with_one_line(path: str, words: tuple[str, ...], said: str) -> None:
    """They ended with a traceback, also where CUTLASS is not installed."""
    program, *rest = words
    found = subprocess.run(
        [sys.executable, "-m", f"ckrules_cutlass.{program}", *rest],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert found.stderr.startswith(said)
    assert found.stderr.count("\n") == 1


def test_schemas_have_the_products_of_the_familys_own_gpus() -> None:
    """Editors offered MI300X for CUTLASS's kernels."""
    made = configurations(Books())
    (own,) = (d for d in made["$defs"].values() if d.get("title") == "cutlass kernel")
    assert own["properties"]["arch"]["examples"] == ["sm_90a", "H100", "H200", "H800", "GH200"]


def test_the_page_predicts_times_on_a_familys_own_gpu() -> None:
    """It said that nothing is known of the speeds of sm_90a, which the family's targets have."""
    books = Books()
    given = {"variant": "hopper_gemm", "arch": "sm_90a", "dtype": "fp16", "tile_m": 128}
    about = Subject(select(books, given), books, "few")
    with client(about) as page:
        shown = text(page.get("/kernels?list=best").text)
        kernel = text(page.get(f"/kernel?k={NAME}%40sm_90a").text)
    assert "the way of cutlass kernels through LDS is not modelled" in kernel
    assert "Nothing is known" not in shown
    assert "looked at" in shown

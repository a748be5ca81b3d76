"""What commands say of kernels whose headers and GPUs are not the package's."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess

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

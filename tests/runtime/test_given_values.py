"""What callers give to a dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckrules.runtime import Dispatcher
from ckrules.support.errors import CkrulesError

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_96x64x64_2x2x1_16x16x16"
PROBLEM = "N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda d: d.declare(3), "kernels = 3: expected a list"),
        (lambda d: d.declare([3]), "a kernel is a name or a mapping of fields, not 3"),
        (lambda d: d.declare(NAME[:-3]), "kernel name, column"),
        (lambda d: d.declare({"variant": "forwrd"}), "did you mean 'forward'"),
        (lambda d: d.supported(5), "problem = 5: expected a problem, or its text or mapping"),
        (lambda d: d.supported(None), "problem = None: expected a problem"),
        (lambda d: d.select(b"x"), "problem = b'x': expected a problem"),
        (lambda d: d.ensure(PROBLEM, "forward", count=0), "count = 0: expected"),
        (
            lambda d: d.ensure(PROBLEM, "forward", dtype="fp16", where="tile_mm > 2"),
            "did you mean tile_m",
        ),
        (lambda d: Dispatcher(None, arch=["gfx942"]), "arch = .* is not a string"),  # type: ignore[arg-type]  # the slip
    ],
)
def test_slips_are_said(slip: Callable[[Any], Any], said: str) -> None:
    """A single name was taken for a list of its letters, and so was a condition."""
    with Dispatcher(None, arch="gfx942") as kernels, pytest.raises(CkrulesError, match=said):
        slip(kernels)

"""What callers give to a dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.runtime import Dispatcher
from ckrules.runtime.pending import Pending
from ckrules.support.errors import CkrulesError, UnknownNameError, UsageError
from tests.runtime.doubles import CONV, GEMM, OPENER, folder
from tests.runtime.test_dispatcher import CONV_TEXT, Double, arrays, dispatcher, expected

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


def test_a_mapping_is_a_problem_from_the_first_one_on(tmp_path: Path) -> None:
    """What cannot be hashed was an error as long as no choice was remembered."""
    sizes = {"M": np.int64(64), "N": 64, "K": np.int32(64)}
    with dispatcher(folder(tmp_path, k=GEMM)) as kernels:
        assert str(kernels.select(sizes).problem) == "M=64,N=64,K=64"
        assert kernels.select("M=64,N=64,K=64").problem == kernels.select(sizes).problem


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda d: d.select("M=8,N=8,K=8", 5), "variant = 5: expected a word such as"),
        (lambda d: d.select("M=8,N=8,K=8", ["standard"]), r"variant = \['standard'\]: expected"),
        (lambda d: d.select("M=8,N=8,K=8", tile_m="128"), "has tile_m = '128': there are 128"),
        (lambda d: d.select("M=8,N=8,K=8", tile_m=np.array([1, 2])), r"has tile_m = \[1, 2\]"),
        (lambda d: d.run("M=8,N=8,K=8", alpha="1"), "alpha='1', beta=0: no kernel scales"),
        (lambda d: d.run("M=8,N=8,K=8", alpha=None), "alpha=None, beta=0: no kernel scales"),
        (lambda d: d.run("M=8,N=8,K=8", beta=np.ones(2)), r"alpha=1, beta=\[1.0, 1.0\]: no"),
    ],
)
def test_values_of_other_types_are_said(
    slip: Callable[[Any], Any], said: str, tmp_path: Path
) -> None:
    with dispatcher(folder(tmp_path, k=GEMM)) as kernels, pytest.raises(UsageError, match=said):
        slip(kernels)


def test_how_a_device_is_opened_may_be_said_in_numbers(tmp_path: Path, double: Double) -> None:
    place = folder(tmp_path, k=CONV)
    for slip, said in (
        ({"options": "order=forward"}, "options = 'order=forward': expected a mapping"),
        ({"timeout": "5"}, "timeout = '5': expected a number of seconds"),
        ({"timeout": nan}, "timeout = nan: expected a number of seconds"),
    ):
        with pytest.raises(UsageError, match=said):
            Dispatcher(place, opener=OPENER, **slip)  # type: ignore[arg-type]  # the slip
    with Dispatcher(place, device=double(), opener=OPENER, isolated=True, timeout=inf) as kernels:
        given = arrays(kernels.select(CONV_TEXT))
        assert (
            kernels.run(CONV_TEXT, *given).tolist()
            == expected(kernels.select(CONV_TEXT), given).tolist()
        )
    options: Any = {"units": 4, "order": "sideways"}
    with (
        Dispatcher(place, device="cpu", opener=OPENER, options=options) as kernels,
        pytest.raises(UnknownNameError, match="unknown order 'sideways'"),
    ):
        kernels.run(CONV_TEXT, *given)
    for seconds in (np.float32(1), inf, -1, 1e300):
        assert Pending().wait(seconds).done
    with pytest.raises(UsageError, match="timeout = '5': expected a number of seconds"):
        Pending().wait("5")  # type: ignore[arg-type]  # the slip

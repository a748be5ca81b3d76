"""What callers give to `ckrules.check` and `ckrules.rank`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ckrules
from ckrules.support.errors import UsageError

k: Any = ckrules  # whose types refuse the slips

HEAD = "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
BAD, GOOD = (f"{HEAD}_{tile}_2x2x1_32x32x16_vec4_8_8" for tile in ("96x64x64", "64x64x64"))
PROBLEM = "N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"


@pytest.mark.parametrize("arch", ["gfx942", "MI300X", "GFX942", np.str_("gfx942")])
def test_a_gpu_by_any_name(arch: str) -> None:
    """Products were known with mappings only; numpy's words were an error without words."""
    assert ckrules.check(BAD, arch=arch)[0].code == "TILE001"


def test_rows_of_numpy() -> None:
    """Such a configuration was an error without words, too."""
    point: dict[str, Any] = dict(ckrules.why(BAD, arch="gfx942").point)
    rows = {n: np.array([v])[0] for n, v in point.items()}
    assert type(rows["tile_m"]) is not int
    assert ckrules.check(rows) == ckrules.check(point) != []


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: k.check(3), "a configuration is a kernel's name or a mapping, not 3"),
        (lambda: k.rank(GOOD, PROBLEM, arch="gfx942"), "kernels are a list"),
        (lambda: k.rank([3], PROBLEM, arch="gfx942"), "not 3"),
        (lambda: k.rank([GOOD], {"N": 8}, arch="gfx942"), "expected a text such as"),
        (lambda: k.rank([GOOD], PROBLEM, arch="gfx942", limit=0), "limit = 0: expected"),
        (lambda: k.check(GOOD, arch="gfx942", profile=["legal"]), "unknown profile"),
    ],
)
def test_slips_are_said(slip: Callable[[], Any], said: str) -> None:
    with pytest.raises(ckrules.CkrulesError, match=said):
        slip()
    assert issubclass(UsageError, ValueError)

"""How loops end: the numbers that rules compare tell apart what CK's hot loops and tails do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.constraints.tile_gemm.tails import end_of_loop
from ckrules.engine.evaluate.compiled import compile_values
from ckrules.engine.expr import FALSE, TRUE, BoolExpr
from ckrules.engine.expr.variables import Int

Loop = Callable[[int], tuple[bool, str]]


def plain(tiles: int) -> tuple[bool, str]:
    """BaseGemmPipelineAgBgCrCompV3: hot loop, tail."""
    return tiles > 2, "even" if tiles == 2 else "odd"


def eight(tiles: int) -> tuple[bool, str]:
    """The same for eight waves."""
    if tiles >= 3:
        return tiles > 3, "odd" if tiles % 2 else "even"
    return False, "even" if tiles == 2 else "one"


def paired(tiles: int) -> tuple[bool, str]:
    """BaseWeightPreshufflePipelineAGmemBGmemCRegV2."""
    return tiles > 2, "odd" if tiles % 2 else "even"


@pytest.mark.parametrize(
    ("loop", "of_eight", "in_pairs"),
    [(plain, FALSE, FALSE), (eight, TRUE, FALSE), (paired, FALSE, TRUE)],
)
@given(st.integers(1, 40), st.integers(1, 40))
def test_ends_are_as_many_as_upstreams(
    loop: Loop, of_eight: BoolExpr, in_pairs: BoolExpr, one: int, other: int
) -> None:
    tiles = Int("tiles", tuple(range(1, 41)))
    ends = compile_values([end_of_loop(tiles, of_eight, in_pairs)])
    alike = ends({"tiles": one}) == ends({"tiles": other})
    assert alike == (loop(one) == loop(other))

"""Messages: the fact, the fields, the values and the intermediate products."""
# ruff: noqa: SIM300 - the order of operands is what is tested

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import OPS, ceil_div, const, ite, lookup, named, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import Bool, Enum, Int, Real
from ckrules.engine.rules.derivation import worked
from ckrules.engine.rules.messages import fault

from .strategies import EVERYTHING, points
from .test_backends import SPECIMENS, everywhere

M, W, X, V = Int("tile_m", [96]), Int("wave_m", [2]), Int("warp_tile_m", [32]), Int("vec", [0, 8])
P, Q = Bool("persistent"), Bool("two_stage")
K = Enum("pipeline", ["mem", "compv3", "compv4"])
R = Real("ratio", [0.5])
WAVES = named("waves", W * 2)
BYTES = Table("lds_capacity", ("pipeline",), {"mem": 64})
TILES = Table.relation("warp tiles", ("pipeline", "warp_tile_m"), [("mem", 16)])
CHOICE = named("lanes", ite(K == "mem", W * 3, M // 7))

AT: dict[str, Any] = {
    "tile_m": 96, "wave_m": 2, "warp_tile_m": 32, "vec": 0, "persistent": False, "two_stage": True,
    "pipeline": "compv3", "ratio": 0.5,
}  # fmt: skip

#: Every form of a fault, and its message at the point above.
GOLDEN: list[tuple[Any, str]] = [
    # comparisons
    (M == 64, "tile_m = 96, expected 64"),
    (M == W, "tile_m = 96 is not equal to wave_m = 2"),
    (M == W * X, "tile_m = 96 is not equal to wave_m * warp_tile_m = 2 * 32 = 64"),
    (W * X == M, "wave_m * warp_tile_m = 2 * 32 = 64 is not equal to tile_m = 96"),
    (M != 96, "tile_m = 96, expected another"),
    (K == "mem", "pipeline = compv3, expected mem"),
    (K != "compv3", "pipeline = compv3, expected another"),
    (M < 64, "tile_m = 96 is not less than 64"),
    (M <= W * X, "tile_m = 96 is more than wave_m * warp_tile_m = 2 * 32 = 64"),
    (M > 96, "tile_m = 96 is not more than 96"),
    (M >= 100, "tile_m = 96 is less than 100"),
    (M + W - 1 <= 90, "tile_m + wave_m - 1 = 96 + 2 - 1 = 97 is more than 90"),
    (R * 2 > 1, "ratio * 2 = 0.5 * 2 = 1.0 is not more than 1"),
    # multiples
    (M % (W * X) == 0, "tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64"),
    (M % X != 0, "tile_m = 96 is a multiple of warp_tile_m = 32"),
    (M % 64 == 0, "tile_m = 96 is not a multiple of 64"),
    (M % 64 == 16, "tile_m % 64 = 96 % 64 = 32, expected 16"),
    # named quantities, lists, powers, tables
    (WAVES <= 3, "wave_m * 2 = 2 * 2 = 4 is more than 3"),
    (WAVES * 2 <= 3, "wave_m * 2 * 2 = 2 * 2 * 2 = 8 is more than 3"),
    (CHOICE <= 3, "tile_m // 7 = 96 // 7 = 13 is more than 3"),
    (named("fits", M <= 64), "tile_m = 96 is more than 64"),
    (M.isin(64, 128), "tile_m = 96, expected 64 or 128"),
    (K.isin("mem", "compv4"), "pipeline = compv3, expected mem or compv4"),
    (M.isin(64), "tile_m = 96, expected 64"),
    (M.isin(), "tile_m = 96, expected none"),
    (e.is_pow2(M), "tile_m = 96 is not a power of two"),
    (e.is_pow2(M // W), "tile_m // wave_m = 96 // 2 = 48 is not a power of two"),
    (rel(TILES, K, X), "warp tiles for pipeline = compv3: none at all, not warp_tile_m = 32"),
    (rel(TILES, "mem", X // 4), ("warp tiles for pipeline = mem: only 16, not "
                                "warp_tile_m = warp_tile_m // 4 = 32 // 4 = 8")),
    # undefined terms name their cause
    (M // V == 2, "vec = 0 is used as a divisor"),
    (M % V != 0, "vec = 0 is used as a divisor"),
    (ceil_div(M, V * W) >= 0, "vec * wave_m = 0 * 2 = 0 is used as a divisor"),
    (M / V == 0.5, "vec = 0 is used as a divisor"),
    (lookup(BYTES, K) >= M, "lds capacity: only mem, not pipeline = compv3"),
    (e.is_pow2(W * (M // V)), "vec = 0 is used as a divisor"),
    (rel(TILES, K, M // V), "vec = 0 is used as a divisor"),
    ((M // V).isin(1, 2), "vec = 0 is used as a divisor"),
    (ite(P, M // V, lookup(BYTES, K)) == 1, "lds capacity: only mem, not pipeline = compv3"),
    (e.undef(M) == 1, "a term is undefined"),
    # Booleans
    (P, "persistent = false, expected true"),
    (~Q, "two_stage = true, expected false"),
    (~~P, "persistent = false, expected true"),
    (P == Q, "persistent = false but two_stage = true"),
    (P != (M == 1), "persistent = false and tile_m = 96"),
    (e.FALSE, "`false` is false"),
    # joins
    (P & (M == 64), "persistent = false, expected true; tile_m = 96, expected 64"),
    (Q & (M == 64), "tile_m = 96, expected 64"),
    (P | (M == 64), "persistent = false, expected true, and tile_m = 96, expected 64"),
    (e.implies(Q, M == 64), "tile_m = 96, expected 64 (where two_stage = true)"),
    (e.implies(K == "compv3", P), "persistent = false, expected true (where pipeline = compv3)"),
    (e.implies(Q & (M > 9), P), ("persistent = false, expected true (where two_stage = true "
                                "and tile_m = 96)")),
    (e.implies(P | (M % 3 == 0), P), ("persistent = false, expected true "
                                     "(where tile_m = 96 is a multiple of 3)")),
    (ite(Q, M == 64, P), "tile_m = 96, expected 64 (where two_stage = true)"),
    (ite(P, Q, M == 64), "tile_m = 96, expected 64 (where persistent = false)"),
    # negations say what is the case
    (~(M == 96), "tile_m = 96, expected another"),
    (~(M != 64), "tile_m = 96, expected 64"),
    (~(M >= X), "tile_m = 96 is at least warp_tile_m = 32"),
    (~(M <= 99), "tile_m = 96 is at most 99"),
    (~(M < 99), "tile_m = 96 is less than 99"),
    (~(M % 32 == 0), "tile_m = 96 is a multiple of 32"),
    (~(M % 64 != 0), "tile_m = 96 is not a multiple of 64"),
    (~M.isin(96, 64), "tile_m = 96, expected another"),
    (~e.is_pow2(X), "warp_tile_m = 32 is a power of two"),
    (~rel(TILES, "mem", const(16)), "warp tiles: pipeline = mem, warp_tile_m = 16"),
    (~(Q & (M == 96)), "two_stage = true and tile_m = 96"),
    (~(P | Q), "two_stage = true"),
    (~e.implies(P, Q), "persistent = false, expected true"),
    (~e.implies(P | Q, M == 96), "tile_m = 96"),
    (~(P == (M == 64)), "persistent = false and tile_m = 96"),
    (~(Q == (M == 96)), "two_stage = true and tile_m = 96"),
    (~ite(Q, M == 96, P), "tile_m = 96 (where two_stage = true)"),
    (~named("fits", M <= 99), "tile_m = 96 is at most 99"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "message"), GOLDEN, ids=lambda v: str(v)[:60])
def test_golden(condition: Any, message: str) -> None:
    assert fault(condition, At(AT)) == message


def test_golden_covers_every_kind() -> None:
    assert {n.op for condition, _ in GOLDEN for n in walk(condition)} >= set(OPS) - {"min", "max"}


def test_true_conditions_have_no_fault() -> None:
    assert fault(M == 96, At(AT)) == ""


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (const(3), "3"),
        (M, "tile_m = 96"),
        (M // 8, "tile_m // 8 = 96 // 8 = 12"),
        (e.minimum(M, X), "warp_tile_m = 32"),
        (e.maximum(WAVES, 1), "wave_m * 2 = 2 * 2 = 4"),
        (WAVES, "wave_m * 2 = 2 * 2 = 4"),
        (named("width", M), "tile_m = 96"),
        (named("capacity", lookup(BYTES, "mem")), "capacity = 64"),
        (CHOICE, "tile_m // 7 = 96 // 7 = 13"),
        (ite(P, M, W), "wave_m = 2"),
        (M // V, "tile_m // vec"),
        (lookup(BYTES, K), "lds_capacity[pipeline]"),
    ],
)
def test_operands(node: Any, text: str) -> None:
    assert worked(node, At(AT)) == text


def test_long_operands_leave_out_the_middle() -> None:
    long: Any = M
    for i in range(40):
        long = long + W * i
    text = worked(named("sum", long), At(AT))
    assert text == f"sum = {96 + 2 * sum(range(40))}"
    assert len(worked(long, At(AT))) < 200


@settings(max_examples=600)
@given(EVERYTHING.conditions(3), points())
def test_false_conditions_have_a_message(condition: Any, point: dict[str, Any]) -> None:
    at = At(point)
    message = fault(condition, at)
    assert bool(message) is not at.holds(condition)
    assert "\n" not in message
    assert "object at 0x" not in message


@pytest.mark.parametrize("op", OPS)
def test_every_kind_has_a_message(op: str) -> None:
    """A fault about a single comparison names every field that its verdict depends on."""
    for condition in SPECIMENS[op]:
        for point in everywhere():
            at = At(point)
            message = fault(condition, at)
            assert bool(message) is not at.holds(condition)
            if message and "is used as a divisor" not in message and "no entry" not in message:
                shown = {n for n in condition.support if n in message}
                assert shown or not condition.support or "undefined" in message

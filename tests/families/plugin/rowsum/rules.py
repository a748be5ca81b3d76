"""Six rules, one of each kind but the profile's, and one more."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, implies
from ckrules.engine.rules import rule
from rowsum.family import RowSum

_SOURCE = "rowsum/templates/kernel.hpp.j2: static_assert"


@rule(
    "ROW001", "rows-do-not-share-threads", kind="compile", source=_SOURCE,
    accepts=[{}], rejects=[{"threads": 256, "rows": 3}],
)  # fmt: skip
def rows_share_threads(c: RowSum) -> BoolExpr:
    """Every row of a block has equally many threads.

    Why: a thread belongs to one row.

    Fix: take a number of rows that divides the threads.
    """
    return c.threads % c.rows == 0


@rule(
    "ROW002", "partial-wave", kind="compile", source=_SOURCE,
    accepts=[{}, {"arch": "gfx1201", "threads": 96, "rows": 1}],
    rejects=[{"threads": 96, "rows": 1}],
)  # fmt: skip
def waves_are_whole(c: RowSum) -> BoolExpr:
    """A block is made of whole waves.

    Why: the kernel adds across the lanes of a wave.

    Fix: take a multiple of the wave's size.
    """
    return c.threads % c.wave_size == 0


@rule(
    "ROW003", "load-too-wide", kind="hardware", source=_SOURCE,
    accepts=[{"vector": 4}], rejects=[{"vector": 8}],
)  # fmt: skip
def loads_are_narrow(c: RowSum) -> BoolExpr:
    """A load moves at most 16 bytes a lane.

    Why: there is no wider instruction.

    Fix: take fewer elements.
    """
    return c.vector * c.element_bytes <= 16


@rule(
    "ROW004", "row-across-waves", kind="wrong-result", source=_SOURCE,
    applies=lambda c: c.mode == "direct",
    accepts=[{"rows": 4}], rejects=[{"rows": 2}],
)  # fmt: skip
def row_in_wave(c: RowSum) -> BoolExpr:
    """Without LDS a row stays inside a wave.

    Why: lanes of other waves cannot be read.

    Fix: set mode to lds.
    """
    return c.row_threads <= c.wave_size


@rule(
    "ROW005", "too-many-rows", kind="launch", source=_SOURCE,
    accepts=[{}], rejects=[{"rows": 8, "unroll": 16}],
)  # fmt: skip
def rows_are_few(c: RowSum) -> BoolExpr:
    """A block has at most 32 rows under way.

    Why: it keeps a sum for each in scalar registers.

    Fix: unroll less.
    """
    return c.rows * c.unroll <= 32


@rule(
    "ROW006", "stages-without-lds", kind="compile", source=_SOURCE, until="2026.06",
    accepts=[{"mode": "lds", "staged": True}], rejects=[{"staged": True}],
)  # fmt: skip
def stages_need_lds(c: RowSum) -> BoolExpr:
    """Two stages go through LDS.

    Why: the second stage reads what the first has put there.

    Fix: set mode to lds.
    """
    return implies(c.staged, c.mode == "lds")

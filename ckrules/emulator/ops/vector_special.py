"""Vector instructions that move data between lanes, and between lanes and scalar registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import (
    U32,
    Values,
    scalar_get,
    scalar_put,
    store,
    vector_get,
    vector_put,
)
from ckrules.emulator.wave import Cohort


def first_lane(c: Cohort) -> Values:
    """The first active lane of each block, or lane 0 where none is."""
    found: Values = c.exec.argmax(axis=1)
    return found


def _read_first(d: Decoded) -> Run:
    target, source = d.operands.items
    get, put = vector_get(source, U32), scalar_put(target, U32)

    def run(c: Cohort) -> None:
        if c.native is not None:
            put(c, c.native.trace.of_lane(get(c)))
            return
        value = np.broadcast_to(get(c), c.exec.shape)
        put(c, value[np.arange(len(value)), first_lane(c)])

    return run


def _read_lane(d: Decoded) -> Run:
    target, source, lane = d.operands.items
    get, number, put = vector_get(source, U32), scalar_get(lane, U32), scalar_put(target, U32)

    def run(c: Cohort) -> None:
        at = number(c) & np.uint32(c.lanes - 1)
        if c.native is not None:
            put(c, c.native.trace.of_lane(get(c), at))
            return
        value = np.broadcast_to(get(c), c.exec.shape)
        put(c, value[np.arange(len(value)), at])

    return run


def _write_lane(d: Decoded) -> Run:
    target, source, lane = d.operands.items
    get, number = scalar_get(source, U32), scalar_get(lane, U32)

    def run(c: Cohort) -> None:
        at = number(c) & np.uint32(c.lanes - 1)
        if c.native is not None:
            c.native.trace.write_lane("v", target.index, at, get(c))
            return
        c.v[target.index][np.arange(c.exec.shape[0]), at] = get(c)

    return run


def _mask_count(high: bool) -> Callable[[Decoded], Run]:
    """V_MBCNT: how many bits of a mask belong to lower lanes."""

    def make(d: Decoded) -> Run:
        target, mask, base = d.operands.items
        get, add, put = vector_get(mask, U32), vector_get(base, U32), vector_put(target, U32)
        lane = np.arange(d.target.wave_size)
        start = 32 if high else 0
        count = np.clip(lane - start, 0, 32)
        below = ((1 << count.astype(np.uint64)) - 1).astype(np.uint32)

        def run(c: Cohort) -> None:
            put(c, np.bitwise_count(get(c) & below).astype(np.uint32) + add(c))

        return run

    return make


def _swap(d: Decoded) -> Run:
    first, second = d.operands.items
    a, b = vector_get(first, U32), vector_get(second, U32)

    def run(c: Cohort) -> None:
        x, y = a(c).copy(), b(c).copy()
        store(c, first.file, first.index, y)
        store(c, second.file, second.index, x)

    return run


def _permute_halves(unit: int) -> Callable[[Decoded], Run]:
    """V_PERMLANE16/32_SWAP of gfx950: odd rows of the first with even rows of the second."""

    def make(d: Decoded) -> Run:
        first, second = d.operands.items[:2]

        def run(c: Cohort) -> None:
            x, y = c.v[first.index], c.v[second.index]
            lane = np.arange(c.lanes)
            odd = lane // unit % 2 == 1
            left, right = y[:, lane ^ unit], x[:, lane ^ unit]
            left, right = np.where(odd, left, x), np.where(odd, y, right)
            store(c, "v", first.index, left)
            store(c, "v", second.index, right)

        return run

    return make


OPCODES: dict[str, Callable[[Decoded], Run]] = {
    "v_readfirstlane_b32": _read_first,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_mbcnt_lo_u32_b32": _mask_count(False),
    "v_mbcnt_hi_u32_b32": _mask_count(True),
    "v_swap_b32": _swap,
    "v_permlane16_swap_b32": _permute_halves(16),
    "v_permlane32_swap_b32": _permute_halves(32),
}

"""Vector instructions whose results are not functions of a lane's own operands.

Comparisons and carries write a bit a lane; others move data between lanes and scalar registers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import (
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
    U16,
    U32,
    U64,
    Get,
    OperandKind,
    Put,
    Values,
    half_put,
    scalar_get,
    scalar_put,
    store,
    vector_get,
    vector_put,
)  # fmt: skip
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.ops.lanes import dpp, part_put
from ckrules.emulator.ops.opcode import RELATIONS
from ckrules.emulator.ops.vector import ROWS
from ckrules.emulator.ops.vector_decode import masked, parts, source_get, whole
from ckrules.emulator.wave import Cohort, Mask

_KINDS = {
    k.name: k for k in (U16, I16, F16, U32, I32, F32, U64, I64, F64)
}  # fmt: skip


def _classes(d: Decoded) -> Run:
    """V_CMP_CLASS: whether a real is of one of the classes in a mask of ten bits."""
    kind = _KINDS[d.name.rpartition("_")[2]]
    if d.encoding not in ("e32", "e64", ""):
        raise UnknownInstructionError(f"{d.line}: comparison without semantics here")
    target, first, second = d.operands.items
    get, wanted = vector_get(first, kind), vector_get(second, U32)
    quiet = {16: 1 << 9, 32: 1 << 22, 64: 1 << 51}[kind.bits]
    tiny = np.finfo(kind.dtype).smallest_normal

    def run(c: Cohort) -> None:
        a, mask = get(c), wanted(c)
        signs, size = np.signbit(a), np.abs(a)
        still = (a.view(f"u{kind.bits // 8}") & quiet) != 0
        # From the signs outwards: infinite, normal, denormal, zero.
        step = np.where(np.isinf(a), 0, np.where(size >= tiny, 1, np.where(size > 0, 2, 3)))
        number = np.where(np.isnan(a), still, np.where(signs, 2 + step, 9 - step))
        bits = (mask >> number.astype(np.uint32)) & np.uint32(1) != 0
        c.set_mask(target.index, np.broadcast_to(bits, c.exec.shape) & c.exec)

    return run


def mask_get(op: Operand) -> Callable[[Cohort], Mask]:
    """Reads one bit a lane."""
    if op.is_constant:
        value = np.array([[bool(op.value)]])
        return lambda c: value
    index = op.index
    return lambda c: c.mask(index)


def _sources(
    d: Decoded, kind: OperandKind, first: Operand, second: Operand
) -> tuple[Get, Get, Where]:
    """How two operands are read, and by DPP which lanes are written."""
    if d.encoding in ("dpp", "e64_dpp"):
        get, where = dpp(d, first, kind)
        return get, vector_get(second, kind), where
    return source_get(d, 0, first, kind), source_get(d, 1, second, kind), lambda c: c.exec


def _writer(d: Decoded, target: Operand, kind: OperandKind) -> Put:
    if d.encoding == "sdwa":
        values = d.operands.values
        return part_put(target, kind, values.get("dst_sel", "DWORD"), values.get("dst_unused", ""))
    chosen = d.operands.bits("op_sel", ())
    if kind.bits == 16 and target.half is None:
        return half_put(target, int(len(chosen) > 2 and bool(chosen[-1])))
    return vector_put(target, kind)


Where = Callable[[Cohort], Mask]


def _comparison(d: Decoded) -> Run:
    word, relation, kind_name = d.name.removeprefix("v_").split("_")
    to_exec = word == "cmpx"
    kind, compare = _KINDS[kind_name], RELATIONS[relation]
    items = d.operands.items
    if to_exec and len(items) == 2:
        target, sources = Operand("s", int(Special.EXEC), 2), tuple(items)
    else:
        target, sources = items[0], items[1:]
    if d.encoding in ("dpp", "e64_dpp"):
        raise UnknownInstructionError(f"{d.line}: lanes exchanged in a comparison")
    a, b = (source_get(d, i, op, kind) for i, op in enumerate(sources))
    index = target.index

    def run(c: Cohort) -> None:
        bits = np.broadcast_to(compare(a(c), b(c)), c.exec.shape) & c.exec
        c.set_mask(index, bits)
        if to_exec:
            if index != Special.EXEC and d.target.generation < 10:
                c.set_mask(Special.EXEC, bits)
            c.refresh()

    return run


def _choice(d: Decoded) -> tuple[Get, Put, Where]:
    """V_CNDMASK: the second operand where the bit is set."""
    target, first, second, *rest = d.operands.items
    chosen = mask_get(rest[0] if rest else Operand("s", int(Special.VCC), 2))
    signs = _signs(first, second)
    real, whole_ = (F16, U16) if d.name.endswith("b16") else (F32, U32)
    kind = real if signs else whole_
    a, b, where = _sources(d, kind, first, second)
    put = _writer(d, target, kind)
    return (lambda c: np.where(chosen(c), b(c), a(c))), put, where


def _signs(*operands: Operand) -> bool:
    return any(op.negative or op.absolute for op in operands)


def deferred(d: Decoded) -> tuple[Get, Put]:
    """What computes and what writes a lane-by-lane result, apart from each other."""
    if d.name == "v_cndmask_b32":
        return _choice(d)[:2]
    row = ROWS.get(d.name)
    if row is None:
        raise UnknownInstructionError(f"{d.line}: no semantics here")
    compute, put, where = parts(d, row)
    if where is not None:
        raise UnknownInstructionError(f"{d.line}: lanes exchanged in a pair of instructions")
    return compute, put


def _from_choice(d: Decoded) -> Run:
    compute, put, where = _choice(d)
    return masked(compute, put, where) if d.encoding.endswith("dpp") else whole(compute, put)


def _carrying(d: Decoded, sign: int, swap: bool, takes: bool) -> Run:
    """Sums and differences with a carry out, and one in where the instruction takes it."""
    items = list(d.operands.items)
    out = items.pop(1)
    target, first, second, *rest = items
    carry = mask_get(rest[0]) if takes else None
    if swap:
        first, second = second, first
    if d.encoding.endswith("dpp"):
        raise UnknownInstructionError(f"{d.line}: lanes exchanged in a sum with a carry")
    a, b, _ = _sources(d, U32, first, second)
    put = _writer(d, target, U32)

    def run(c: Cohort) -> None:
        x, y = a(c).astype(np.int64), b(c).astype(np.int64)
        total = x + sign * y
        if carry is not None:
            total = total + sign * carry(c)
        beyond = (total < 0) | (total > 0xFFFFFFFF)
        put(c, np.broadcast_to((total & 0xFFFFFFFF).astype(np.uint32), c.exec.shape))
        c.set_mask(out.index, np.broadcast_to(beyond, c.exec.shape) & c.exec)

    return run


def _mad_wide(kind: OperandKind) -> Callable[[Decoded], Run]:
    wide = I64 if kind is I32 else U64

    def make(d: Decoded) -> Run:
        target, out, first, second, third = d.operands.items
        a, b = vector_get(first, kind), vector_get(second, kind)
        c64, put = vector_get(third, wide), vector_put(target, wide)

        def run(c: Cohort) -> None:
            product = a(c).astype(wide.dtype) * b(c).astype(wide.dtype)
            addend = c64(c)
            total = product + addend
            over = np.broadcast_to(total.view(np.uint64) < addend.view(np.uint64), c.exec.shape)
            put(c, total)
            c.set_mask(out.index, over & c.exec)

        return run

    return make


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


def _scalar_reciprocal(d: Decoded) -> Run:
    target, source = d.operands.items
    get, put = scalar_get(source, F32), scalar_put(target, F32)
    return lambda c: put(c, np.float32(1) / get(c))


def _sums(sign: int, swap: bool, takes: bool) -> Callable[[Decoded], Run]:
    return lambda d: _carrying(d, sign, swap, takes)


OPCODES: dict[str, Callable[[Decoded], Run]] = {
    **{
        f"v_{word}_{relation}_{kind}": _comparison
        for word in ("cmp", "cmpx")
        for relation in RELATIONS
        for kind in _KINDS
    },
    **{f"v_cmp_class_{kind}": _classes for kind in ("f16", "f32", "f64")},
    "v_cndmask_b32": _from_choice,
    "v_cndmask_b16": _from_choice,
    "v_add_co_u32": _sums(1, False, False),
    "v_sub_co_u32": _sums(-1, False, False),
    "v_subrev_co_u32": _sums(-1, True, False),
    "v_addc_co_u32": _sums(1, False, True),
    "v_subb_co_u32": _sums(-1, False, True),
    "v_subbrev_co_u32": _sums(-1, True, True),
    "v_mad_u64_u32": _mad_wide(U32),
    "v_mad_i64_i32": _mad_wide(I32),
    "v_readfirstlane_b32": _read_first,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_mbcnt_lo_u32_b32": _mask_count(False),
    "v_mbcnt_hi_u32_b32": _mask_count(True),
    "v_swap_b32": _swap,
    "v_permlane16_swap_b32": _permute_halves(16),
    "v_permlane32_swap_b32": _permute_halves(32),
    "v_s_rcp_f32": _scalar_reciprocal,
}


# Two instructions at once (VOPD of RDNA3 and later)


def decode_pair(first: Decoded, second: Decoded) -> Run:
    """Two vector instructions that read before either writes."""
    halves = [deferred(each) for each in (first, second)]
    (compute_x, put_x), (compute_y, put_y) = halves

    def run(c: Cohort) -> None:
        x, y = compute_x(c), compute_y(c).copy()  # a move's value is the register itself
        put_x(c, x)
        put_y(c, y)

    return run

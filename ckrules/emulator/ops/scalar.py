"""How scalar ALU instructions work on a cohort: rows of `scalar_opcode`, comparisons, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, I32, U32, U64, OperandKind, Values, scalar_get, scalar_put
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.ops.opcode import RELATIONS
from ckrules.emulator.ops.scalar_opcode import ALIASES, ROWS, overflows
from ckrules.emulator.wave import Cohort

_KINDS = {"u32": U32, "i32": I32, "u64": U64, "f32": F32}


def _row(d: Decoded) -> Run:
    row = ROWS[ALIASES.get(d.name, d.name)]
    target, *sources = d.operands.items
    if d.name == "s_fmac_f32":
        sources.append(target)
    if len(sources) != len(row.sources):
        raise UnknownInstructionError(f"{d.line}: {len(row.sources)} operands expected")
    getters = [scalar_get(op, kind) for op, kind in zip(sources, row.sources, strict=True)]
    put, compute, scc = scalar_put(target, row.result), row.compute, row.scc

    def run(c: Cohort) -> None:
        values = [get(c) for get in getters]
        result = compute(*values)
        if scc == "nonzero":
            set_scc(c, result != 0)
        elif scc is not None:
            assert not isinstance(scc, str)
            set_scc(c, scc(*values))
        put(c, result)

    return run


def set_scc(c: Cohort, value: Values) -> None:
    """Stores the condition of each block."""
    c.scc[:] = value


def _comparison(d: Decoded) -> tuple[OperandKind, Callable[[Any, Any], Any]]:
    _, _, relation, kind = d.name.split("_")
    return _KINDS[kind], RELATIONS[relation]


def _compare(d: Decoded) -> Run:
    kind, compare = _comparison(d)
    a, b = (scalar_get(op, kind) for op in d.operands.items)
    return lambda c: set_scc(c, compare(a(c), b(c)))


def _compare_constant(d: Decoded) -> Run:
    """S_CMPK: the second operand is 16 bits, with its sign or without."""
    kind, compare = _comparison(d)
    get = scalar_get(d.operands.items[0], kind)
    number = _short(d.operands.items[1], signed=kind is I32)
    value = np.array([number], kind.dtype)
    return lambda c: set_scc(c, compare(get(c), value))


def _short(op: Operand, *, signed: bool) -> int:
    number = int(op.value) & 0xFFFF
    return number - 0x10000 if signed and number & 0x8000 else number


def _constant_operation(name: str) -> Callable[[Decoded], Run]:
    """S_MOVK, S_ADDK, S_MULK: 16 bits with their sign."""

    def make(d: Decoded) -> Run:
        target = d.operands.items[0]
        value = np.array([_short(d.operands.items[1], signed=True)], np.int32)
        get, put = scalar_get(target, I32), scalar_put(target, I32)
        if name == "mov":
            return lambda c: put(c, value)
        if name == "cmov":
            return lambda c: put(c, np.where(c.scc, value, get(c)))
        if name == "mul":
            return lambda c: put(c, get(c) * value)

        def add(c: Cohort) -> None:
            old = get(c)
            set_scc(c, overflows(old, value))
            put(c, old + value)

        return add

    return make


def _with_carry(sign: int) -> Callable[[Decoded], Run]:
    def make(d: Decoded) -> Run:
        target, first, second = d.operands.items
        a, b, put = scalar_get(first, U32), scalar_get(second, U32), scalar_put(target, U32)

        def run(c: Cohort) -> None:
            total = a(c).astype(np.int64) + sign * (b(c).astype(np.int64) + c.scc)
            set_scc(c, (total < 0) | (total > 0xFFFFFFFF))
            put(c, (total & 0xFFFFFFFF).astype(np.uint32))

        return run

    return make


def _select(d: Decoded) -> Run:
    kind = U64 if d.name.endswith("64") else U32
    target, first, second = d.operands.items
    a, b, put = scalar_get(first, kind), scalar_get(second, kind), scalar_put(target, kind)
    return lambda c: put(c, np.where(c.scc, a(c), b(c)))


def _conditional_move(d: Decoded) -> Run:
    kind = U64 if d.name.endswith("64") else U32
    target, source = d.operands.items
    old, new, put = scalar_get(target, kind), scalar_get(source, kind), scalar_put(target, kind)
    return lambda c: put(c, np.where(c.scc, new(c), old(c)))


def _save_exec(d: Decoded) -> Run:
    """S_AND_SAVEEXEC and its like: the old mask is kept, the new one is combined."""
    word = d.name.removeprefix("s_").partition("_saveexec")[0]
    combine = _SAVES[word]
    kind = U64 if d.name.endswith("64") else U32
    target, source = d.operands.items
    exec_ = Operand("s", int(Special.EXEC), kind.bits // 32)
    get, old = scalar_get(source, kind), scalar_get(exec_, kind)
    put, put_exec = scalar_put(target, kind), scalar_put(exec_, kind)

    def run(c: Cohort) -> None:
        before = old(c).copy()
        result = combine(get(c), before)
        put(c, before)
        put_exec(c, result)
        set_scc(c, result != 0)

    return run


_SAVES: dict[str, Callable[[Values, Values], Values]] = {
    "and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e,
    "andn2": lambda s, e: s & ~e, "orn2": lambda s, e: s | ~e,
    "andn1": lambda s, e: ~s & e, "orn1": lambda s, e: ~s | e,
    "and_not1": lambda s, e: s & ~e, "or_not1": lambda s, e: s | ~e,
    "and_not0": lambda s, e: ~s & e, "or_not0": lambda s, e: ~s | e,
    "nand": lambda s, e: ~(s & e), "nor": lambda s, e: ~(s | e), "xnor": lambda s, e: ~(s ^ e),
}  # fmt: skip


def _bit_test(wanted: bool) -> Callable[[Decoded], Run]:
    def make(d: Decoded) -> Run:
        kind = U64 if d.name.endswith("64") else U32
        first, second = d.operands.items
        a, b = scalar_get(first, kind), scalar_get(second, U32)

        def run(c: Cohort) -> None:
            bit = (a(c) >> (b(c) & np.uint32(kind.bits - 1)).astype(kind.dtype)) & kind.dtype(1)
            set_scc(c, (bit != 0) == wanted)

        return run

    return make


def _set_bit(value: bool) -> Callable[[Decoded], Run]:
    def make(d: Decoded) -> Run:
        kind = U64 if d.name.endswith("64") else U32
        target, source = d.operands.items
        old, get, put = scalar_get(target, kind), scalar_get(source, U32), scalar_put(target, kind)

        def run(c: Cohort) -> None:
            bit = kind.dtype(1) << (get(c) & np.uint32(kind.bits - 1)).astype(kind.dtype)
            put(c, old(c) | bit if value else old(c) & ~bit)

        return run

    return make


_COMPARISONS = [f"{word}_{kind}" for word in RELATIONS for kind in _KINDS if word != "ne"]
OPCODES: dict[str, Callable[[Decoded], Run]] = {
    **dict.fromkeys([*ROWS, *ALIASES], _row),
    **{f"s_cmp_{each}": _compare for each in _COMPARISONS},
    **{f"s_cmpk_{each}": _compare_constant for each in _COMPARISONS if "32" in each},
    "s_movk_i32": _constant_operation("mov"),
    "s_cmovk_i32": _constant_operation("cmov"),
    "s_addk_i32": _constant_operation("add"),
    "s_addk_co_i32": _constant_operation("add"),
    "s_mulk_i32": _constant_operation("mul"),
    "s_addc_u32": _with_carry(1),
    "s_subb_u32": _with_carry(-1),
    "s_add_co_ci_u32": _with_carry(1),
    "s_sub_co_ci_u32": _with_carry(-1),
    "s_cselect_b32": _select,
    "s_cselect_b64": _select,
    "s_cmov_b32": _conditional_move,
    "s_cmov_b64": _conditional_move,
    "s_bitcmp0_b32": _bit_test(False),
    "s_bitcmp1_b32": _bit_test(True),
    "s_bitcmp0_b64": _bit_test(False),
    "s_bitcmp1_b64": _bit_test(True),
    "s_bitset0_b32": _set_bit(False),
    "s_bitset1_b32": _set_bit(True),
    "s_bitset0_b64": _set_bit(False),
    "s_bitset1_b64": _set_bit(True),
    **{f"s_{word}_saveexec_b{bits}": _save_exec for word in _SAVES for bits in (32, 64)},
}

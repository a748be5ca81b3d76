"""How scalar ALU instructions work on a cohort: rows of `scalar_opcode`, and those of a state.

What reads its destination or the condition (SCC) besides the operands of its text has a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded, Run
from ckrules.emulator.kinds import F32, I32, U32, U64, OperandKind, Values, scalar_get, scalar_put
from ckrules.emulator.operands import Operand, Special
from ckrules.emulator.ops.opcode import RELATIONS
from ckrules.emulator.ops.scalar_opcode import (
    LOGIC,
    ROWS,
    SHORT,
    SHORT_UNSIGNED,
    Compute,
    ScalarOpcodeRow,
    overflows,
)
from ckrules.emulator.ops.vector_masks import carried
from ckrules.emulator.ops.vector_real import REALS
from ckrules.emulator.wave import Cohort

_SCC, _OLD = "scc", "old"
"""What an instruction reads that its text does not name: the condition, its destination."""
_KINDS = (U32, I32, U64, F32)


def _chosen(a: Values, otherwise: Values, scc: Values) -> Values:
    return np.where(scc != 0, a, otherwise)


def _bit(of: OperandKind, number: Values) -> Values:
    """A number whose only bit is the one of a number."""
    found: Values = of.dtype(1) << (number & np.uint32(of.bits - 1)).astype(of.dtype)
    return found


def _with_carry(sign: int) -> ScalarOpcodeRow:
    total, three = carried(sign), (U32, U32, U32)
    return ScalarOpcodeRow(
        U32, three, lambda *given: total(*given)[0], lambda *given: total(*given)[1], (_SCC,)
    )


def _tests() -> Iterator[tuple[str, ScalarOpcodeRow]]:
    """What computes a condition alone."""
    for word, compare in RELATIONS.items():
        for kind in _KINDS if word != "ne" else ():
            yield f"s_cmp_{word}_{kind.name}", ScalarOpcodeRow(None, (kind, kind), compare)
            if kind in (U32, I32):
                short = SHORT if kind is I32 else SHORT_UNSIGNED
                yield f"s_cmpk_{word}_{kind.name}", ScalarOpcodeRow(None, (kind, short), compare)


def _of_width(kind: OperandKind) -> dict[str, ScalarOpcodeRow]:
    two, bits = (kind, kind), kind.bits
    single = (U32, kind)
    return {
        f"s_cselect_b{bits}": ScalarOpcodeRow(kind, (*two, U32), _chosen, None, (_SCC,)),
        f"s_cmov_b{bits}": ScalarOpcodeRow(kind, (*two, U32), _chosen, None, (_OLD, _SCC)),
        f"s_bitcmp0_b{bits}": ScalarOpcodeRow(
            None, (kind, U32), lambda a, n: a & _bit(kind, n) == 0
        ),
        f"s_bitcmp1_b{bits}": ScalarOpcodeRow(
            None, (kind, U32), lambda a, n: a & _bit(kind, n) != 0
        ),
        f"s_bitset0_b{bits}": ScalarOpcodeRow(
            kind, single, lambda n, old: old & ~_bit(kind, n), None, (_OLD,)
        ),
        f"s_bitset1_b{bits}": ScalarOpcodeRow(
            kind, single, lambda n, old: old | _bit(kind, n), None, (_OLD,)
        ),
    }


_ROWS: dict[str, ScalarOpcodeRow] = {
    **ROWS,
    **dict(_tests()),
    **_of_width(U32),
    **_of_width(U64),
    "s_movk_i32": ScalarOpcodeRow(I32, (SHORT,), lambda a: a),
    "s_cmovk_i32": ScalarOpcodeRow(I32, (SHORT, I32, U32), _chosen, None, (_OLD, _SCC)),
    "s_addk_i32": ScalarOpcodeRow(I32, (SHORT, I32), lambda a, old: old + a, overflows, (_OLD,)),
    "s_mulk_i32": ScalarOpcodeRow(I32, (SHORT, I32), lambda a, old: old * a, None, (_OLD,)),
    "s_addc_u32": _with_carry(1),
    "s_subb_u32": _with_carry(-1),
    **{
        f"v_s_{name}_f32": ScalarOpcodeRow(F32, (F32,), REALS[f"v_{name}_f32"].compute)
        for name in ("exp", "log", "rcp", "rsq", "sqrt")
    },
}


def _decode(d: Decoded) -> Run:
    row = _ROWS[d.name]
    target, sources = d.operands.items[0], list(d.operands.items[row.result is not None :])
    sources += [target if word == _OLD else Operand("scc") for word in row.reads]
    if len(sources) != len(row.sources):
        raise UnknownInstructionError(f"{d.line}: {len(row.sources)} operands expected")
    getters = [scalar_get(op, kind) for op, kind in zip(sources, row.sources, strict=True)]
    compute, scc = row.compute, row.scc
    if row.result is None:
        return lambda c: set_scc(c, compute(*(get(c) for get in getters)))
    put = scalar_put(target, row.result)

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


_SAVES: dict[str, Compute] = {**LOGIC, "andn1": lambda s, e: ~s & e, "orn1": lambda s, e: ~s | e}


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


OPCODES: dict[str, Callable[[Decoded], Run]] = {
    **dict.fromkeys(_ROWS, _decode),
    **{f"s_{word}_saveexec_b{bits}": _save_exec for word in _SAVES for bits in (32, 64)},
}

"""The warp GEMMs of the headers by types, transposition of C and accesses of a lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.constraints.gemm.words import TYPES
from ckrules.engine.expr.relation import Table

Shape = tuple[int, int, int]
Pair = tuple[str, str]

_HALF: Sequence[Shape] = ((32, 32, 8), (32, 32, 16), (16, 16, 16), (16, 16, 32))
_FLAT: Sequence[Shape] = ((4, 64, 16), (64, 4, 16))
_BYTE: Sequence[Shape] = ((32, 32, 16), (16, 16, 32), (16, 16, 128), (32, 32, 64), (16, 16, 16))
_BYTE_TURNED: Sequence[Shape] = ((32, 32, 16), (16, 16, 128), (16, 16, 16))
_INT: Sequence[Shape] = ((32, 32, 16), (16, 16, 32), (16, 16, 16))

#: Specializations of WarpGemmDispatcher with one access a lane: the types of A and B, whether C
#: is transposed, then (m, n, k). CK 2025.11.
SINGLE: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    **{((d, d), False): (*_HALF, *_FLAT) for d in ("fp16", "bf16")},
    **{((d, d), True): _HALF for d in ("fp16", "bf16")},
    (("fp32", "fp32"), False): ((16, 16, 4), (16, 16, 16)),
    (("fp32", "fp32"), True): ((16, 16, 16),),
    **{((d, d), False): (*_BYTE, (32, 32, 32), (16, 16, 64)) for d in ("fp8", "bf8")},
    **{((d, d), True): (*_BYTE_TURNED, (16, 16, 32)) for d in ("fp8", "bf8")},
    (("fp8", "bf8"), False): (*_BYTE, (32, 32, 32)),
    (("bf8", "fp8"), False): tuple(s for s in _BYTE if s != (16, 16, 32)),
    **{(p, True): _BYTE_TURNED for p in (("fp8", "bf8"), ("bf8", "fp8"))},
    **{(("int8", "int8"), turned): _INT for turned in (False, True)},
}

_TWICE: Sequence[Shape] = ((32, 32, 16), (16, 16, 32))
_QUAD: Sequence[Shape] = ((32, 32, 64), (16, 16, 128))

#: Those with two and with four accesses a lane, for operands that LDS reads transpose.
DOUBLE: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    ((d, d), turned): _TWICE for d in ("fp16", "bf16") for turned in (False, True)
}
QUAD: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    ((a, b), False): _QUAD for a in ("fp8", "bf8") for b in ("fp8", "bf8")
}

_BYTES = ("fp8", "bf8")
_BYTE_TWICE: Sequence[Shape] = ((32, 32, 32), (16, 16, 64))

#: Since 2026.06 A and B have accesses of their own. Of both operands, those that both have:
DOUBLE_LATER: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    **DOUBLE,
    **{((d, d), False): _BYTE_TWICE for d in _BYTES},
    (("fp8", "fp8"), True): ((32, 32, 32),),
    **{(("int8", "int8"), turned): ((16, 16, 64),) for turned in (False, True)},
}
QUAD_LATER: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    ((a, b), turned): ((32, 32, 64),) for a in _BYTES for b in _BYTES for turned in (False, True)
}
#: and those that one operand has, with one access of the other.
DOUBLE_APART: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    **{((d, d), False): _TWICE for d in ("fp16", "bf16")},
    **{((d, d), False): _BYTE_TWICE for d in _BYTES},
    (("int8", "int8"), False): ((16, 16, 64),),
}
QUAD_APART: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    ((a, b), False): ((32, 32, 64),) for a in _BYTES for b in _BYTES
}

#: What the list of June 2026 has beside it, with C as computed.
_LATER: Mapping[Pair, Sequence[Shape]] = {
    ("fp32", "fp32"): ((16, 16, 8), (32, 32, 4), (32, 32, 8)),
    ("bf16", "bf16"): ((16, 16, 64),),
    ("bf8", "fp8"): ((16, 16, 32),),
    ("int8", "int8"): ((16, 16, 64),),
}

_SOURCE = "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher, CK"
_KEYS = ("dtype", "transpose_c", "warp_tile_m", "warp_tile_n", "warp_tile_k")


def _table(
    name: str, ck: str, found: Mapping[tuple[Pair, bool], Sequence[Shape]], *, twice: bool
) -> Table:
    """The tiles of each dtype; ``twice`` takes A's type for both operands."""
    rows = []
    for word, (a, b, _) in TYPES.items():
        second = a if twice or b == "int4" else b
        for turned in (False, True):
            rows += [(word, turned, *s) for s in found.get(((a, second), turned), ())]
    return Table.relation(name, _KEYS, rows, source=f"{_SOURCE} {ck}")


#: Transposed C of June 2026 beside it (read).
LATER_TURNED: Mapping[Pair, Sequence[Shape]] = {
    ("fp8", "fp8"): ((16, 16, 64),),
    ("bf8", "bf8"): ((16, 16, 64),),
}
_MIXED = (("fp8", "bf8"), ("bf8", "fp8"))
#: What GEMMs ask for beside, with C as computed: what gfx1250 multiplies.
_PLAIN_LATER: Mapping[Pair, Sequence[Shape]] = {
    **{(d, d): ((32, 32, 128),) for d in _BYTES},
    **dict.fromkeys(_MIXED, ((16, 16, 64), (32, 32, 128))),
}
#: and with a transposed C (read in ROCm/rocm-libraries @ 0149199).
_PLAIN_LATER_TURNED: Mapping[Pair, Sequence[Shape]] = {
    ("fp8", "fp8"): ((32, 32, 32), (32, 32, 64), (32, 32, 128)),
    ("bf8", "bf8"): ((32, 32, 64), (32, 32, 128)),
    **dict.fromkeys(_MIXED, ((16, 16, 64), (32, 32, 64), (32, 32, 128))),
    ("int8", "int8"): ((16, 16, 64),),
}
_SINCE_JUNE = {False: (_LATER, _PLAIN_LATER), True: (LATER_TURNED, _PLAIN_LATER_TURNED)}
#: Scaled instructions, which take every pair of 8-bit and 4-bit types.
_SCALED: Mapping[tuple[Pair, bool], Sequence[Shape]] = {
    (("fp8", "pk_fp4"), False): ((16, 16, 128),),
    (("pk_fp4", "pk_fp4"), False): ((16, 16, 128),),
}


def shapes(ck: str, types: Mapping[str, tuple[str, str, str]]) -> Table:
    """The warp GEMMs of a CK version for the types that a family's words stand for."""
    later = ck >= "2026.06"
    rows = []
    for word, (a, b, _) in types.items():
        for turned in (False, True):
            found = [*SINGLE.get(((a, b), turned), ()), *_SCALED.get(((a, b), turned), ())]
            if later:
                for more in _SINCE_JUNE[turned]:
                    found += more.get((a, b), ())
            rows += [(word, turned, *s) for s in found]
    return Table.relation("header_warp_tiles", _KEYS, rows, source=f"{_SOURCE} {ck}")


def tables(ck: str) -> dict[str, Table]:
    """What rules look up, by name: int4 weights count as A's type, to which they are widened."""
    found = _SINCE_JUNE if ck >= "2026.06" else {}
    single = {
        (pair, turned): (*shapes, *(s for row in found.get(turned, ()) for s in row.get(pair, ())))
        for (pair, turned), shapes in SINGLE.items()
    }
    return {
        "header_warp_tiles": _table("header_warp_tiles", ck, single, twice=False),
        "block_warp_tiles": _table("block_warp_tiles", ck, single, twice=True),
        **accesses(ck),
    }


def accesses(ck: str) -> dict[str, Table]:
    """The warp GEMMs with several accesses a lane, of both operands and (`apart`) of one."""
    if ck < "2026.06":
        both, twice = {"double": DOUBLE, "quad": QUAD}, True
        one = both
    else:
        both, twice = {"double": DOUBLE_LATER, "quad": QUAD_LATER}, False
        one = {"double": DOUBLE_APART, "quad": QUAD_APART}
    named = {f"{n}_access_tiles": t for n, t in both.items()}
    named |= {f"{n}_apart_tiles": t for n, t in one.items()}
    return {name: _table(name, ck, found, twice=twice) for name, found in named.items()}

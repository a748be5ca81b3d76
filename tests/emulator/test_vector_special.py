"""Vector instructions that write masks, move data between lanes, or take modifiers and encodings."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from tests.emulator.reference import DTYPES, fma, inputs, nearest, same, wrap
from tests.emulator.test_scalar import _RELATIONS
from tests.helpers.isa import Bench

LANE = np.arange(64)
ONES = np.full(64, 0xFFFFFFFF, np.uint32)


def pair(kind: str, register: int) -> str:
    return f"v[{register}:{register + 1}]" if kind.endswith("64") else f"v{register}"


@pytest.mark.parametrize("kind", ["u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"])
@pytest.mark.parametrize("relation", sorted({*_RELATIONS, "ne"}))
def test_comparisons_of_every_type(kind: str, relation: str) -> None:
    if kind[0] != "f" and relation not in ("eq", "ne", "lt", "le", "gt", "ge"):
        relation = "ne"
    if kind[0] == "f" and relation == "ne":
        relation = "neq"
    a, b = inputs((kind, kind), 512, seed=5)
    bench = Bench(
        f"v_cmp_{relation}_{kind}_e64 s[20:21], {pair(kind, 2)}, {pair(kind, 4)}", blocks=8
    )
    bench.v(2, a.reshape(8, 64)).v(4, b.reshape(8, 64))
    bench.mask(126, LANE % 5 != 0).run()
    compare = _RELATIONS.get(relation, lambda x, y: x != y)
    wanted = [compare(x.item(), y.item()) for x, y in zip(a, b, strict=True)]
    assert (bench.bits(20) == np.array(wanted).reshape(8, 64) & (LANE % 5 != 0)).all()


def test_comparisons_that_write_exec() -> None:
    b = (
        Bench("v_cmpx_gt_u32_e32 vcc, 10, v0\nv_mov_b32_e32 v1, 1")
        .v(0, LANE.astype(np.uint32))
        .run()
    )
    assert (b.get(1)[0] == (LANE < 10)).all()
    assert (b.bits(106)[0] == (LANE < 10)).all()
    b = Bench("v_cmpx_gt_u32_e32 10, v0\nv_mov_b32_e32 v1, 1", arch="gfx1100")
    b.v(0, LANE[:32].astype(np.uint32)).run()
    assert (b.get(1)[0] == (LANE[:32] < 10)).all()
    assert not b.bits(106).any()


def test_classes_of_reals() -> None:
    values = [math.nan, -math.inf, -1.0, -(2.0**-149), -0.0, 0.0, 2.0**-149, 1.0, math.inf]
    bits = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    for value, bit in zip(values, bits, strict=True):
        b = Bench("v_cmp_class_f32_e64 vcc, v0, v1")
        b.v(0, np.full(64, value, np.float32)).v(1, (1 << LANE % 10).astype(np.uint32)).run()
        assert (b.bits(106)[0] == (bit == LANE % 10)).all()


@pytest.mark.parametrize(("name", "of"), [
    ("add_co", lambda a, b, c: a + b), ("sub_co", lambda a, b, c: a - b),
    ("subrev_co", lambda a, b, c: b - a), ("addc_co", lambda a, b, c: a + b + c),
    ("subb_co", lambda a, b, c: a - b - c), ("subbrev_co", lambda a, b, c: b - a - c),
])  # fmt: skip
def test_carries(name: str, of: Any) -> None:
    a, b = inputs(("u32", "u32"), 64, seed=6)
    carry = ", s[12:13]" if name[3] in "bc" or name[4] == "b" else ""
    bench = Bench(f"v_{name}_u32_e64 v0, s[10:11], v2, v4{carry}").v(2, a).v(4, b)
    bench.mask(12, LANE % 3 == 0).mask(126, LANE != 9).run()
    wanted = [of(int(x), int(y), int(i % 3 == 0)) for x, y, i in zip(a, b, LANE, strict=True)]
    there = LANE != 9
    assert (bench.get(0)[0] == np.array([w % 2**32 for w in wanted]) * there).all()
    assert (bench.bits(10)[0] == np.array([not 0 <= w < 2**32 for w in wanted]) & there).all()


@pytest.mark.parametrize("kind", ["u", "i"])
def test_wide_products(kind: str) -> None:
    a, b, c = inputs((f"{kind}32", f"{kind}32", f"{kind}64"), 64, seed=7)
    bench = Bench(f"v_mad_{kind}64_{kind}32 v[0:1], s[10:11], v2, v3, v[4:5]")
    bench.v(2, a).v(3, b).v(4, c).run()
    wanted = [wrap(int(x) * int(y) + int(z), f"{kind}64") for x, y, z in zip(a, b, c, strict=True)]
    assert (bench.get(0, DTYPES[f"{kind}64"])[0] == np.array(wanted, DTYPES[f"{kind}64"])).all()
    if kind == "u":
        over = [int(x) * int(y) + int(z) >= 2**64 for x, y, z in zip(a, b, c, strict=True)]
        assert (bench.bits(10)[0] == np.array(over)).all()


def test_choices() -> None:
    text = "v_cndmask_b32_e32 v0, v2, v4, vcc\nv_cndmask_b32_e64 v1, -v2, |v4|, s[10:11]"
    b = Bench(text).v(2, np.full(64, 1.5, np.float32)).v(4, np.full(64, -2.5, np.float32))
    b.mask(106, LANE % 2 == 0).mask(10, LANE % 3 == 0).run()
    assert (b.get(0, np.float32)[0] == np.where(LANE % 2 == 0, -2.5, 1.5)).all()
    assert (b.get(1, np.float32)[0] == np.where(LANE % 3 == 0, 2.5, -1.5)).all()


def test_lanes_and_scalar_registers() -> None:
    text = """
        v_readfirstlane_b32 s8, v0
        v_readlane_b32 s9, v0, 67
        v_writelane_b32 v1, s10, s11
        v_mbcnt_lo_u32_b32 v2, s12, 5
        v_mbcnt_hi_u32_b32 v2, s13, v2
        v_swap_b32 v3, v4
    """
    b = Bench(text).v(0, (100 + LANE).astype(np.uint32)).v(3, LANE.astype(np.uint32))
    b.s(10, 77, 70).s(12, 0xF0F0F0F0, 0x12345678).mask(126, LANE >= 6).run()
    assert b.wave.s[8:10, 0].tolist() == [106, 103]
    assert (b.get(1)[0] == np.where(LANE == 6, 77, 0)).all()
    mask = 0xF0F0F0F0 | 0x12345678 << 32
    count = np.array([5 + (mask & (1 << i) - 1).bit_count() for i in range(64)])
    assert (b.get(2)[0] == count * (LANE >= 6)).all()
    assert (b.get(4)[0] == LANE * (LANE >= 6)).all()
    assert (b.get(3)[0] == LANE * (LANE < 6)).all()


def test_first_lane_of_no_lanes_is_the_first() -> None:
    b = (
        Bench("v_readfirstlane_b32 s8, v0")
        .v(0, (100 + LANE).astype(np.uint32))
        .mask(126, LANE < 0)
        .run()
    )
    assert b.wave.s[8, 0] == 100


@pytest.mark.parametrize(
    ("unit", "one", "two"),
    [(16, [0, 16, 2, 18], [1, 17, 3, 19]), (32, [0, 1, 16, 17], [2, 3, 18, 19])],
)
def test_rows_are_exchanged(unit: int, one: list[int], two: list[int]) -> None:
    b = Bench(f"v_permlane{unit}_swap_b32_e32 v0, v1", arch="gfx950")
    b.v(0, (LANE // 16).astype(np.uint32)).v(1, (16 + LANE // 16).astype(np.uint32)).run()
    assert (b.get(0)[0] == np.repeat(one, 16)).all()
    assert (b.get(1)[0] == np.repeat(two, 16)).all()


# SDWA

_SELECTED = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16),
    "WORD_1": (16, 16), "DWORD": (0, 32),
}  # fmt: skip


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("source", sorted(_SELECTED))
def test_parts_of_operands(source: str, signed: bool) -> None:
    a, b = inputs(("u32", "u32"), 64, seed=8)
    first = "sext(v2)" if signed else "v2"
    bench = Bench(
        f"v_add_u32_sdwa v0, {first}, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{source} src1_sel:WORD_1"
    )
    bench.v(2, a).v(3, b).run()
    shift, width = _SELECTED[source]
    part = [int(x) >> shift & (1 << width) - 1 for x in a]
    if signed:
        part = [x - (1 << width) if x >> (width - 1) else x for x in part]
    wanted = [(x + (int(y) >> 16)) % 2**32 for x, y in zip(part, b, strict=True)]
    assert bench.get(0)[0].tolist() == wanted


@pytest.mark.parametrize("rest", ["UNUSED_PAD", "UNUSED_PRESERVE", "UNUSED_SEXT"])
@pytest.mark.parametrize("target", sorted(_SELECTED))
def test_parts_of_results(target: str, rest: str) -> None:
    (a,) = inputs(("u32",), 64, seed=9)
    bench = Bench(f"v_mov_b32_sdwa v0, v2 dst_sel:{target} dst_unused:{rest} src0_sel:DWORD")
    bench.v(2, a).v(0, np.full(64, 0x13579BDF, np.uint32)).run()
    shift, width = _SELECTED[target]
    part = (a.astype(np.int64) & (1 << width) - 1) << shift
    if rest == "UNUSED_PRESERVE":
        part |= 0x13579BDF & ~(((1 << width) - 1) << shift)
    if rest == "UNUSED_SEXT":
        part = np.where(part >> (shift + width - 1) & 1, part | (-1 << (shift + width)), part)
    assert (bench.get(0)[0] == part & 0xFFFFFFFF).all()


def test_parts_of_reals_have_signs() -> None:
    text = "v_add_f16_sdwa v0, -|v2|, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0"
    b = Bench(text).v(2, np.full(64, 0x40000000, np.uint32)).v(3, np.full(64, 0x3C00, np.uint32))
    b.v(0, np.full(64, 0xABCD, np.uint32)).run()
    assert (b.get(0)[0] == 0xBC00ABCD).all()


# DPP


@pytest.mark.parametrize(("control", "source"), [
    ("quad_perm:[3,0,2,1]", LANE // 4 * 4 + np.array([3, 0, 2, 1])[LANE % 4]),
    ("row_shl:3", np.where(LANE % 16 < 13, LANE + 3, -1)),
    ("row_shr:1", np.where(LANE % 16 > 0, LANE - 1, -1)),
    ("row_ror:5", LANE // 16 * 16 + (LANE - 5) % 16),
    ("row_mirror", LANE // 16 * 16 + 15 - LANE % 16),
    ("row_half_mirror", LANE // 8 * 8 + 7 - LANE % 8),
    ("row_bcast:15", np.where(LANE < 16, -1, LANE // 16 * 16 - 1)),
    ("row_bcast:31", np.where(LANE < 32, -1, 31)),
    ("row_newbcast:6", LANE // 16 * 16 + 6), ("wave_shr:1", LANE - 1),
    ("row_share:9", LANE // 16 * 16 + 9), ("row_xmask:5", LANE ^ 5),
])  # fmt: skip
@pytest.mark.parametrize("zero", ["", " bound_ctrl:1"])
def test_lanes_by_dpp(control: str, source: NDArray[Any], zero: str) -> None:
    b = Bench(f"v_add_u32_dpp v0, v1, v2 {control} row_mask:0xb bank_mask:0xd{zero}")
    active = LANE % 11 != 4
    b.v(0, np.full(64, 7, np.uint32)).v(1, (1000 * LANE).astype(np.uint32)).v(
        2, LANE.astype(np.uint32)
    )
    b.mask(126, active).run()
    there = (source >= 0) & active[source]
    chosen = active & (LANE // 16 != 2) & (LANE // 4 % 4 != 1)
    if not zero:
        chosen &= there
    assert (b.get(0)[0] == np.where(chosen, np.where(there, 1000 * source, 0) + LANE, 7)).all()


def test_lanes_by_dpp_of_rdna() -> None:
    lane = LANE[:32]
    b = Bench(
        "v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]\nv_mov_b32_dpp v2, v1 row_shl:1 row_mask:0xf bank_mask:0xf fi:1",
        arch="gfx1100",
    )
    b.v(1, (100 + lane).astype(np.uint32)).v(2, np.full(32, 9, np.uint32)).mask(
        126, lane % 2 == 0
    ).run()
    taken = lane // 8 * 8 + 7 - lane % 8
    assert (b.get(0)[0] == np.where((lane % 2 == 0) & (taken % 2 == 0), 100 + taken, 0)).all()
    assert (b.get(2)[0] == np.where((lane % 2 == 0) & (lane % 16 < 15), 101 + lane, 9)).all()


# VOPD


def test_pairs_read_before_either_writes() -> None:
    text = """
        v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
        v_dual_cndmask_b32 v2, v0, v1 :: v_dual_fmac_f32 v3, v4, v4
        v_dual_add_nc_u32 v5, v0, v1 :: v_dual_lshlrev_b32 v6, 4, v0
        v_dual_fmaak_f32 v7, v4, v4, 0x3f800000 :: v_dual_mul_f32 v8, v4, v4
    """
    b = Bench(text, arch="gfx1100").v(0, np.full(32, 1, np.uint32)).v(1, np.full(32, 2, np.uint32))
    b.v(3, np.full(32, 1, np.float32)).v(4, np.full(32, 3, np.float32)).mask(
        106, LANE[:32] < 4
    ).run()
    assert (b.get(0) == 2).all()
    assert (b.get(1) == 1).all()
    assert (b.get(2)[0] == np.where(LANE[:32] < 4, 1, 2)).all()
    assert (b.get(3, np.float32) == 10).all()
    assert (b.get(5) == 3).all()
    assert (b.get(6) == 32).all()
    assert (b.get(7, np.float32) == 10).all()
    assert (b.get(8, np.float32) == 9).all()


# Modifiers


@pytest.mark.parametrize(("name", "kind", "a", "b", "wanted"), [
    ("add", "u32", 0xFFFFFFFE, 5, 0xFFFFFFFF), ("sub", "u32", 3, 5, 0), ("add", "i32", 2**31 - 1, 5, 2**31 - 1),
    ("sub", "i32", -(2**31), 5, -(2**31)), ("add", "u16", 0xFFFE, 5, 0xFFFF), ("sub", "i16", -0x8000, 5, -0x8000),
    ("sub", "u16", 9, 5, 4),
])  # fmt: skip
def test_whole_numbers_are_clamped(name: str, kind: str, a: int, b: int, wanted: int) -> None:
    bench = Bench(f"v_{name}_{kind}_e64 v0, v2, v4 clamp")
    dtype = DTYPES[kind]
    bench.v(2, np.full(64, a, dtype)).v(4, np.full(64, b, dtype)).run()
    assert (bench.get(0, dtype) == wanted).all()


@pytest.mark.parametrize(("modifiers", "of"), [
    ("clamp", lambda x: min(max(x, 0.0), 1.0)), ("mul:2", lambda x: 2 * x), ("mul:4", lambda x: 4 * x),
    ("div:2", lambda x: x / 2), ("clamp div:2", lambda x: min(max(x / 2, 0.0), 1.0)),
])  # fmt: skip
def test_results_are_clamped_and_scaled(modifiers: str, of: Any) -> None:
    values = np.resize(np.array([-1.0, -0.0, 0.25, 0.5, 0.75, 1.0, 3.0, 1e30], np.float32), 64)
    b = Bench(f"v_add_f32_e64 v0, v2, 0 {modifiers}").v(2, values).run()
    assert (b.get(0, np.float32)[0] == np.array([of(x.item()) for x in values], np.float32)).all()
    if "clamp" in modifiers:
        b = Bench("v_add_f32_e64 v0, v2, 0 clamp").v(2, np.full(64, np.nan, np.float32)).run()
        assert (b.get(0) == 0).all()


def test_signs_of_operands() -> None:
    b = Bench("v_fma_f32 v0, -v2, |v4|, -|v6|").v(2, np.full(64, 2, np.float32))
    b.v(4, np.full(64, -3, np.float32)).v(6, np.full(64, -4, np.float32)).run()
    assert (b.get(0, np.float32) == -10).all()


@pytest.mark.parametrize(
    ("arch", "e32", "kept"),
    [("gfx942", "v_add_f16_e32", 0), ("gfx1100", "v_add_f16_e32", 0xABCD0000)],
)
def test_halves_of_registers(arch: str, e32: str, kept: int) -> None:
    text = f"{e32} v0, v2, v3\nv_add_f16_e64 v1, v2, v3 op_sel:[1,0,1]"
    b = Bench(text, arch=arch)
    b.v(2, np.full(b.lanes, 0x40003C00, np.uint32)).v(3, np.full(b.lanes, 0x3C00, np.uint32))
    for i in range(2):
        b.v(i, np.full(b.lanes, 0xABCDABCD, np.uint32))
    b.run()
    assert (b.get(0) == kept | 0x4000).all()
    assert (b.get(1) == 0x4200ABCD).all()


def test_named_halves_of_registers() -> None:
    b = Bench("v_add_f16_e32 v0.h, v2.h, v2.l\nv_mov_b16_e32 v1.l, v2.h", arch="gfx1100")
    b.v(2, np.full(32, 0x40003C00, np.uint32)).v(0, np.full(32, 7, np.uint32)).v(
        1, np.full(32, 0x70000, np.uint32)
    ).run()
    assert (b.get(0) == 0x42000007).all()
    assert (b.get(1) == 0x74000).all()
    with pytest.raises(UnknownInstructionError, match="v_add_f32"):
        Bench("v_add_f32_e32 v0.l, v1, v2", arch="gfx1100").run()


# Packed


def _halves(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return values[::2], values[1::2]


@pytest.mark.parametrize(("name", "kind", "of"), [
    ("add_f16", "f16", lambda a, b: nearest_sum(a, b)), ("max_i16", "i16", max), ("min_u16", "u16", min),
    ("add_u16", "u16", lambda a, b: a + b), ("sub_i16", "i16", lambda a, b: a - b),
    ("mul_lo_u16", "u16", lambda a, b: a * b), ("lshlrev_b16", "u16", lambda n, a: a << (n & 15)),
    ("lshrrev_b16", "u16", lambda n, a: a >> (n & 15)), ("ashrrev_i16", "i16", lambda n, a: a >> (n & 15)),
])  # fmt: skip
@pytest.mark.parametrize(("low", "high"), [((0, 0), (1, 1)), ((1, 0), (0, 1))])
def test_packed_halves(
    name: str, kind: str, of: Any, low: tuple[int, int], high: tuple[int, int]
) -> None:
    a, b = inputs((kind, kind), 128, seed=11)
    text = f"op_sel:[{low[0]},{low[1]}] op_sel_hi:[{high[0]},{high[1]}]"
    bench = (
        Bench(f"v_pk_{name} v0, v2, v4 {text}")
        .v(2, a.view(np.uint32))
        .v(4, b.view(np.uint32))
        .run()
    )
    got = bench.get(0)[0].copy().view(DTYPES[kind])
    for i, chosen in ((0, low), (1, high)):
        x, y = _halves(a)[chosen[0]], _halves(b)[chosen[1]]
        wanted = [of(p.item(), q.item()) for p, q in zip(x, y, strict=True)]
        if kind != "f16":
            wanted = [wrap(w, kind) for w in wanted]
        assert same(got[i::2], np.array(wanted, DTYPES[kind])).all()


def nearest_sum(a: float, b: float) -> float:
    return fma("f16")(a, 1.0, b)


def test_packed_signs_and_clamps() -> None:
    b = Bench(
        "v_pk_fma_f16 v0, v2, v3, v4 neg_lo:[1,0,0] neg_hi:[0,0,1]\nv_pk_add_u16 v1, v5, v5 clamp"
    )
    for register, value in ((2, 0x40003C00), (3, 0x44004200), (4, 0x3C003C00), (5, 0x9000F000)):
        b.v(register, np.full(64, value, np.uint32))
    b.run()
    assert b.get(0)[0, :1].view(np.float16).tolist() == [-3 + 1, 2 * 4 - 1]
    assert (b.get(1) == 0xFFFFFFFF).all()


def test_packed_pairs_of_registers() -> None:
    text = """
        v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0,1] neg_lo:[0,0,1]
        v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]
        v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[0,1]
        v_pk_mov_b32 v[2:3], v[2:3], v[2:3] op_sel:[1,0]
        v_pk_mul_f32 v[12:13], v[4:5], 2.0 op_sel_hi:[1,0]
    """
    b = Bench(text)
    for i, value in enumerate([1, 2, 3, 4, 5, 6]):
        b.v(2 + i, np.full(64, value, np.float32))
    b.run()
    got = [float(b.get(i, np.float32)[0, 0]) for i in (0, 1, 8, 9, 10, 11, 2, 3, 12, 13)]
    assert got == [1 * 3 - 5, 2 * 3 + 6, 2, 3, 1, 4, 2, 1, 6, 8]


def test_packed_constants_stand_in_the_lower_half() -> None:
    text = """
        v_pk_add_f16 v0, v2, 1.0
        v_pk_add_f16 v1, v2, 1.0 op_sel_hi:[1,0]
        v_pk_add_u16 v3, v2, -1
    """
    b = Bench(text).v(2, np.full(64, 0x40004000, np.uint32)).run()
    assert [hex(int(b.get(i)[0, 0])) for i in (0, 1, 3)] == [
        "0x40004200",
        "0x42004200",
        "0x3fff3fff",
    ]


def test_sums_of_mixed_precision() -> None:
    text = """
        v_fma_mix_f32 v0, v2, v3, -v4 op_sel:[1,0,0] op_sel_hi:[1,1,0]
        v_fma_mixlo_f16 v1, v2, v2, |v4| op_sel_hi:[1,1,0]
        v_fma_mixhi_f16 v1, v2, v3, 1.0 op_sel_hi:[1,1,0]
    """
    b = Bench(text).v(2, np.full(64, 0x42004000, np.uint32)).v(3, np.full(64, 0x4400, np.uint32))
    b.v(4, np.full(64, -5, np.float32)).run()
    assert (b.get(0, np.float32) == 3 * 4 + 5).all()
    assert b.get(1)[0, :1].view(np.float16).tolist() == [2 * 2 + 5, 2 * 4 + 1]


# 8 bits


def value_of(bits: int, kind: str, arch: str) -> float:
    """A number of 8 bits, by the definitions of OCP's formats and of those with one zero."""
    exponent, mantissa = (4, 3) if kind == "fp8" else (5, 2)
    fnuz = arch == "gfx942"
    bias = (1 << exponent - 1) - (0 if fnuz else 1)
    sign = -1.0 if bits & 0x80 else 1.0
    power, rest = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    if fnuz and bits == 0x80:
        return math.nan
    if not fnuz and kind == "bf8" and power == 31:
        return math.nan if rest else sign * math.inf
    if not fnuz and kind == "fp8" and bits & 0x7F == 0x7F:
        return math.nan
    if power == 0:
        return sign * rest * 2.0 ** (1 - bias - mantissa)
    return sign * (1 + rest / (1 << mantissa)) * 2.0 ** (power - bias)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_numbers_of_8_bits_are_rounded(arch: str, kind: str) -> None:
    table = {i: value_of(i, kind, arch) for i in range(256)}
    finite = sorted({v for v in table.values() if math.isfinite(v)})
    top = finite[-1]
    values = [(x + y) / 2 for x, y in pairwise(finite)] + finite
    step = finite[-1] - finite[-2]
    values += [
        top + step * 0.49,
        top + step * 0.51,
        -1e30,
        math.inf,
        -math.inf,
        math.nan,
        1e-30,
        -1e-30,
        -0.0,
    ]
    values += np.random.default_rng(3).normal(0, 3, 300).tolist()
    lanes = 32 if arch == "gfx1201" else 64
    given = np.resize(np.array(values, np.float32), (-(-len(values) // lanes), lanes))
    b = Bench(f"v_cvt_pk_{kind}_f32 v0, v2, v2 op_sel:[0,0,1]", arch=arch, blocks=len(given))
    b.v(2, given).v(0, np.full(given.shape, 0x1234, np.uint32)).run()
    got = b.get(0)
    assert (got & 0xFFFF == 0x1234).all()
    assert (got >> 24 == got >> 16 & 0xFF).all()
    for x, bits in zip(given.reshape(-1).tolist(), (got >> 24).reshape(-1).tolist(), strict=True):
        back = table[bits]
        if math.isnan(x) or abs(x) >= top + step / 2:
            beyond = kind == "bf8" and arch != "gfx942" and not math.isnan(x)
            assert back == math.copysign(math.inf, x) if beyond else math.isnan(back)
            continue
        error = abs(back - x)
        others = [y for y in finite if abs(y - x) < error]
        assert not others
        ties = [i for i, y in table.items() if abs(y - x) == error and y != back]
        assert not ties or bits % 2 == 0
        if not (arch == "gfx942" and back == 0):
            assert math.copysign(1, back) == math.copysign(1, x)


@pytest.mark.parametrize(("arch", "text", "part"), [
    ("gfx942", "v_cvt_f32_{}_sdwa v0, v2 src0_sel:BYTE_2", 16), ("gfx942", "v_cvt_f32_{}_e32 v0, v2", 0),
    ("gfx1201", "v_cvt_f32_{}_e64 v0, v2 byte_sel:3", 24), ("gfx942", "v_cvt_pk_f32_{}_sdwa v[0:1], v2 src0_sel:WORD_1", 16),
    ("gfx1201", "v_cvt_pk_f32_{}_e64 v[0:1], v2 op_sel:[1,0]", 16), ("gfx942", "v_cvt_pk_f32_{}_e32 v[0:1], v2", 0),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_numbers_of_8_bits_are_read(arch: str, text: str, part: int, kind: str) -> None:
    b = Bench(text.format(kind), arch=arch, blocks=8)
    words = np.random.default_rng(4).integers(0, 1 << 32, (8, b.lanes), dtype=np.uint32)
    b.v(2, words).run()
    for i in range(2 if "_pk_" in text else 1):
        wanted = [value_of(int(w) >> (part + 8 * i) & 255, kind, arch) for w in words.reshape(-1)]
        assert same(b.get(i, np.float32).reshape(-1), np.array(wanted, np.float32)).all()


# What is not known


@pytest.mark.parametrize("text", [
    "v_made_up_b32 v0, v1", "v_add_u32_e64 v0, -v1, v2", "v_add_u32_e64 v0, v1, v2 mul:2",
    "v_mul_lo_u32 v0, v1, v2 clamp", "v_add_f32_e64 v0, v1, v2 op_sel:[1,0,0]", "v_add_f32 v0, sext(v1), v2",
    "v_cmp_made_u32_e64 vcc, v1, v2", "v_cmp_eq_u32_e64 vcc, v1, v2 clamp", "v_pk_add_u16 v0, v1, v2 neg_lo:[1,0]",
    "v_pk_add_f16 v0, -v1, v2", "v_pk_lshlrev_b16 v0, v1, v2 clamp", "v_add_co_u32_dpp v0, vcc, v1, v2 row_shl:1",
    "v_mov_b32_dpp v0, v1 made_up:3", "v_add_f32_e64 v0, v1, v2 made_up",
    "v_cvt_sr_f16_f32 v0, v1, v2", "v_add_f32 v0, v1", "v_mov_b32_e32 s0, v1", "v_readlane_b32 s0, -v1, 0",
    "v_cvt_pk_fp8_f32 v0, v1, v2 clamp", "v_dual_add_f32 v0, v1, v2 :: v_dual_made_up v1, v2, v3",
    "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0]", "v_mad_u64_u32 v[0:1], vcc, v2, v3, v[4:5] clamp",
])  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    name = text.split()[0]
    with pytest.raises(UnknownInstructionError, match=name):
        Bench(text).run()


def test_what_is_not_known_is_an_error_only_where_it_is_reached() -> None:
    assert (Bench("s_branch 1\nv_made_up_b32 v0, v1\nv_mov_b32_e32 v0, 3").run().get(0) == 3).all()


def test_rounding_of_the_reference() -> None:
    from fractions import Fraction

    assert nearest(Fraction(1, 3), "f64") == 1 / 3

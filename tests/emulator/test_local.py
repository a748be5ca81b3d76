"""LDS: loads, stores, lanes that exchange data, transposing reads, and loads that go there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import FaultKind, UnknownInstructionError
from tests.helpers.isa import Bench

LANE = np.arange(64)
DATA = np.random.default_rng(0).integers(0, 256, 2048, dtype=np.uint8)


def bench(text: str, arch: str = "gfx942") -> Bench:
    """A bench whose LDS holds `DATA`, all written."""
    b = Bench(text, arch=arch, lds=2048)
    b.chunk.lds.bytes[0, :2048] = DATA
    b.chunk.lds.written[:] = 1
    return b


def words(b: Bench) -> NDArray[Any]:
    return b.chunk.lds.bytes[0, :2048].view(np.uint32)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("bits", [32, 64, 96, 128])
@pytest.mark.parametrize("file", ["v", "a"])
def test_loads_and_stores_of_every_width(arch: str, bits: int, file: str) -> None:
    if file == "a" and arch != "gfx90a":
        file = "v"
    count = bits // 32
    data = f"{file}10" if count == 1 else f"{file}[10:{9 + count}]"
    read, write = ("read", "write") if arch == "gfx90a" else ("load", "store")
    b = bench(
        f"ds_{read}_b{bits} {data}, v0 offset:16\ns_waitcnt lgkmcnt(0)\nds_{write}_b{bits} v1, {data}",
        arch,
    )
    lane = np.arange(b.lanes)
    b.v(0, (4 * count * lane).astype(np.uint32))
    b.v(1, (1024 + 16 * (lane % 4)).astype(np.uint32)).mask(126, lane < 4).run()
    before = DATA.view(np.uint32)
    for i in range(count):
        assert (b.get(10 + i, file=file)[0, :4] == before[4 + count * lane[:4] + i]).all()
    for at in range(4):
        assert (words(b)[256 + 4 * at :][:count] == before[4 + count * at :][:count]).all()
    assert not b.faults


@pytest.mark.parametrize(
    ("name", "dtype"), [("u8", "u1"), ("i8", "i1"), ("u16", "u2"), ("i16", "i2")]
)
def test_loads_of_parts_are_extended(name: str, dtype: str) -> None:
    b = bench(f"ds_read_{name} v1, v0 offset:3")
    b.v(0, (5 * LANE).astype(np.uint32)).run()
    wanted = [np.frombuffer(DATA, dtype, 1, 3 + 5 * i)[0] for i in LANE]
    assert (b.get(1, np.int32)[0] == np.array(wanted, np.int32)).all()


@pytest.mark.parametrize(
    ("name", "high"), [("u16_d16", 0), ("u16_d16_hi", 1), ("u8_d16", 0), ("i8_d16_hi", 1)]
)
def test_loads_of_halves_keep_the_other(name: str, high: int) -> None:
    b = bench(f"ds_read_{name} v1, v0")
    b.v(0, (2 * LANE).astype(np.uint32)).v(1, np.full(64, 0xAAAABBBB, np.uint32)).run()
    dtype = {"u16": np.uint16, "u8": np.uint8, "i8": np.int8}[name.partition("_")[0]]
    half = np.array([DATA[2 * i : 2 * i + 2].view(dtype)[0] for i in LANE])
    half = half.astype(np.int16).view(np.uint16).astype(np.uint32)
    assert (b.get(1)[0] == (half << 16 | 0xBBBB if high else half | 0xAAAA0000)).all()


@pytest.mark.parametrize(
    ("name", "size", "shift"),
    [("b8", 1, 0), ("b16", 2, 0), ("b8_d16_hi", 1, 16), ("b16_d16_hi", 2, 16)],
)
def test_stores_of_parts(name: str, size: int, shift: int) -> None:
    b = bench(f"ds_write_{name} v0, v1")
    values = np.random.default_rng(1).integers(0, 1 << 32, 64, dtype=np.uint32)
    b.v(0, (size * LANE).astype(np.uint32)).v(1, values).run()
    wanted = DATA.copy()
    wanted[: 64 * size] = (values >> shift).astype(f"u{size}").view(np.uint8)
    assert (b.chunk.lds.bytes[0, :2048] == wanted).all()


@pytest.mark.parametrize(
    ("read", "write", "unit"), [("read2", "write2", 1), ("read2st64", "write2st64", 64)]
)
@pytest.mark.parametrize("bits", [32, 64])
def test_two_at_once(read: str, write: str, unit: int, bits: int) -> None:
    count = bits // 32
    first, second = ("v2", "v3") if count == 1 else ("v[2:3]", "v[4:5]")
    b = bench(
        f"ds_{read}_b{bits} v[2:{1 + 2 * count}], v0 offset0:1 offset1:2\ns_waitcnt lgkmcnt(0)\n"
        f"ds_{write}_b{bits} v1, {second}, {first} offset0:0 offset1:1"
    )
    b.v(0, np.zeros(64, np.uint32)).v(1, np.full(64, 8, np.uint32)).mask(126, LANE == 5).run()
    before, step = DATA.view(np.uint32), unit * count
    one, two = before[step : step + count], before[2 * step : 2 * step + count]
    assert [int(b.get(2 + i)[0, 5]) for i in range(2 * count)] == [*one, *two]
    assert words(b)[2 : 2 + count].tolist() == two.tolist()
    assert words(b)[2 + step : 2 + step + count].tolist() == one.tolist()


def test_lanes_read_each_other() -> None:
    b = Bench("ds_bpermute_b32 v3, v1, v2 offset:4")
    source = np.random.default_rng(4).integers(0, 64, 64)
    b.v(1, (4 * source).astype(np.uint32)).v(2, (100 + LANE).astype(np.uint32))
    b.mask(126, LANE != 7).run()
    taken = (source + 1) % 64
    assert (b.get(3)[0][LANE != 7] == np.where(taken == 7, 0, 100 + taken)[LANE != 7]).all()


@pytest.mark.parametrize(("name", "of"), [
    ("add_u32", lambda o, n: (o + n) % 2**32), ("sub_u32", lambda o, n: (o - n) % 2**32),
    ("max_i32", lambda o, n: max(o, n, key=lambda x: x - (x >> 31 << 32))),
    ("min_u32", min), ("or_b32", lambda o, n: o | n), ("xor_b32", lambda o, n: o ^ n),
])  # fmt: skip
def test_atomics(name: str, of: Any) -> None:
    word, kind = name.split("_")
    b = bench(f"ds_{word}_rtn_{kind} v3, v1, v2 offset:8\nds_{name} v1, v2 offset:256")
    values = np.random.default_rng(2).integers(0, 1 << 32, 64, dtype=np.uint32)
    b.v(1, (4 * (LANE % 3)).astype(np.uint32)).v(2, values).run()
    wanted, before = DATA.view(np.uint32).copy(), []
    for lane in LANE:
        at = 2 + lane % 3
        before.append(int(wanted[at]))
        wanted[at] = of(int(wanted[at]), int(values[lane]))
        wanted[at + 62] = of(int(wanted[at + 62]), int(values[lane]))
    assert b.get(3)[0].tolist() == before
    assert (words(b) == wanted).all()


@pytest.mark.parametrize(("bits", "rows"), [(16, 4), (8, 8)])
def test_transposing_reads(bits: int, rows: int) -> None:
    """16 lanes read a matrix of so many rows and 16 columns; each gets one column of it."""
    matrix = np.arange(4 * rows * 16).reshape(4, rows, 16).astype(f"u{bits // 8}")
    b = bench(f"ds_read_b64_tr_b{bits} v[2:3], v0", "gfx950")
    b.chunk.lds.bytes[0, : matrix.nbytes] = matrix.reshape(-1).view(np.uint8)
    b.v(0, (8 * LANE).astype(np.uint32)).run()
    got = np.ascontiguousarray(b.wave.v[2:4, 0].T).view(matrix.dtype)
    for lane in LANE:
        assert (got[lane] == matrix[lane // 16, :, lane % 16]).all()


@pytest.mark.parametrize(("text", "count"), [
    ("buffer_load_dword v0, s[4:7], 0 offen offset:32 lds", 1),
    ("global_load_lds_dword v0, s[4:5] offset:32", 1),
    ("global_load_lds_dwordx4 v0, s[4:5] offset:32", 4),
    ("buffer_load_dwordx3 v0, s[4:7], 0 offen offset:32 lds", 3),
])  # fmt: skip
def test_loads_to_lds_go_lane_by_lane_behind_m0(text: str, count: int) -> None:
    b = Bench(text + "\ns_waitcnt vmcnt(0)", arch="gfx950", lds=2048)
    address = b.memory.allocate(4096)
    source = np.arange(1024, dtype=np.uint32)
    b.memory.write(address, source.tobytes())
    b.s(4, address & 0xFFFFFFFF, address >> 32, 4096, 0x27000).s(124, 64)
    b.v(0, (16 * LANE[::-1]).astype(np.uint32)).run()
    got = b.chunk.lds.bytes[0, 96 : 96 + 256 * count].view(np.uint32).reshape(64, count)
    assert (got == 8 + 4 * LANE[::-1][:, None] + np.arange(count)).all()
    assert not b.faults


@pytest.mark.parametrize("text", [
    "ds_read_b32 v1, v0 gds", "ds_read_b64_tr_b4 v[2:3], v0", "ds_made_up v1, v0",
    "ds_read_b32 v1, v0 made_up", "ds_read_b32 s1, v0",
    "ds_append v1",
])  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        bench(text).run()


# What a GPU hides

_STORE = "ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\n"
_LOAD = "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)"


def _two_waves(text: str, *, lds: int = 1024) -> Bench:
    """Two waves: each stores to its own part and reads the other's."""
    b = Bench(text, waves=2, lds=lds)
    for number, c in enumerate(b.cohorts):
        b.put(c, 0, (256 * number + 4 * LANE).astype(np.uint32))
        b.put(c, 3, (256 * (1 - number) + 4 * LANE).astype(np.uint32))
        b.put(c, 1, (1000 * number + LANE).astype(np.uint32))
    return b


@pytest.mark.parametrize(("between", "kinds"), [
    ("s_barrier\n", set()), ("", {FaultKind.LDS_RACE, FaultKind.LDS_UNWRITTEN}),
])  # fmt: skip
def test_a_race(between: str, kinds: set[FaultKind]) -> None:
    b = _two_waves(_STORE + between + _LOAD).run()
    assert set(b.faults) == kinds


def test_a_store_after_anothers_load_is_a_race() -> None:
    first = _STORE + "s_barrier\n" + _LOAD + "\n"
    assert set(_two_waves(first + "s_barrier\n" + _STORE).run().faults) == set()
    assert set(_two_waves(first + "ds_write_b32 v3, v1").run().faults) == set()
    assert set(_two_waves(first + _STORE).run().faults) == {FaultKind.LDS_RACE}


@pytest.mark.parametrize("differs", [False, True])
def test_several_waves_may_store_the_same(differs: bool) -> None:
    """Tiles with fewer rows than threads are stored twice; the copies are the same."""
    text = _STORE + "ds_read_b32 v4, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n" + _LOAD
    b = Bench(text, waves=2, lds=1024)
    for number, c in enumerate(b.cohorts):
        b.put(c, 0, (4 * LANE).astype(np.uint32))
        b.put(c, 3, (4 * LANE[::-1]).astype(np.uint32))
        b.put(c, 1, (7 * LANE + number * differs * (LANE == 5)).astype(np.uint32))
    b.run()
    assert set(b.faults) == ({FaultKind.LDS_RACE} if differs else set())


def test_a_store_not_waited_for_belongs_to_what_is_behind_the_barrier() -> None:
    late = "ds_write_b32 v0, v1\ns_barrier\n" + _LOAD
    assert set(_two_waves(late).run().faults) == {FaultKind.LDS_RACE}


def test_reads_of_what_nobody_wrote() -> None:
    for part, bad in ((0, False), (256, True)):
        b = Bench(_STORE + _LOAD, lds=1024)
        b.v(0, (4 * LANE).astype(np.uint32)).v(3, (part + 4 * LANE).astype(np.uint32)).run()
        assert (FaultKind.LDS_UNWRITTEN in b.faults) is bad


def test_accesses_outside_of_lds() -> None:
    for size, bad in ((256, False), (252, True)):
        b = Bench("ds_write_b32 v0, v1", lds=size).v(0, (4 * LANE).astype(np.uint32)).run()
        assert (FaultKind.LDS_OUTSIDE in b.faults) is bad
        if bad:
            assert b.faults[FaultKind.LDS_OUTSIDE].lane == 63


@pytest.mark.parametrize("text", [
    "ds_read_b32 v1, v0 offset:32", "ds_read2_b32 v[1:2], v0 offset0:8 offset1:9",
])  # fmt: skip
def test_a_negative_base_takes_an_offset(text: str) -> None:
    """LLVM folds offsets into accesses whose base is below zero, so that the sum has 32 bits."""
    b = Bench(text, lds=256)
    b.chunk.lds.bytes[0, :256] = np.arange(256, dtype=np.uint8)
    b.chunk.lds.written[:] = 1
    b.v(0, (4 * (LANE % 8) - 32).astype(np.int32).view(np.uint32)).run()
    assert (b.get(1)[0] & 0xFF == 4 * (LANE % 8)).all()
    assert not b.faults


ATOMIC = "v_mov_b32_e32 v0, 0\nv_mov_b32_e32 v1, 1\n"


def several(text: str) -> Bench:
    """Two waves of a program with a dword of LDS that was written before."""
    b = Bench(ATOMIC + text, waves=2, lds=64)
    b.chunk.lds.bytes[:] = 0
    b.chunk.lds.written[:] = 1
    return b.run()


GENERIC = {
    "gfx942": ("dword", "short", "ushort", "lgkmcnt(0) vmcnt(0)"),
    "gfx1100": ("b32", "b16", "u16", "lgkmcnt(0) vmcnt(0)"),
}


@pytest.mark.parametrize("arch", sorted(GENERIC))
def test_generic_addresses_reach_lds(arch: str) -> None:
    """A kernel of gfx1100 keeps a pointer to its LDS in private memory."""
    dword, short, ushort, wait = GENERIC[arch]
    b = Bench(
        f"""s_mov_b64 s[4:5], src_shared_base
        v_mov_b32_e32 v1, s5
        flat_store_{dword} v[0:1], v2 offset:4
        flat_store_{short} v[0:1], v3 offset:4
        s_waitcnt {wait}
        ds_{"load_b32" if arch == "gfx1100" else "read_b32"} v10, v0 offset:4
        flat_load_{ushort} v11, v[0:1] offset:6
        s_waitcnt {wait}""",
        arch=arch,
        lds=1024,
    )
    lane = np.arange(b.lanes, dtype=np.uint32)
    b.v(0, 8 * lane).v(2, lane << np.uint32(16)).v(3, lane + 7).run()
    assert (b.get(10)[0] == (lane << np.uint32(16) | lane + 7)).all()
    assert (b.get(11)[0] == lane).all()
    assert not b.faults


@pytest.mark.parametrize(("wait", "bad"), [
    ("lgkmcnt(0)", False), ("vmcnt(0) lgkmcnt(0)", False), ("vmcnt(0)", True),
])  # fmt: skip
def test_generic_loads_of_lds_have_ended_when_its_counter_says_so(wait: str, bad: bool) -> None:
    """A stream-K kernel of gfx942 that reads LDS by pointers waits for the LDS counter alone."""
    b = Bench(
        f"""s_mov_b64 s[4:5], src_shared_base
        v_mov_b32_e32 v1, s5
        ds_write_b32 v0, v0
        s_waitcnt lgkmcnt(0)
        flat_load_dword v2, v[0:1]
        s_waitcnt {wait}
        v_mov_b32_e32 v3, v2""",
        lds=256,
    )
    b.v(0, 4 * np.arange(64, dtype=np.uint32)).run()
    assert (FaultKind.NOT_WAITED in b.faults) is bad


def test_generic_stores_race_like_others() -> None:
    b = Bench(
        """s_mov_b64 s[4:5], src_shared_base
        v_mov_b32_e32 v1, s5
        flat_store_dword v[0:1], v2
        s_waitcnt vmcnt(0) lgkmcnt(0)""",
        waves=2,
        lds=1024,
    )
    for wave, c in enumerate(b.cohorts):
        b.put(c, 0, 4 * np.arange(64, dtype=np.uint32))
        b.put(c, 2, np.full(64, wave + 1, np.uint32))
    assert set(b.run().faults) == {FaultKind.LDS_RACE}


@pytest.mark.parametrize(("wait", "races"), [
    ("s_wait_dscnt 0x0", False),
    ("s_wait_storecnt_dscnt 0x0", False),
    ("s_wait_storecnt 0x0", True),
])  # fmt: skip
def test_generic_stores_to_lds_are_done_when_its_counter_says_so(wait: str, races: bool) -> None:
    """A kernel of gfx1201 spills so much that its stores go by a pointer; it waits as for others."""
    b = Bench(
        f"""s_mov_b64 s[4:5], src_shared_base
        v_mov_b32_e32 v1, s5
        flat_store_b32 v[0:1], v2
        {wait}
        s_barrier_signal -1
        s_barrier_wait 0xffff
        ds_load_b32 v3, v4
        s_wait_dscnt 0x0""",
        arch="gfx1201",
        waves=2,
        lds=256,
    )
    lane = np.arange(32, dtype=np.uint32)
    for wave, c in enumerate(b.cohorts):
        b.put(c, 0, 128 * wave + 4 * lane)
        b.put(c, 4, 128 * (1 - wave) + 4 * lane)
        b.put(c, 2, lane + 100 * wave)
    assert (FaultKind.LDS_RACE in b.run().faults) is races


def test_atomics_of_several_waves_are_no_race() -> None:
    b = several("ds_add_u32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v2, v0\n")
    assert not b.faults
    assert int(words_of(b)[0]) == 128


@pytest.mark.parametrize("other", ["ds_read_b32 v2, v0", "ds_write_b32 v0, v1"])
@pytest.mark.parametrize("first", [True, False])
def test_atomics_race_with_other_accesses(other: str, first: bool) -> None:
    lines = ["ds_add_u32 v0, v1", other]
    b = several("\n".join([*(lines if first else lines[::-1]), "s_waitcnt lgkmcnt(0)"]))
    assert set(b.faults) == {FaultKind.LDS_RACE}


def test_an_atomic_that_is_not_waited_for_races_across_a_barrier() -> None:
    b = several("ds_add_u32 v0, v1\ns_barrier\nds_read_b32 v2, v0\ns_waitcnt lgkmcnt(0)")
    assert set(b.faults) == {FaultKind.LDS_RACE}


def words_of(b: Bench) -> NDArray[Any]:
    return b.chunk.lds.bytes[0, :64].view(np.uint32)

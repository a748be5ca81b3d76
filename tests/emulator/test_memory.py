"""Loads, stores and atomics of memory: addresses, widths, bounds, and what each lane gets."""

from __future__ import annotations

import numpy as np
import pytest

from ckrules.emulator.errors import FaultKind, UnknownInstructionError
from ckrules.emulator.memory import BASE, SCRATCH_BASE, SHARED_BASE
from ckrules.emulator.operands import Special
from ckrules.emulator.writers import SEVERAL
from tests.helpers.isa import Bench

LANE = np.arange(64)
DATA = np.random.default_rng(0).integers(0, 256, 4096, dtype=np.uint8)
WORDS = DATA.view(np.uint32)


def bench(text: str, *, arch: str = "gfx942", records: int = 4096) -> tuple[Bench, int]:
    """A bench with `DATA` in memory: s[0:1] is its address, s[4:7] a buffer of it."""
    b = Bench(text, arch=arch)
    address = b.memory.allocate(4096)
    b.memory.write(address, DATA.tobytes())
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    b.s(4, address & 0xFFFFFFFF, address >> 32, records, 0x31004000 if b.lanes == 32 else 0x27000)
    return b, address


def lanes(b: Bench) -> np.ndarray:
    return np.arange(b.lanes)


def memory(b: Bench, address: int, dtype: type = np.uint32) -> np.ndarray:
    return np.frombuffer(b.memory.read(address, 4096), dtype)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1201"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("unit", ["buffer", "global"])
def test_loads_of_every_width(arch: str, count: int, unit: str) -> None:
    old = {1: "dword", 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"}[count]
    word = old if arch == "gfx90a" else f"b{32 * count}"
    target = "v10" if count == 1 else f"v[10:{9 + count}]"
    operands = "v0, s[4:7], s8 offen offset:20" if unit == "buffer" else "v0, s[0:1] offset:52"
    b, _ = bench(f"{unit}_load_{word} {target}, {operands}", arch=arch)
    b.s(8, 32).v(0, (16 * lanes(b)).astype(np.uint32)).run()
    for i in range(count):
        assert (b.get(10 + i)[0] == WORDS[13 + 4 * lanes(b) + i]).all()
    assert not b.faults


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1201"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("unit", ["buffer", "global"])
def test_stores_of_every_width(arch: str, count: int, unit: str) -> None:
    old = {1: "dword", 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"}[count]
    word = old if arch == "gfx90a" else f"b{32 * count}"
    source = "v10" if count == 1 else f"v[10:{9 + count}]"
    text = (
        f"{source}, v0, s[4:7], 0 offen offset:4"
        if unit == "buffer"
        else f"v0, {source}, s[0:1] offset:4"
    )
    b, address = bench(f"{unit}_store_{word} {text}", arch=arch)
    b.v(0, (16 * lanes(b)).astype(np.uint32))
    for i in range(count):
        b.v(10 + i, (1000 * i + lanes(b)).astype(np.uint32))
    b.mask(126, lanes(b) % 2 == 0).run()
    wanted = WORDS.copy()
    for lane in lanes(b)[::2]:
        wanted[1 + 4 * lane : 1 + 4 * lane + count] = [1000 * i + lane for i in range(count)]
    assert (memory(b, address) == wanted).all()


@pytest.mark.parametrize(
    ("old", "new", "dtype"),
    [
        ("ubyte", "u8", np.uint8),
        ("sbyte", "i8", np.int8),
        ("ushort", "u16", np.uint16),
        ("sshort", "i16", np.int16),
    ],
)
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_loads_of_parts_are_extended(old: str, new: str, dtype: type, arch: str) -> None:
    b, _ = bench(
        f"global_load_{old if arch == 'gfx942' else new} v1, v0, s[0:1] offset:2", arch=arch
    )
    size = np.dtype(dtype).itemsize
    b.v(0, (size * lanes(b)).astype(np.uint32)).run()
    wanted = DATA[2 : 2 + size * b.lanes].view(dtype).astype(np.int32)
    assert (b.get(1, np.int32)[0] == wanted).all()


@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "dtype"),
    [
        ("short_d16", "d16{}_b16", np.uint16),
        ("ubyte_d16", "d16{}_u8", np.uint8),
        ("sbyte_d16", "d16{}_i8", np.int8),
    ],
)
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_loads_of_halves_keep_the_other(
    old: str, new: str, dtype: type, high: bool, arch: str
) -> None:
    suffix = "_hi" if high else ""
    word = old + suffix if arch == "gfx942" else new.format(suffix)
    b, _ = bench(f"buffer_load_{word} v1, v0, s[4:7], 0 offen", arch=arch)
    size = np.dtype(dtype).itemsize
    b.v(0, (size * lanes(b)).astype(np.uint32)).v(1, np.full(b.lanes, 0xAAAABBBB, np.uint32)).run()
    half = DATA[: size * b.lanes].view(dtype).astype(np.int16).view(np.uint16).astype(np.uint32)
    wanted = half << 16 | 0xBBBB if high else half | 0xAAAA0000
    assert (b.get(1)[0] == wanted).all()


@pytest.mark.parametrize(
    ("text", "size", "shift"),
    [
        ("buffer_store_short v1, v0, s[4:7], 0 offen", 2, 0),
        ("buffer_store_short_d16_hi v1, v0, s[4:7], 0 offen", 2, 16),
        ("buffer_store_byte v1, v0, s[4:7], 0 offen", 1, 0),
        ("buffer_store_byte_d16_hi v1, v0, s[4:7], 0 offen", 1, 16),
        ("global_store_short_d16_hi v0, v1, s[0:1]", 2, 16),
    ],
)
def test_stores_of_parts(text: str, size: int, shift: int) -> None:
    b, address = bench(text)
    values = np.random.default_rng(1).integers(0, 1 << 32, 64, dtype=np.uint32)
    b.v(0, (size * LANE).astype(np.uint32)).v(1, values).run()
    wanted = DATA.copy()
    wanted[: 64 * size] = (values >> shift).astype(f"u{size}").view(np.uint8)
    assert (memory(b, address, np.uint8) == wanted).all()


def test_each_dword_of_a_buffer_is_checked_on_its_own() -> None:
    b, _ = bench("buffer_load_dwordx4 v[10:13], v0, s[4:7], 0 offen", records=24)
    b.v(0, np.where(LANE == 1, 0x80000000, 16 * LANE).astype(np.uint32)).run()
    assert [int(b.get(10 + i)[0, 0]) for i in range(4)] == WORDS[:4].tolist()
    assert [int(b.get(10 + i)[0, 1]) for i in range(4)] == [0] * 4
    assert not b.faults


def test_a_buffer_that_ends_within_a_load_gives_zero_beyond() -> None:
    b, _ = bench("buffer_load_dwordx4 v[10:13], v0, s[4:7], 0 offen", records=24)
    b.v(0, (16 * LANE).astype(np.uint32)).run()
    got = np.stack([b.get(10 + i)[0] for i in range(4)], 1).reshape(-1)
    wanted = np.zeros(256, np.uint32)
    wanted[:6] = WORDS[:6]
    assert (got == wanted).all()
    assert not b.faults


def test_stores_beyond_a_buffer_are_dropped() -> None:
    b, address = bench("buffer_store_dwordx2 v[10:11], v0, s[4:7], 0 offen", records=20)
    b.v(0, (8 * LANE).astype(np.uint32)).v(10, np.full(64, 7, np.uint32)).v(
        11, np.full(64, 8, np.uint32)
    )
    b.run()
    wanted = WORDS.copy()
    wanted[:5] = [7, 8, 7, 8, 7]
    assert (memory(b, address) == wanted).all()
    assert not b.faults


def test_a_lane_and_its_constant_offset_are_added_as_32_bits() -> None:
    """A lane of -8 with offset:8 reads the first dword, as loops that LSR rewrote expect it."""
    b, _ = bench("buffer_load_dword v1, v0, s[4:7], s8 offen offset:8", records=64)
    offsets = np.where(LANE == 3, -8, np.where(LANE == 4, -12, 4 * LANE))
    b.s(8, 256).v(0, offsets.astype(np.int32).view(np.uint32)).run()
    assert b.get(1)[0][3] == WORDS[64]
    assert b.get(1)[0][4] == 0, "the sum itself is beyond the buffer"
    assert not b.faults


def test_the_scalar_offset_is_not_checked() -> None:
    b, _ = bench("buffer_load_dword v1, v0, s[4:7], s8 offen offset:8", records=64)
    b.s(8, 256).v(0, (4 * LANE).astype(np.uint32)).run()
    wanted = np.where(4 * LANE + 8 + 4 <= 64, WORDS[2 + LANE + 64], 0)
    assert (b.get(1)[0] == wanted).all()


def test_indices_of_a_structured_buffer_are_checked() -> None:
    b, address = bench("buffer_load_dwordx2 v[10:11], v[0:1], s[4:7], 0 idxen offen", records=5)
    b.s(5, (address >> 32) | 16 << 16)
    b.v(0, (LANE % 8).astype(np.uint32)).v(1, np.where(LANE < 8, 4, 12).astype(np.uint32)).run()
    index, offset = LANE % 8, np.where(LANE < 8, 4, 12)
    for i in range(2):
        inside = (index < 5) & (offset + 4 * i + 4 <= 16)
        assert (b.get(10 + i)[0] == np.where(inside, WORDS[index * 4 + offset // 4 + i], 0)).all()


@pytest.mark.parametrize(
    "text", ["global_load_dword v1, v[2:3], off offset:-4", "flat_load_dword v1, v[2:3]"]
)
def test_addresses_in_pairs_of_registers(text: str) -> None:
    b, address = bench(text)
    shift = 4 if "offset" in text else 0
    b.v(2, (address + shift + 4 * LANE[::-1]).astype(np.uint64)).run()
    assert (b.get(1)[0] == WORDS[LANE[::-1]]).all()


def test_addresses_of_lds_and_of_memory_at_once_are_refused() -> None:
    b, address = bench("flat_load_dword v1, v[2:3]")
    b.v(2, np.where(LANE < 32, address, SHARED_BASE).astype(np.uint64))
    with pytest.raises(UnknownInstructionError, match="LDS and others"):
        b.run()


@pytest.mark.parametrize(
    "text", ["flat_atomic_add v[2:3], v4", "v_mov_b32_e32 v1, src_shared_base"]
)
def test_what_has_no_meaning_in_lds_is_refused(text: str) -> None:
    b = Bench(text, lds=64)
    b.v(2, (SHARED_BASE + 4 * LANE).astype(np.uint64))
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        b.run()


def test_accumulation_registers_are_loaded_and_stored() -> None:
    b, address = bench(
        "global_load_dwordx2 a[4:5], v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
        "buffer_store_dwordx2 a[4:5], v0, s[4:7], 0 offen offset:1024"
    )
    b.v(0, (8 * LANE).astype(np.uint32)).run()
    assert (memory(b, address)[256:384] == WORDS[:128]).all()


def test_private_memory_is_each_lanes_own() -> None:
    b = Bench(
        "scratch_store_dwordx2 off, v[2:3], s1 offset:8\ns_waitcnt vmcnt(0)\n"
        "scratch_load_dword v4, v1, off offset:4\nbuffer_load_ushort v5, v1, s[4:7], 0 offen offset:6"
    )
    b.s(1, 4).s(4, SCRATCH_BASE & 0xFFFFFFFF, SCRATCH_BASE >> 32, 0xFFFFFFFF, 0)
    b.v(1, np.full(64, 12, np.uint32)).v(2, LANE.astype(np.uint32)).v(
        3, (LANE * 65537).astype(np.uint32)
    ).run()
    assert (b.get(4)[0] == LANE * 65537).all()
    assert (b.get(5)[0] == LANE).all()


def test_scalar_offsets_into_private_memory_are_of_the_whole_wave() -> None:
    """Beyond 4,095 bytes a lane, where gfx90a has no constant for them, compilers write 64 times."""
    b = Bench(
        "buffer_store_dword v2, off, s[4:7], s8 offset:4\ns_waitcnt vmcnt(0)\n"
        "scratch_load_dword v4, off, s9",
        scratch=8192,
    )
    b.s(4, SCRATCH_BASE & 0xFFFFFFFF, SCRATCH_BASE >> 32, 0xFFFFFFFF, 0)
    b.s(8, 5000 * 64, 5004).v(2, LANE.astype(np.uint32)).run()
    assert (b.get(4)[0] == LANE).all()


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_private_memory_is_apart_from_the_devices(arch: str, width: int) -> None:
    """Native code once took offsets of 4 KiB and more, where allocations begin, as the device's."""
    kind = ("dword", "b32") if width == 1 else (f"dwordx{width}", f"b{32 * width}")
    given, found = (f"v[{r}:{r + width - 1}]" if width > 1 else f"v{r}" for r in (4, 8))
    name, wait = (
        (kind[0], "s_waitcnt vmcnt(0)") if arch == "gfx942" else (kind[1], "s_wait_loadcnt 0x0")
    )
    b = Bench(
        f"scratch_store_{name} off, {given}, s1\n{wait}\nscratch_load_{name} {found}, off, s1",
        arch,
        scratch=8192,
    )
    address = b.memory.allocate(4096)
    b.memory.write(address, DATA.tobytes())
    b.s(1, 4096).mask(Special.EXEC, np.arange(b.lanes) % 3 != 1)
    for i in range(width):
        b.v(4 + i, np.arange(b.lanes, dtype=np.uint32) * 65537 + i)
    b.run()
    for i in range(width):
        kept = np.arange(b.lanes) * 65537 + i
        assert (b.get(8 + i)[0] == np.where(np.arange(b.lanes) % 3 != 1, kept, 0)).all()
    assert b.memory.read(address, 4096) == DATA.tobytes()


def test_private_memory_beyond_what_there_is_is_refused() -> None:
    b = Bench("scratch_load_dword v4, off, off offset:64")
    with pytest.raises(UnknownInstructionError, match="private memory"):
        b.run()
    b = Bench("scratch_store_dword off, v4, off offset:64")
    with pytest.raises(UnknownInstructionError, match="private memory"):
        b.run()


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("buffer", ["", "buffer_"])
def test_scalar_loads_of_every_width(width: int, buffer: str) -> None:
    suffix = "" if width == 1 else f"x{width}"
    base = "s[4:7]" if buffer else "s[0:1]"
    b, _ = bench(f"s_{buffer}load_dword{suffix} s[16:{15 + width}], {base}, s8 offset:0x20")
    b.s(8, 12).run()
    assert (b.wave.s[16 : 16 + width, 0] == WORDS[11 : 11 + width]).all()


def test_scalar_loads_go_backwards_and_of_parts() -> None:
    b, address = bench(
        "s_load_dword s16, s[2:3], -0x8\ns_load_b64 s[18:19], s[2:3], null", arch="gfx1201"
    )
    b.s(2, (address + 64) & 0xFFFFFFFF, address >> 32).run()
    assert b.wave.s[16, 0] == WORDS[14]
    assert (b.wave.s[18:20, 0] == WORDS[16:18]).all()
    b, _ = bench("s_load_u8 s16, s[0:1], 0x5\ns_load_i16 s17, s[0:1], 0x6", arch="gfx1201")
    b.run()
    assert b.wave.s[16, 0] == DATA[5]
    assert b.wave.s[17:18].view(np.int32)[0, 0] == DATA[6:8].view(np.int16)[0]


def test_scalar_loads_beyond_a_buffer_give_zero() -> None:
    b, _ = bench("s_buffer_load_dwordx4 s[16:19], s[4:7], 0x4", records=12)
    b.run()
    assert b.wave.s[16:20, 0].tolist() == [*WORDS[1:3].tolist(), 0, 0]
    assert not b.faults


ATOMICS = {
    "add": lambda old, new: (old + new) % 2**32,
    "sub": lambda old, new: (old - new) % 2**32,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "umax": max,
    "umin": min,
    "swap": lambda old, new: new,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
}


@pytest.mark.parametrize("name", sorted(ATOMICS))
@pytest.mark.parametrize("shared", [False, True])
def test_atomics_give_back_what_was_there(name: str, shared: bool) -> None:
    b, address = bench(f"global_atomic_{name} v1, v0, v2, s[0:1] sc0")
    places = LANE % 5 if shared else LANE
    values = np.random.default_rng(2).integers(0, 1 << 32, 64, dtype=np.uint32)
    b.v(0, (4 * places).astype(np.uint32)).v(2, values).run()
    wanted, before = WORDS.copy(), []
    for place, value in zip(places, values, strict=True):
        before.append(int(wanted[place]))
        wanted[place] = ATOMICS[name](int(wanted[place]), int(value))
    assert b.get(1)[0].tolist() == before
    assert (memory(b, address) == wanted).all()


def test_atomic_sums_of_reals() -> None:
    b, address = bench(
        "buffer_atomic_add_f32 v2, v0, s[4:7], 0 offen\nglobal_atomic_pk_add_f16 v0, v3, s[0:1] offset:8"
    )
    b.memory.fill(address, 0, 4096)
    b.v(0, np.zeros(64, np.uint32)).v(2, np.full(64, 0.5, np.float32))
    b.v(3, np.full(64, 0x40003C00, np.uint32)).run()  # 1 and 2
    found = b.memory.read(address, 12)
    assert np.frombuffer(found, np.float32)[0] == 32
    assert np.frombuffer(found, np.float16)[4:].tolist() == [64, 128]


@pytest.mark.parametrize(("arch", "text"), [
    ("gfx942", "global_atomic_cmpswap v1, v0, v[2:3], s[0:1] sc0"),
    ("gfx90a", "global_atomic_cmpswap v1, v0, v[2:3], s[0:1] glc"),
    ("gfx1201", "global_atomic_cmpswap_b32 v1, v0, v[2:3], s[0:1] th:TH_ATOMIC_RETURN"),
])  # fmt: skip
def test_compare_and_swap(arch: str, text: str) -> None:
    b, address = bench(text, arch=arch)
    lane = lanes(b)
    expected = np.where(lane % 2, WORDS[lane], 5).astype(np.uint32)
    b.v(0, (4 * lane).astype(np.uint32)).v(2, np.full(b.lanes, 99, np.uint32)).v(3, expected).run()
    assert (memory(b, address)[lane] == np.where(lane % 2, 99, WORDS[lane])).all()
    assert (b.get(1)[0] == WORDS[lane]).all()


def test_an_atomic_of_64_bits() -> None:
    b, address = bench("global_atomic_add_x2 v[4:5], v0, v[2:3], s[0:1] sc0")
    values = np.random.default_rng(3).integers(0, 1 << 63, 64, dtype=np.uint64)
    b.v(0, (8 * LANE).astype(np.uint32)).v(2, values).run()
    before = DATA.view(np.uint64)
    assert (b.get(4, np.uint64)[0] == before[:64]).all()
    assert (memory(b, address, np.uint64)[:64] == before[:64] + values).all()


@pytest.mark.parametrize("text", [
    "global_load_dword v1, v0, s[0:1]", "buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen",
    "global_store_dword v0, v1, s[0:1]", "global_atomic_add v0, v1, s[0:1]", "s_load_dword s20, s[0:1], 0x2000",
])  # fmt: skip
def test_accesses_outside_of_memory_are_reported(text: str) -> None:
    b, _ = bench(text, records=0x7FFFFFFF)
    b.v(0, (4 * LANE + 4096).astype(np.uint32)).run()
    fault = b.faults[FaultKind.MEMORY_OUTSIDE]
    assert text.split()[0] in fault.place
    b, _ = bench(text.replace("0x2000", "0x0"), records=0x7FFFFFFF)
    b.v(0, (16 * LANE).astype(np.uint32)).run()
    assert not b.faults


SIZES = {"dwordx2": 8, "dword": 4, "short": 2, "byte": 1}


def storing(store: str, *, blocks: int = 1, waves: int = 1) -> Bench:
    """Waves that store v[2:3] at v0 from s[0:1] on, each eight bytes apart."""
    source = "v[2:3]" if store == "dwordx2" else "v2"
    b = Bench(f"global_store_{store} v0, {source}, s[0:1]", blocks=blocks, waves=waves)
    address = b.memory.allocate(4096)
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    for c in b.cohorts:
        b.put(c, 0, (8 * LANE).astype(np.uint32))
        b.put(c, 2, (LANE + 7).astype(np.uint32))
        b.put(c, 3, (LANE + 9).astype(np.uint32))
    return b


@pytest.mark.parametrize("store", sorted(SIZES))
@pytest.mark.parametrize("several", [{"blocks": 2}, {"waves": 2}, {"blocks": 3, "waves": 2}])
def test_equal_values_of_several_waves_are_reported_and_no_fault(
    store: str, several: dict[str, int]
) -> None:
    b = storing(store, **several).run()
    assert set(b.faults) == {FaultKind.REPEATED_WRITE}
    assert f"global_store_{store}" in b.faults[FaultKind.REPEATED_WRITE].place
    assert int((b.chunk.shared.writers == SEVERAL).sum()) == 64 * SIZES[store]
    assert int((b.chunk.shared.writers != 0).sum()) == 64 * SIZES[store]


@pytest.mark.parametrize("store", sorted(SIZES))
@pytest.mark.parametrize("several", [{"blocks": 2}, {"waves": 2}])
def test_other_values_of_another_wave_are_a_conflict(store: str, several: dict[str, int]) -> None:
    b = storing(store, **several)
    other = b.cohorts[-1].v[2, -1]
    other[5] += 1  # one byte of one lane
    b.run()
    fault = b.faults[FaultKind.WRITE_CONFLICT]
    assert fault.lane == 5
    assert "with other bytes" in fault.detail
    assert "wave 0 of block 0" in fault.detail


@pytest.mark.parametrize("store", sorted(SIZES))
@pytest.mark.parametrize("several", [{"blocks": 2}, {"waves": 2}])
def test_bytes_beside_each_other_are_no_conflict(store: str, several: dict[str, int]) -> None:
    """Two waves have the halves, or the bytes, of a dword."""
    b = storing(store, **several)
    size = SIZES[store]
    b.cohorts[-1].v[0, -1] += np.uint32(size)
    if size == 8:
        for c in b.cohorts:
            c.v[0] *= np.uint32(2)
        b.cohorts[-1].v[0, -1] -= np.uint32(8)
    b.cohorts[-1].v[2:4, -1] += np.uint32(40)
    assert not b.run().faults


def test_what_several_have_written_alike_none_of_them_may_change() -> None:
    """In another order of the waves it would be the first's that stays."""
    text = "global_store_dword v0, v2, s[0:1]\nglobal_store_dword v0, v3, s[0:1]"
    for last, kinds in ((7, {FaultKind.REPEATED_WRITE}), (8, set(FaultKind))):
        b = Bench(text, waves=2)
        address = b.memory.allocate(4096)
        b.s(0, address & 0xFFFFFFFF, address >> 32)
        for number, c in enumerate(b.cohorts):
            b.put(c, 0, (8 * LANE).astype(np.uint32))
            b.put(c, 2, np.full(64, 7, np.uint32))
            b.put(c, 3, np.full(64, last if number else 7, np.uint32))
        b.run()
        assert set(b.faults) == kinds & {FaultKind.REPEATED_WRITE, FaultKind.WRITE_CONFLICT}


def test_equal_values_beside_an_atomic_are_a_conflict() -> None:
    """The order decides whether the sum or the value stays."""
    text = "global_atomic_add v0, v2, s[0:1]\nglobal_store_dword v0, v2, s[0:1]"
    b = Bench(text)
    address = b.memory.allocate(4096)
    b.s(0, address & 0xFFFFFFFF, address >> 32)
    b.v(0, (8 * LANE).astype(np.uint32)).v(2, np.full(64, 7, np.uint32)).run()
    assert set(b.faults) == {FaultKind.WRITE_CONFLICT}
    assert "by an atomic operation" in b.faults[FaultKind.WRITE_CONFLICT].detail


def test_lanes_of_a_wave_may_write_one_address() -> None:
    b = storing("dword")
    b.v(0, np.zeros(64, np.uint32)).run()
    assert not b.faults
    assert memory(b, BASE + 4096)[0] == 70


@pytest.mark.parametrize("text", [
    "buffer_load_dword v1, v0, s[4:7], 0 offen tfe", "global_load_dword v1, v0, s[0:1] made_up",
    "buffer_load_dword v1, v[0:1], s[4:7], 0 addr64", "buffer_load_format_x v1, v0, s[4:7], 0 offen",
    "image_load v[0:3], v0, s[0:7] dmask:0xf", "global_atomic_fmax v0, v1, s[0:1]",
    "s_load_dword s1, s[2:3], 0x0 made_up:1",
])  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    b, _ = bench(text)
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        b.run()


def test_addresses_begin_at_the_base() -> None:
    b, address = bench("s_nop 0")
    assert address > BASE
    b.memory.write(address + 100, b"ck")
    assert b.memory.read(address, 103)[100:102] == b"ck"

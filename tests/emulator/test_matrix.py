"""Matrix instructions against products of matrices that are placed element by element.

Places are those of AMD's matrix instruction calculator and of the ISA manuals, written down here
as the lane and the register of each element, where the emulator goes the other way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from tests.helpers.isa import Bench

Matrix = NDArray[np.float64]

_BITS = {
    "f32": 32,
    "xf32": 32,
    "f16": 16,
    "bf16": 16,
    "fp6": 6,
    "bf6": 6,
    "fp4": 4,
}
_SMALL = {
    # exponent bits, mantissa bits, bias
    "fnuz_fp8": (4, 3, 8), "fnuz_bf8": (5, 2, 16), "fp8": (4, 3, 7), "bf8": (5, 2, 15),
    "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1),
}  # fmt: skip


def encode(values: Matrix, kind: str) -> NDArray[np.uint64]:
    """Bits of small whole numbers in a format."""
    if kind in ("i8", "u8"):
        return values.astype(np.int64).astype(np.uint8).astype(np.uint64)
    if kind in ("f32", "xf32"):
        return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if kind == "bf16":
        return values.astype(np.float32).view(np.uint32).astype(np.uint64) >> np.uint64(16)
    exponent, mantissa, bias = _SMALL[kind]
    found = np.zeros(values.shape, np.uint64)
    for at in np.ndindex(values.shape):
        value = abs(values[at])
        if value:
            power = int(np.floor(np.log2(value)))
            rest = int((value / 2.0**power - 1) * (1 << mantissa))
            sign = int(values[at] < 0) << (exponent + mantissa)
            found[at] = sign | (power + bias) << mantissa | rest
    return found


def pack(lanes: int, count: int, bits: int) -> NDArray[np.uint32]:
    """Registers of zero: (lane, dword)."""
    return np.zeros((lanes, -(-count * bits // 32)), np.uint32)


def place_into(words: NDArray[np.uint32], lane: int, element: int, value: int, bits: int) -> None:
    """Puts an element among a lane's registers."""
    first, shift = divmod(element * bits, 32)
    for i in range(-(-(shift + bits) // 32)):
        words[lane, first + i] |= np.uint32((value << shift) >> 32 * i & 0xFFFFFFFF)


@dataclass(frozen=True)
class Case:
    """An MFMA: its name, sizes, products, formats, elements of K in a lane."""

    name: str
    m: int
    k: int
    blocks: int
    kinds: tuple[str, str]
    each: int
    arch: str
    result: str = "f32"


def _cases() -> list[Case]:
    found = []

    def add(
        arch: str, name: str, m: int, k: int, blocks: int, kind: str, each: int, result: str = "f32"
    ) -> None:
        a, _, b = kind.partition("/")
        found.append(Case(name, m, k, blocks, (a, b or a), each, arch, result))

    for arch in ("gfx90a", "gfx942"):
        new = arch == "gfx942"
        for m, blocks in ((32, 2), (16, 4), (4, 16)):
            tag = f"_{blocks}b_" if new else ""
            add(arch, f"f32_{m}x{m}x1{tag}f32", m, 1, blocks, "f32", 1)
            add(arch, f"f32_{m}x{m}x4{tag}f16", m, 4, blocks, "f16", 4)
            add(arch, f"f32_{m}x{m}x4{tag}bf16" + ("" if new else "_1k"), m, 4, blocks, "bf16", 4)
            add(arch, f"i32_{m}x{m}x4{tag}i8", m, 4, blocks, "i8", 4, "i32")
            if not new:
                add(arch, f"f32_{m}x{m}x2bf16", m, 2, blocks, "bf16", 2)
        for m, k32, k16 in ((32, 2, 8), (16, 4, 16)):
            tag = "_" if new else ""
            add(arch, f"f32_{m}x{m}x{k32}{tag}f32", m, k32, 1, "f32", 1)
            add(arch, f"f32_{m}x{m}x{k16}{tag}f16", m, k16, 1, "f16", 4)
            add(arch, f"f32_{m}x{m}x{k16}{tag}bf16" + ("" if new else "_1k"), m, k16, 1, "bf16", 4)
            if new:
                add(arch, f"f32_{m}x{m}x{2 * k32}_xf32", m, 2 * k32, 1, "xf32", 2)
                add(arch, f"i32_{m}x{m}x{2 * k16}_i8", m, 2 * k16, 1, "i8", 8, "i32")
                for a in ("fp8", "bf8"):
                    for b in ("fp8", "bf8"):
                        name = f"f32_{m}x{m}x{2 * k16}_{a}_{b}"
                        add(arch, name, m, 2 * k16, 1, f"fnuz_{a}/fnuz_{b}", 8)
                        add("gfx950", name, m, 2 * k16, 1, f"{a}/{b}", 8)
            else:
                add(arch, f"f32_{m}x{m}x{k16 // 2}bf16", m, k16 // 2, 1, "bf16", 2)
                add(arch, f"i32_{m}x{m}x{k16}i8", m, k16, 1, "i8", 4, "i32")
    for m, k in ((32, 16), (16, 32)):
        add("gfx950", f"f32_{m}x{m}x{k}_f16", m, k, 1, "f16", 8)
        add("gfx950", f"f32_{m}x{m}x{k}_bf16", m, k, 1, "bf16", 8)
        add("gfx950", f"i32_{m}x{m}x{2 * k}_i8", m, 2 * k, 1, "i8", 16, "i32")
    return found


CASES = {f"{c.arch}-{c.name}": c for c in _cases()}
IDS = list(CASES)


def numbers(shape: tuple[int, ...], seed: int) -> Matrix:
    """Whole numbers that every format holds."""
    choice = np.array([-4, -3, -2, -1, 0, 1, 2, 3, 4, 6], np.float64)
    return choice[np.random.default_rng(seed).integers(0, len(choice), shape)]


def operand(values: Matrix, kind: str, each: int) -> NDArray[np.uint32]:
    """A (product, row, k) in registers: rows over lanes, then groups of K or products."""
    bits = _BITS.get(kind, 8)
    code = encode(values, kind)
    blocks, rows, _ = values.shape
    words = pack(64, each, bits)
    for (block, row, step), value in np.ndenumerate(code):
        group = block + blocks * (step // each)
        place_into(words, row + rows * group, step % each, int(value), bits)
    return words


def result_place(c: Case, block: int, i: int, j: int) -> tuple[int, int]:
    """Lane and register of an element of C or D."""
    if c.m == 4:
        return j + 4 * block, i
    if c.m == 16:
        return j + 16 * (i // 4), 4 * block + i % 4
    return j + 32 * (i // 4 % 2), 16 * block + 4 * (i // 8) + i % 4


def spread(c: Case, values: Matrix) -> NDArray[Any]:
    """C or D in registers, as numbers: (lane, register)."""
    dtype = {"f32": np.float32, "i32": np.int32}[c.result]
    found = np.zeros((64, values.size // 64), dtype)
    for (block, i, j), value in np.ndenumerate(values):
        found[result_place(c, block, i, j)] = value
    return found


def load(bench: Bench, register: int, words: NDArray[np.uint32], file: str = "v") -> None:
    """Registers of the first wave from (lane, dword)."""
    registers = bench.wave.v if file == "v" else bench.wave.a
    for i in range(words.shape[1]):
        registers[register + i] = words[:, i]


def read(bench: Bench, register: int, like: NDArray[Any], file: str = "v") -> NDArray[Any]:
    """(lane, register) as numbers of a kind."""
    registers = bench.wave.v if file == "v" else bench.wave.a
    count = like.shape[1] * like.itemsize // 4
    words = np.ascontiguousarray(registers[register : register + count, 0].T)
    return words.view(like.dtype)


def span(file: str, start: int, count: int) -> str:
    return f"{file}{start}" if count == 1 else f"{file}[{start}:{start + count - 1}]"


def multiply(
    c: Case, files: str = "vvvv", modifiers: str = "", overlap: bool = False
) -> tuple[Any, ...]:
    """A bench after the MFMA, its matrices, and D as it should be without modifiers."""
    a, b = numbers((c.blocks, c.m, c.k), 1), numbers((c.blocks, c.m, c.k), 2)
    before = numbers((c.blocks, c.m, c.m), 3)
    a_words, b_words = operand(a, c.kinds[0], c.each), operand(b, c.kinds[1], c.each)
    c_words = spread(c, before).view(np.uint32)
    at = {"a": 0, "b": 8, "c": 16, "d": 16 if overlap else 64}
    if overlap:  # D lies over A and B as well
        at = {"a": 16, "b": 16 + a_words.shape[1], "c": 64, "d": 16}
    counts = {
        "d": c_words.shape[1],
        "a": a_words.shape[1],
        "b": b_words.shape[1],
        "c": c_words.shape[1],
    }
    text = ", ".join(span(f, at[x], counts[x]) for f, x in zip(files, "dabc", strict=True))
    bench = Bench(f"v_mfma_{c.name} {text} {modifiers}", arch=c.arch)
    for name, words, file in (
        ("a", a_words, files[1]),
        ("b", b_words, files[2]),
        ("c", c_words, files[3]),
    ):
        load(bench, at[name], words, file)
    bench.mask(126, np.arange(64) % 3 == 0)  # EXEC, which does not matter
    bench.run()
    return bench, a, b, before, at["d"]


@pytest.mark.parametrize("name", IDS)
def test_an_mfma_multiplies(name: str) -> None:
    c = CASES[name]
    bench, a, b, before, at = multiply(c)
    wanted = spread(c, before + a @ b.swapaxes(1, 2))
    assert (read(bench, at, wanted) == wanted).all()


@pytest.mark.parametrize("name", IDS[::3])
def test_operands_and_results_may_be_accumulation_registers(name: str) -> None:
    c = CASES[name]
    bench, a, b, before, at = multiply(c, "aaaa")
    wanted = spread(c, before + a @ b.swapaxes(1, 2))
    assert (read(bench, at, wanted, "a") == wanted).all()


@pytest.mark.parametrize("name", IDS[1::4])
def test_a_result_may_lie_over_operands(name: str) -> None:
    c = CASES[name]
    bench, a, b, before, at = multiply(c, overlap=True)
    wanted = spread(c, before + a @ b.swapaxes(1, 2))
    assert (read(bench, at, wanted) == wanted).all()


@pytest.mark.parametrize(("constant", "value"), [("0", 0.0), ("1.0", 1.0), ("-4.0", -4.0)])
def test_a_constant_is_added(constant: str, value: float) -> None:
    c = CASES["gfx942-f32_16x16x16_f16"]
    a, b = numbers((1, 16, 16), 1), numbers((1, 16, 16), 2)
    bench = Bench(f"v_mfma_{c.name} v[64:67], v[0:1], v[8:9], {constant}")
    load(bench, 0, operand(a, "f16", 4))
    load(bench, 8, operand(b, "f16", 4))
    bench.run()
    wanted = spread(c, value + a @ b.swapaxes(1, 2))
    assert (read(bench, 64, wanted) == wanted).all()


@pytest.mark.parametrize(
    "text",
    [
        "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3] op_sel:[1,0,0]",
        "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:1",
        "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3] neg:[1,0,0]",
        "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:2 abid:1",
        "v_mfma_f32_16x16x4_4b_f16 v[0:15], v[16:17], v[18:19], v[0:15] blgp:1",
        "v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[8:13], v[16:21], v[64:67] cbsz:5 blgp:2",
        "v_smfmac_f32_16x16x32_f16 v[10:13], v[2:3], v[4:7], v1 abid:4",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        Bench(text).run()


# gfx950: operands of 8, 6 and 4 bits, with scales


def scaled_operand(values: Matrix, kind: str) -> NDArray[np.uint32]:
    """Rows over lanes; of 8 bits 16 elements of each half of K a lane, of fewer 32 in a row."""
    rows, k = values.shape
    bits = _BITS.get(kind, 8)
    words = pack(64, 32, bits)
    for (row, step), value in np.ndenumerate(encode(values, kind)):
        if bits < 8:
            group, element = step // 32, step % 32
        else:
            half, rest = divmod(step, k // 2)
            group, element = rest // 16, 16 * half + rest % 16
        place_into(words, row + rows * group, element, int(value), bits)
    return words


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize(
    ("a_kind", "b_kind"),
    [
        ("fp8", "fp8"), ("bf8", "fp8"), ("fp4", "fp4"), ("fp8", "fp4"), ("fp6", "fp6"),
        ("bf6", "bf6"), ("fp6", "fp8"), ("fp4", "bf6"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("m", "k"), [(16, 128), (32, 64)])
def test_operands_of_8_6_and_4_bits(m: int, k: int, a_kind: str, b_kind: str, scales: bool) -> None:
    c = Case("", m, k, 1, (a_kind, b_kind), 32, "gfx950")
    a, b, before = numbers((m, k), 1), numbers((m, k), 2), numbers((1, m, m), 3)
    code = {"fp8": 0, "bf8": 1, "fp6": 2, "bf6": 3, "fp4": 4}
    d, (a_last, b_last) = (
        span("v", 64, m * m // 64),
        (_BITS.get(kind, 8) - 1 for kind in (a_kind, b_kind)),
    )
    text = f"{d}, v[0:{a_last}], v[8:{8 + b_last}], {d}"
    more = f"cbsz:{code[a_kind]} blgp:{code[b_kind]}"
    name = f"f32_{m}x{m}x{k}_f8f6f4"
    if scales:
        text, more = f"{text}, v100, v101", f"op_sel:[1,0,0] op_sel_hi:[0,1,0] {more}"
        name = f"scale_{name}"
    bench = Bench(f"v_mfma_{name} {text} {more}", arch="gfx950")
    load(bench, 0, scaled_operand(a, a_kind))
    load(bench, 8, scaled_operand(b, b_kind))
    load(bench, 64, spread(c, before).view(np.uint32))
    exponents = np.random.default_rng(5).integers(-3, 4, (2, 64))
    bench.v(100, ((exponents[0] + 127) << 8).astype(np.uint32))
    bench.v(101, ((exponents[1] + 127) << 16).astype(np.uint32))
    bench.run()
    if scales:
        for matrix, each in ((a, exponents[0]), (b, exponents[1])):
            for row, step in np.ndindex(m, k):
                matrix[row, step] *= 2.0 ** each[row + m * (step // 32)]
    wanted = spread(c, before + (a @ b.T)[None])
    assert np.allclose(read(bench, 64, wanted), wanted, rtol=1e-6)


@pytest.mark.parametrize("byte", range(4))
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_pairs_of_4_bits_are_widened_by_a_power_of_two(kind: str, byte: int) -> None:
    text = f"v_cvt_scalef32_pk_{kind}_fp4 v2, v0, v1 op_sel:[{byte & 1},{byte >> 1},0]"
    bench = Bench(text, arch="gfx950")
    drawn = np.random.default_rng(byte)
    source = drawn.integers(0, 2**32, 64, dtype=np.uint32)
    bench.v(0, source)
    scales = np.ldexp(drawn.uniform(1, 2, 64), drawn.integers(-6, 7, 64)).astype(np.float32)
    bench.v(1, scales.view(np.uint32))
    bench.run()
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    octets = source.view(np.uint8).reshape(64, 4)[:, byte]
    halves = np.stack([octets & 15, octets >> 4], axis=-1)
    # of a scale the exponent counts alone
    powers = np.exp2(np.floor(np.log2(scales)))[:, None]
    wanted = np.where(halves > 7, -1, 1) * table[halves & 7] * powers
    found = read(bench, 2, np.zeros((64, 1), np.uint32)).view(np.uint16).reshape(64, 2)
    if kind == "f16":
        assert (found.view(np.float16) == wanted).all()
    else:
        assert ((found.astype(np.uint32) << 16).view(np.float32) == wanted).all()


# RDNA


def wmma_operand(values: Matrix, kind: str, new: bool) -> NDArray[np.uint32]:
    """Rows over lanes: RDNA4 halves K, RDNA3 holds each row twice."""
    k = values.shape[1]
    bits = _BITS.get(kind, 8)
    words = pack(32, k // 2 if new else k, bits)
    for (row, step), value in np.ndenumerate(encode(values, kind)):
        if new:
            place_into(words, row + 16 * (step // (k // 2)), step % (k // 2), int(value), bits)
        else:
            for lane in (row, row + 16):
                place_into(words, lane, step, int(value), bits)
    return words


def wmma_result(values: Matrix, new: bool) -> Matrix:
    """(lane, register)."""
    found = np.zeros((32, 8))
    for (i, j), value in np.ndenumerate(values):
        lane, register = (j + 16 * (i // 8), i % 8) if new else (j + 16 * (i % 2), i // 2)
        found[lane, register] = value
    return found


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("name", "kind"), [("f32_16x16x16_f16", "f16"), ("f32_16x16x16_bf16", "bf16")]
)
def test_a_wmma_multiplies(arch: str, name: str, kind: str) -> None:
    new = arch == "gfx1201"
    a, b, before = numbers((16, 16), 1), numbers((16, 16), 2), numbers((16, 16), 3)
    last = 3 if new else 7
    bench = Bench(f"v_wmma_{name} v[32:39], v[0:{last}], v[8:{8 + last}], v[32:39]", arch=arch)
    load(bench, 0, wmma_operand(a, kind, new))
    load(bench, 8, wmma_operand(b, kind, new))
    load(bench, 32, wmma_result(before, new).astype(np.float32).view(np.uint32))
    bench.run()
    wanted = wmma_result(before + a @ b.T, new).astype(np.float32)
    assert (read(bench, 32, wanted) == wanted).all()


@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_a_wmma_of_8_bits_multiplies(kind: str) -> None:
    a, b = numbers((16, 16), 1), numbers((16, 16), 2)
    bench = Bench(f"v_wmma_f32_16x16x16_{kind}_fp8 v[32:39], v[0:1], v[8:9], 1.0", arch="gfx1201")
    load(bench, 0, wmma_operand(a, kind, True))
    load(bench, 8, wmma_operand(b, "fp8", True))
    bench.run()
    wanted = wmma_result(1 + a @ b.T, True).astype(np.float32)
    assert (read(bench, 32, wanted) == wanted).all()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("signs", [(1, 1), (0, 1), (0, 0)])
def test_a_wmma_of_whole_numbers_multiplies(arch: str, signs: tuple[int, int]) -> None:
    new = arch == "gfx1201"
    dice = np.random.default_rng(7)
    a, b = (dice.integers(-128 * s, 256 - 128 * s, (16, 16)).astype(np.float64) for s in signs)
    last = 1 if new else 3
    text = f"v[32:39], v[0:{last}], v[8:{8 + last}], 5 neg_lo:[{signs[0]},{signs[1]},0]"
    bench = Bench(f"v_wmma_i32_16x16x16_iu8 {text}", arch=arch)
    load(bench, 0, wmma_operand(a, "i8", new))
    load(bench, 8, wmma_operand(b, "i8", new))
    bench.run()
    wanted = wmma_result(5 + a @ b.T, new).astype(np.int32)
    assert (read(bench, 32, wanted) == wanted).all()


@pytest.mark.parametrize(("modifier", "wanted"), [("clamp", 2**31 - 1), ("", -(2**31) + 255)])
def test_sums_of_whole_numbers_are_kept_in_range_or_wrap(modifier: str, wanted: int) -> None:
    ones = np.ones((16, 16))
    text = f"v[32:39], v[0:1], v[8:9], v[32:39] {modifier}"
    bench = Bench(f"v_wmma_i32_16x16x16_iu8 {text}", arch="gfx1201")
    load(bench, 0, wmma_operand(16 * ones, "u8", True))
    load(bench, 8, wmma_operand(ones, "u8", True))
    load(bench, 32, np.full((32, 8), 0x7FFFFFFF, np.uint32))
    bench.run()
    assert (read(bench, 32, np.zeros((32, 8), np.int32)) == wanted).all()


@pytest.mark.parametrize("apart", [-2, -1, 1, 3])
def test_an_addend_may_overlap_the_result(apart: int) -> None:
    sources = np.random.default_rng(3).standard_normal((20, 64)).astype(np.float32)
    results = []
    for target in (20, 40):  # registers of the addend: 20 + apart to 23 + apart
        text = f"v_mfma_f32_16x16x16_f16 v[{target}:{target + 3}], v[0:1], v[2:3], "
        bench = Bench(text + f"v[{20 + apart}:{23 + apart}]", "gfx942")
        for i in range(4):
            bench.v(i, sources[i].astype(np.float16).view(np.uint16).astype(np.uint32))
            bench.v(20 + apart + i, sources[4 + i])
        bench.run()
        results.append([bench.get(target + i).tolist() for i in range(4)])
    assert results[0] == results[1]

"""Products with a sparse A against products of matrices that are placed element by element.

Places of elements and indices are those that ROCm/hip-fpsan found on an MI350 and on an RX 9070
(``amdgcn_smfmac.hpp``, ``amdgcn_swmmac_gfx12.hpp``), where the emulator knows only which element of
A meets which of B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ckrules.emulator.errors import UnknownInstructionError
from tests.emulator.test_matrix import (
    Case,
    Matrix,
    encode,
    load,
    numbers,
    pack,
    place_into,
    read,
    span,
    spread,
    wmma_result,
)
from tests.helpers.isa import Bench

Place = tuple[int, int]
"""A group of lanes, and an element or, of indices, a field of four bits in it."""


@dataclass(frozen=True)
class Layout:
    """Where things are: element ``c`` of a row of A without its zeros, ``k`` of B, four ``q``."""

    a: Callable[[int], Place]
    b: Callable[[int], Place]
    index: Callable[[int], Place]


def _doubled_16(c: int) -> Place:
    return 2 * (c >> 5 & 1) + (c >> 3 & 1), 4 * (2 * (c >> 2 & 1) + (c >> 4 & 1)) + (c & 3)


LAYOUTS = {
    "16x16x32_16": Layout(
        lambda c: (c // 4, c % 4), lambda k: (k // 8, k % 8), lambda q: (q // 2, q % 2)
    ),
    "32x32x16_16": Layout(
        lambda c: (c // 4, c % 4), lambda k: (k // 8, k % 8), lambda q: (q // 2, q % 2)
    ),
    "16x16x64_16": Layout(
        lambda c: (c // 8, c % 8),
        lambda k: (k % 32 // 8, k % 8 + 8 * (k >= 32)),
        lambda q: (q // 4, q % 4),
    ),
    "32x32x32_16": Layout(
        lambda c: (c // 8, c % 8),
        lambda k: (k % 16 // 8, k % 8 + 8 * (k // 16)),
        lambda q: (q // 4, q % 4),
    ),
    "16x16x64_8": Layout(
        lambda c: (c % 16 // 4, 4 * (c // 16) + c % 4),
        lambda k: (k % 32 // 8, 8 * (k // 32) + k % 8),
        lambda q: (q % 8 // 2, 2 * (q // 8) + q % 2),
    ),
    "32x32x32_8": Layout(
        lambda c: (c % 8 // 4, 4 * (c // 8) + c % 4),
        lambda k: (k % 16 // 8, 8 * (k // 16) + k % 8),
        lambda q: (q % 4 // 2, 2 * (q // 4) + q % 2),
    ),
    "16x16x128_8": Layout(
        _doubled_16,
        lambda k: (k % 32 // 8, 8 * (k // 32) + k % 8),
        lambda q: (2 * (q // 16) + q // 4 % 2, 2 * (q // 8 % 2) + 4 * (q % 4 // 2) + q % 2),
    ),
    "32x32x64_8": Layout(
        lambda c: (c >> 4 & 1, 4 * (2 * (c >> 2 & 1) + (c >> 3 & 1)) + (c & 3)),
        lambda k: (k % 16 // 8, 8 * (k // 16) + k % 8),
        lambda q: (q // 8, q % 2 + 2 * (q // 4 % 2) + 4 * (q // 2 % 2)),
    ),
    "rdna_16": Layout(
        lambda c: (c // 4 % 2, 2 * (2 * (c // 8) + c // 2 % 2) + c % 2),
        lambda k: (k // 8 % 2, 8 * (k // 16) + k % 8),
        lambda q: (q // 2 % 2, q % 2 + 2 * (q // 4)),
    ),
    "rdna_8": Layout(
        lambda c: (c // 8, c % 8), lambda k: (k // 16, k % 16), lambda q: (q // 4, q % 4)
    ),
    "rdna_64": Layout(
        lambda c: (c // 16, c % 16), lambda k: (k // 32, k % 32), lambda q: (q // 8, q % 8)
    ),
}
_BITS = {"f16": 16, "bf16": 16, "u4": 4}


@dataclass
class Sparse:
    """A as a matrix and as its elements and indices, and B."""

    dense: Matrix
    kept: Matrix
    positions: NDArray[np.int64]
    b: Matrix

    @classmethod
    def of(cls, rows: int, k: int, low: int = -4) -> Sparse:
        """Small whole numbers: two of four in each row of A, at random places."""
        dice = np.random.default_rng(k)
        pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
        positions = pairs[dice.integers(0, 6, (rows, k // 4))]
        kept = np.maximum(numbers((rows, k // 2), 1), low)
        dense = np.zeros((rows, k))
        for (row, q, s), at in np.ndenumerate(positions):
            dense[row, 4 * q + at] = kept[row, 2 * q + s]
        return cls(dense, kept, positions, np.maximum(numbers((rows, k), 2), low))

    def put(
        self, bench: Bench, layout: Layout, kinds: tuple[str, str], chosen: int, at: Place
    ) -> None:
        """A, B and the indices into registers 0, 16 and 40; ``chosen`` is the set of indices."""
        rows, k = self.dense.shape
        lanes, groups = at
        bits = [_BITS.get(kind, 8) for kind in kinds]
        a, b = pack(lanes, k // 2 // groups, bits[0]), pack(lanes, k // groups, bits[1])
        for (row, c), value in np.ndenumerate(encode(self.kept, kinds[0])):
            group, element = layout.a(c)
            place_into(a, row + rows * group, element, int(value), bits[0])
        for (row, step), value in np.ndenumerate(encode(self.b, kinds[1])):
            group, element = layout.b(step)
            place_into(b, row + rows * group, element, int(value), bits[1])
        size = k // groups  # bits of the indices of a lane
        index = np.random.default_rng(3).integers(0, 1 << 32, lanes, np.uint64).astype(np.uint32)
        index &= ~np.uint32(((1 << size) - 1) << chosen * size)
        for row, q in np.ndindex(rows, k // 4):
            group, field = layout.index(q)
            both = int(self.positions[row, q, 0] | self.positions[row, q, 1] << 2)
            index[row + rows * group] |= np.uint32(both << (chosen * size + 4 * field))
        load(bench, 0, a)
        load(bench, 16, b)
        bench.v(40, index)


SMFMAC = [
    ("gfx942", "f32_16x16x32_f16", "16x16x32_16", "f16/f16", 4),
    ("gfx942", "f32_32x32x16_bf16", "32x32x16_16", "bf16/bf16", 4),
    ("gfx942", "i32_16x16x64_i8", "16x16x64_8", "i8/i8", 2),
    ("gfx942", "f32_16x16x64_fp8_bf8", "16x16x64_8", "fnuz_fp8/fnuz_bf8", 2),
    ("gfx942", "f32_32x32x32_bf8_fp8", "32x32x32_8", "fnuz_bf8/fnuz_fp8", 2),
    ("gfx950", "f32_16x16x64_f16", "16x16x64_16", "f16/f16", 2),
    ("gfx950", "f32_32x32x32_bf16", "32x32x32_16", "bf16/bf16", 2),
    ("gfx950", "f32_16x16x128_fp8_fp8", "16x16x128_8", "fp8/fp8", 1),
    ("gfx950", "i32_32x32x64_i8", "32x32x64_8", "i8/i8", 1),
    ("gfx950", "f32_32x32x64_bf8_fp8", "32x32x64_8", "bf8/fp8", 1),
]
SETS = [(*row[:4], chosen) for row in SMFMAC for chosen in range(row[4])]


@pytest.mark.parametrize(("arch", "name", "layout", "kinds", "chosen"), SETS)
def test_an_smfmac_multiplies(arch: str, name: str, layout: str, kinds: str, chosen: int) -> None:
    result, shape, *_ = name.split("_")
    m, _, k = (int(x) for x in shape.split("x"))
    a_kind, b_kind = kinds.split("/")
    case = Case("", m, k, 1, (a_kind, b_kind), 0, arch, result)
    sparse, before = Sparse.of(m, k), numbers((1, m, m), 3)
    size = 8 if layout.endswith("_8") else 16
    groups = 64 // m
    a, b = (
        span("v", at, n)
        for at, n in ((0, k * size // 64 // groups), (16, k * size // 32 // groups))
    )
    text = f"{span('v', 64, m * m // 64)}, {a}, {b}, v40"
    bench = Bench(f"v_smfmac_{name} {text}" + (f" abid:{chosen}" if chosen else ""), arch=arch)
    sparse.put(bench, LAYOUTS[layout], (a_kind, b_kind), chosen, (64, groups))
    load(bench, 64, spread(case, before).view(np.uint32))
    bench.mask(126, np.arange(64) % 3 == 0)  # EXEC, which does not matter
    bench.run()
    wanted = spread(case, before + (sparse.dense @ sparse.b.T)[None])
    assert (read(bench, 64, wanted) == wanted).all()


def test_cbsz_chooses_the_first_set_of_indices() -> None:
    sparse = Sparse.of(16, 32)
    bench = Bench("v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[16:19], v40 cbsz:1 abid:2")
    sparse.put(bench, LAYOUTS["16x16x32_16"], ("f16", "f16"), 0, (64, 4))
    bench.run()
    case = Case("", 16, 32, 1, ("f16", "f16"), 0, "gfx942")
    wanted = spread(case, (sparse.dense @ sparse.b.T)[None])
    assert (read(bench, 64, wanted) == wanted).all()


def test_what_no_element_of_a_meets_is_not_seen() -> None:
    sparse = Sparse.of(16, 32)
    sparse.positions[:] = (0, 2)
    sparse.b[:, 1::4] = np.inf
    sparse.b[:, 3::4] = np.nan
    bench = Bench("v_smfmac_f32_16x16x32_bf16 v[64:67], v[0:1], v[16:19], v40")
    sparse.put(bench, LAYOUTS["16x16x32_16"], ("bf16", "bf16"), 0, (64, 4))
    bench.run()
    assert np.isfinite(bench.get(64, np.float32)).all()


SWMMAC = [
    ("f32_16x16x32_f16", "rdna_16", "f16/f16", 2),
    ("f32_16x16x32_bf16", "rdna_16", "bf16/bf16", 2),
    ("f32_16x16x32_bf8_fp8", "rdna_8", "bf8/fp8", 2),
    ("i32_16x16x32_iu8", "rdna_8", "i8/i8", 2),
    ("i32_16x16x32_iu4", "rdna_8", "u4/u4", 2),
    ("i32_16x16x64_iu4", "rdna_64", "u4/u4", 1),
]


@pytest.mark.parametrize(
    ("name", "layout", "kinds", "chosen"),
    [(*row[:3], chosen) for row in SWMMAC for chosen in range(row[3])],
)
def test_a_swmmac_multiplies(name: str, layout: str, kinds: str, chosen: int) -> None:
    k, whole = int(name.split("_")[1].split("x")[2]), name.startswith("i32")
    a_kind, b_kind = kinds.split("/")
    sparse, before = Sparse.of(16, k), numbers((16, 16), 3)
    size = _BITS.get(a_kind, 8)
    a, b = span("v", 0, k * size // 128), span("v", 16, k * size // 64)
    more = (f" index_key:{chosen}" if chosen else "") + (" neg_lo:[1,1,0]" if whole else "")
    bench = Bench(f"v_swmmac_{name} v[64:71], {a}, {b}, v40{more}", arch="gfx1201")
    sparse.put(bench, LAYOUTS[layout], (a_kind, b_kind), chosen, (32, 2))
    dtype: Any = np.int32 if whole else np.float32
    load(bench, 64, wmma_result(before, True).astype(dtype).view(np.uint32))
    bench.run()
    wanted = wmma_result(before + sparse.dense @ sparse.b.T, True).astype(dtype)
    assert (read(bench, 64, wanted) == wanted).all()


def test_results_of_16_bits_are_added_to() -> None:
    sparse, before = Sparse.of(16, 32), numbers((16, 16), 3)
    text = "v_swmmac_f16_16x16x32_f16 v[64:67], v[0:3], v[16:23], v40"
    bench = Bench(text, arch="gfx1201")
    sparse.put(bench, LAYOUTS["rdna_16"], ("f16", "f16"), 0, (32, 2))
    halves = wmma_result(before, True).astype(np.float16)
    load(bench, 64, np.ascontiguousarray(halves).view(np.uint32))
    bench.run()
    wanted = wmma_result(before + sparse.dense @ sparse.b.T, True).astype(np.float16)
    assert (read(bench, 64, wanted) == wanted).all()


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("v_smfmac_f32_16x16x64_fp8_fp8 v[64:67], v[0:1], v[16:19], v40 abid:2", "gfx942"),
        ("v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[16:19], v40 blgp:1", "gfx942"),
        ("v_swmmac_i32_16x16x64_iu4 v[64:71], v[0:1], v[16:19], v40 index_key:1", "gfx1201"),
        ("v_swmmac_f32_16x16x32_f16 v[64:71], v[0:3], v[16:23], v40 clamp", "gfx1201"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, arch: str) -> None:
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        Bench(text, arch=arch).run()

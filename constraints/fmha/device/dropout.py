"""The random bytes by which attention kernels drop probabilities: those that the GPU makes.

Facts: core/utility/philox_rand.hpp (Philox 4x32 of seven rounds) and
host/reference/reference_batched_dropout_randval.hpp, CK 2025.11. Each tile of 32x32 probabilities
has a subsequence of its own, and each head of each sequence 64 places in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 7
_KEYS = (0x9E3779B9, 0xBB67AE85)
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_SIDE = 32
_PLACES = 64
_LOW = np.uint64(0xFFFFFFFF)

Words = NDArray[np.uint64]


def philox(counter: tuple[Words, Words, Words, Words], seed: int) -> tuple[Words, ...]:
    """Four words of 32 bits for each counter of four words.

    >>> one = np.array([1], np.uint64)
    >>> [hex(int(w[0])) for w in philox((one, one, one, one), 7)]
    ['0xd42b2271', '0x1d048ed0', '0x7e2ccc54', '0xeb6b791f']
    """
    x, y, z, w = counter
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(_ROUNDS):
        first, second = np.uint64(_FACTORS[0]) * x, np.uint64(_FACTORS[1]) * z
        high = [product >> np.uint64(32) for product in (first, second)]
        x, y, z, w = (
            high[1] ^ y ^ np.uint64(keys[0]),
            second & _LOW,
            high[0] ^ w ^ np.uint64(keys[1]),
            first & _LOW,
        )
        keys = [(key + more) & 0xFFFFFFFF for key, more in zip(keys, _KEYS, strict=True)]
    return x, y, z, w


def random_bytes(
    sequence: int, heads: int, rows: int, columns: int, seed: int, offset: int
) -> NDArray[np.uint8]:
    """A byte for each probability of a sequence: (heads, rows, columns).

    >>> random_bytes(0, 1, 40, 33, seed=1, offset=2).shape
    (1, 40, 33)
    """
    down, across = -(-rows // _SIDE), -(-columns // _SIDE)
    shape = (heads, down, across, _PLACES)
    head, row, column, lane = np.indices(shape).astype(np.uint64)
    place = np.uint64(offset + sequence * heads * _PLACES) + head * np.uint64(_PLACES) + lane
    made = philox((place & _LOW, place >> np.uint64(32), row, column), seed)
    words = np.stack(made, axis=-1).astype("<u4").view(np.uint8)  # 16 bytes of a lane
    # of lane l and byte r: row 16 (r / 8) + 8 (l / 32) + r % 8, column l % 32
    parts = words.reshape(heads, down, across, 2, _SIDE, 2, 8)
    tiles = parts.transpose(0, 1, 5, 3, 6, 2, 4)
    whole = tiles.reshape(heads, down * _SIDE, across * _SIDE)
    return whole[:, :rows, :columns]

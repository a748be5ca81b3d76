"""What was seen where, in bounded memory: a number for each of very many texts or points."""

from __future__ import annotations

from array import array

_MOST = 1 << 20


class Sightings:
    """A number by 64-bit hash: 16 bytes for each of at most a million entries, twice that at worst.

    Two entries of one hash would be taken for one; among a million that is one case in ten million.

    >>> seen = Sightings()
    >>> seen.first(hash("a"), 7), seen.first(hash("a"), 9), len(seen)
    (7, 7, 1)
    """

    def __init__(self) -> None:
        self._size = 0
        self._keys, self._values = array("q", bytes(8 << 10)), array("q", bytes(8 << 10))

    def __len__(self) -> int:
        return self._size

    def first(self, key: int, value: int) -> int:
        """The number kept for the key: that of its first time. Behind a million all are new."""
        at = self._at(key)
        if self._keys[at]:
            return self._values[at]
        if self._size < _MOST:
            self._keys[at], self._values[at] = key or 1, value
            self._size += 1
            if 2 * self._size > len(self._keys):
                self._grow()
        return value

    def count(self, key: int) -> int:
        """How often the key was counted, this time included. Behind a million it is once."""
        at = self._at(key)
        if not self._keys[at]:
            return self.first(key, 1)
        self._values[at] += 1
        return self._values[at]

    def _at(self, key: int) -> int:
        key, mask = key or 1, len(self._keys) - 1
        at = (key ^ key >> 32) & mask
        while self._keys[at] and self._keys[at] != key:
            at = (at + 1) & mask
        return at

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._keys, self._values = (array("q", bytes(16 * len(keys))) for _ in range(2))
        for key, value in zip(keys, values, strict=True):
            if key:
                at = self._at(key)
                self._keys[at], self._values[at] = key, value

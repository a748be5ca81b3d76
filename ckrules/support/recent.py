"""A map of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """A map that forgets what was longest not asked for; threads may share it.

    Args:
        most: So many entries are kept.

    >>> recent = Recent(2)
    >>> recent["a"], recent["b"] = 1, 2
    >>> recent.get("a")
    1
    >>> recent["c"] = 3
    >>> list(recent)
    ['a', 'c']
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def get(self, key: K) -> V | None:  # type: ignore[override]  # no default, unlike a dict's
        """The value, which is kept longer now; None if it is not there."""
        try:
            found = self[key]  # first: of an empty map, moving hashes no key
            self.move_to_end(key)
            return found
        except KeyError:  # or another thread has just pushed it out
            return None

    def items(self) -> list[tuple[K, V]]:  # type: ignore[override]  # as they are now
        """All entries, in any order; `get` may reorder them meanwhile, in another thread, too."""
        return list(dict.items(self))

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        while len(self) > self.most:
            try:
                self.popitem(last=False)
            except KeyError:  # another thread was first
                return

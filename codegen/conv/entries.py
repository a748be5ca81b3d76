"""The entries of a device object: in CK 2025.11 a kernel is compiled once for each kind of tail.

A launcher of that release computes the number of K steps, takes from it whether the pipeline has a
hot loop and which tail follows, and launches the instantiation for this pair and for the memory
operation (``set``, or ``atomic_add`` for split-K in backward weight). Since 2026.06 the kernel
decides on the device, so that one entry is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckrules.engine.expr import Value

_COUNTS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven")


@dataclass(frozen=True, slots=True)
class Entry:
    """One instantiation: the entry's suffix and the template arguments behind it."""

    suffix: str  # ex) hot_full_set
    hot: bool
    tail: str  # ex) Full
    operation: str  # ex) set

    @property
    def cpp(self) -> str:
        """The arguments of the header's template ``Variant``."""
        hot = "true" if self.hot else "false"
        return (
            f"{hot}, ck_tile::TailNumber::{self.tail}, "
            f"ck_tile::memory_operation_enum::{self.operation}"
        )


MAIN = Entry("main", True, "Full", "set")
"""The only entry of kernels that decide on the device."""


def tails(pipeline: str, stages: int) -> list[tuple[bool, str]]:
    """Hot loop and tail of every instantiation that a number of K steps leads to."""
    if pipeline == "mem":
        tails = [*_COUNTS[: stages - 1], "Full"]
        return [(hot, tail) for hot in (True, False) for tail in tails]
    if pipeline == "compv3":
        return [(True, "Full"), (False, "Odd"), (False, "Even")]
    if pipeline == "compv4":
        return [(True, "Three"), (True, "Two"), (False, "Two"), (False, "One")]
    if pipeline == "compv5":
        return [(True, "Empty")]
    return [(True, "Full")]


def entries(ck: str, point: Mapping[str, Value], stages: int, adds: bool) -> tuple[Entry, ...]:
    """The entries of a kernel's device object, the most used first.

    Args:
        stages: Block tiles that the pipeline ``mem`` has under way (`mem_stages` of the rules).
        adds: Whether the kernel can add results to memory (`adds_atomically` of the rules); of
            CK 2025.11 only backward weight does, where a sum is split.
    """
    if ck != "2025.11":
        return (MAIN,)
    splits = adds and point["variant"] == "bwd_weight"
    operations = ("set", "atomic_add") if splits else ("set",)
    return tuple(
        Entry(f"{'hot' if hot else 'cold'}_{tail.lower()}_{op}", hot, tail, op)
        for op in operations
        for hot, tail in tails(str(point["pipeline"]), stages)
    )

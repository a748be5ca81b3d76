"""The entries of a device object: in CK 2025.11 a kernel is compiled once for each kind of tail.

A launcher of that release computes the number of K steps, takes from it whether the pipeline has a
hot loop and which tail follows, and launches the instantiation for this pair and for the memory
operation (``set``, or ``atomic_add`` for split-K). Since 2026.06 the kernel decides on the device,
so that one entry is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

_COUNTS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven")


@dataclass(frozen=True, slots=True)
class TemplateEntry:
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


MAIN = TemplateEntry("main", True, "Full", "set")
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

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
_MIN_BYTES_IN_FLIGHT = 32768


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


def prefetch_stages(point: Mapping[str, Value], element_bytes: int) -> int:
    """K steps that the ``mem`` pipeline keeps in flight.

    BaseGemmPipelineAgBgCrMem::PrefetchStages of CK 2025.11; the wave size cancels out.

    >>> prefetch_stages({"tile_m": 128, "tile_n": 128, "tile_k": 64,
    ...                  "wave_m": 2, "wave_n": 2, "wave_k": 1}, 2)
    2
    """
    m, n, k = (int(point[f"tile_{d}"]) for d in "mnk")
    waves = int(point["wave_m"]) * int(point["wave_n"]) * int(point["wave_k"])
    blocks = max(4 // waves, 1)
    step = (m + n) * element_bytes * k
    return min(max(-(-(_MIN_BYTES_IN_FLIGHT // blocks) // step), 2), 8)


def _tails(pipeline: str, stages: int) -> list[tuple[bool, str]]:
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
        adds: Whether the kernel can add results to memory (`adds_atomically` of the rules); of
            CK 2025.11 only backward weight does, where a sum is split.
    """
    if ck != "2025.11" or point["variant"] == "forward_depthwise":
        return (Entry("main", True, "Full", "set"),)
    splits = adds and point["variant"] == "bwd_weight"
    operations = ("set", "atomic_add") if splits else ("set",)
    return tuple(
        Entry(f"{'hot' if hot else 'cold'}_{tail.lower()}_{op}", hot, tail, op)
        for op in operations
        for hot, tail in _tails(str(point["pipeline"]), stages)
    )

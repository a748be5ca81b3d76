"""The entries of a convolution's device object; see `ckrules.codegen.entries`."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.codegen.entries import MAIN, TemplateEntry, tails
from ckrules.engine.expr import Value


def entries(
    ck: str, point: Mapping[str, Value], stages: int, adds: bool
) -> tuple[TemplateEntry, ...]:
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
        TemplateEntry(f"{'hot' if hot else 'cold'}_{tail.lower()}_{op}", hot, tail, op)
        for op in operations
        for hot, tail in tails(str(point["pipeline"]), stages)
    )

"""EPI: stores that add atomically, in the backward directions."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule


@rule(
    "EPI009", "no-such-atomic-width", kind="compile", since="2026.06",
    applies=lambda c: (c.epilogue == "cshuffle") & c.c.sound & c.backward,
    says=("{variant} adds atomically, and no atomic addition has {c_width} elements of "
          "{output_bytes} bytes, expected {ite(output_bytes == 2, '2, 4 or 8', '1, 2 or "
          "4')}: vector_c = {vector_c}"),
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_atomic_add static_assert on the width",
            "grouped_convolution_backward_*_kernel.hpp: the split-K path is always instantiated"],
    accepts=[{"variant": "bwd_weight"}, {"variant": "bwd_weight", "vector_c": 1}],
    rejects=[{"variant": "bwd_weight", "vector_c": 16},
             {"variant": "bwd_weight", "two_stage": True, "vector_c": 8}],
)  # fmt: skip
def atomics_have_width(c: ConvQuantities) -> BoolExpr:
    """Backward kernels store at a width that atomic additions have.

    Why: they always contain the split-K path, which adds atomically: 1, 2 or 4 floats, or 2, 4
    or 8 16-bit elements. With 16-bit output and an odd vector the path is left out.

    Fix: narrow vector_c.
    """
    return c.odd_halves | c.adds_atomically

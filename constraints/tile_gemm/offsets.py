"""Offsets of 32 bits: how large a tensor may be that is viewed from its first element."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, IntExpr, const, ite

VIEW = (
    "core/tensor/tensor_descriptor.hpp: calculate_element_space_size_impl (index_t)",
    "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource (uint32_t size), index_t src_thread_addr_offset",
)  # fmt: skip
"""Where headers count elements and bytes of a view in 32 bits."""


def within_offsets(elements: IntExpr, size: IntExpr) -> BoolExpr:
    """Fewer elements of so many bytes than 2**31, and fewer bytes than 2**32."""
    return elements < ite(size == 4, 2**30, 2**31)


def within_2_gib(elements: IntExpr, size: IntExpr, packed: BoolExpr) -> BoolExpr:
    """Fewer bytes than 2**31, which checks of arguments ask; two ``packed`` elements are a byte."""
    return elements < ite(packed, 2**32, const(2**31) // size)

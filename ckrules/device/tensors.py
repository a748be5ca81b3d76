"""Tensors of a convolution: canonical order for computing, and the order in device memory.

Canonical are input (N, G, C, axes), weight (G, K, C, axes) and output (N, G, K, axes) with the
channels of one group. In memory channels come last (NHWGC, GKYXC, NHWGK), but for the depthwise
kernels, whose packed NGCHW, GKCYX and NGKHW are canonical already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckrules.device.numbers import decode, encode, from_bytes, sample
from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.numbers import Bits, Floats
    from ckrules.device.problem import Problem

    Mask = NDArray[np.bool_]

ROLES = ("input", "weight", "output")

RESULTS = {
    "forward": "output",
    "forward_depthwise": "output",
    "bwd_data": "input",
    "bwd_weight": "weight",
}
"""The tensor that each variant computes."""


@dataclass(frozen=True, slots=True)
class Tensors:
    """Shapes and orders of the three tensors of a problem for one variant and type."""

    problem: Problem
    variant: str
    dtype: str

    @property
    def result(self) -> str:
        """The role of the tensor that is computed."""
        return RESULTS[self.variant]

    @property
    def sources(self) -> tuple[str, str]:
        """The roles of the tensors that are read."""
        a, b = (r for r in ROLES if r != self.result)
        return a, b

    def shape(self, role: str) -> tuple[int, ...]:
        """The canonical shape of a tensor."""
        p = self.problem
        c, k = p.in_channels // p.groups, p.out_channels // p.groups
        if role == "weight":
            return (p.groups, k, c, *p.filter)
        if role == "input":
            return (p.batch, p.groups, c, *p.input)
        return (p.batch, p.groups, k, *p.output)

    def size(self, role: str) -> int:
        """The bytes of a tensor on the device."""
        return math.prod(self.shape(role)) * (4 if self.dtype == "fp32" else 2)

    def order(self, role: str) -> tuple[int, ...]:
        """The canonical axes in the order of memory, slowest first."""
        rank = self.problem.ndim + 3
        if self.variant == "forward_depthwise":
            return tuple(range(rank))
        spatial = tuple(range(3, rank))
        return (0, 1, *spatial, 2) if role == "weight" else (0, *spatial, 1, 2)

    def to_memory(self, role: str, values: Floats) -> Bits:
        """A canonical tensor as the contiguous array that goes to the device."""
        return np.ascontiguousarray(encode(values, self.dtype).transpose(self.order(role)))

    def from_memory(self, role: str, data: bytes) -> Floats:
        """The canonical tensor in bytes from a device.

        Raises:
            UsageError: If there are not as many bytes as the tensor has.
        """
        if len(data) != self.size(role):
            raise UsageError(f"{role}: {len(data)} bytes, expected {self.size(role)}")
        order, shape = self.order(role), self.shape(role)
        stored = from_bytes(data, self.dtype).reshape([shape[i] for i in order])
        return decode(stored.transpose(np.argsort(order)), self.dtype)

    def equal_bytes(self, role: str, data: bytes, value: int) -> Mask:
        """True where an element in bytes from a device consists of this byte only."""
        order, shape = self.order(role), self.shape(role)
        raw = np.frombuffer(data, np.uint8).reshape(*(shape[i] for i in order), -1)
        mask: Mask = (raw == value).all(axis=-1).transpose(np.argsort(order))
        return mask

    def data(self, role: str) -> Floats:
        """Random values for a tensor that is read; the same in every run."""
        return sample(
            self.shape(role), self.dtype, f"{self.problem.with_split(1)}/{self.dtype}/{role}"
        )

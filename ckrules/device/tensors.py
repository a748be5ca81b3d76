"""Tensors in the bytes of a device and back, and what a result should be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckrules.device.dtypes import decode, element, encode, from_bytes, rounded, sample
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.dtypes import Bits, Floats
    from ckrules.kernels.family import Tensor, Tensors


@dataclass(frozen=True)
class Expected:
    """What one result of a problem should be."""

    name: str
    values: Floats
    """The reference in canonical order, rounded to the result's type."""
    data: Mapping[str, Floats]
    """The tensors that were read, by name."""


def inputs(tensors: Tensors) -> list[Tensor]:
    """The tensors that a kernel reads."""
    return [t for t in tensors.all if t.direction != "out"]


def results(tensors: Tensors) -> list[Tensor]:
    """The tensors that a kernel writes."""
    return [t for t in tensors.all if t.direction != "in"]


def samples(tensors: Tensors) -> dict[str, Floats]:
    """Random values of the tensors that are read, canonical; the same in every run."""
    key = tensors.key()
    return {t.name: sample(t.shape, t.dtype, f"{key}/{t.name}") for t in inputs(tensors)}


def expected(tensors: Tensors, data: Mapping[str, Floats]) -> list[Expected]:
    """What every result should be."""
    found = tensors.reference(data)
    return [Expected(t.name, rounded(found[t.name], t.dtype), data) for t in results(tensors)]


def size(tensor: Tensor) -> int:
    """The bytes of a tensor on the device."""
    return math.prod(tensor.shape) * element(tensor.dtype).bytes


def to_memory(tensor: Tensor, values: Floats) -> Bits:
    """Canonical values as the contiguous array that goes to the device."""
    return np.ascontiguousarray(encode(values, tensor.dtype).transpose(tensor.order))


def from_memory(tensor: Tensor, data: bytes) -> Floats:
    """The canonical values in bytes from a device.

    Raises:
        UsageError: If there are not as many bytes as the tensor has.
    """
    if len(data) != size(tensor):
        raise UsageError(f"{tensor.name}: {len(data)} bytes, expected {size(tensor)}")
    stored = from_bytes(data, tensor.dtype).reshape([tensor.shape[i] for i in tensor.order])
    return decode(stored.transpose(np.argsort(tensor.order)), tensor.dtype)


def equal_bytes(tensor: Tensor, data: bytes, value: int) -> NDArray[np.bool_]:
    """True where an element in bytes from a device consists of this byte only."""
    stored = [tensor.shape[i] for i in tensor.order]
    raw = np.frombuffer(data, np.uint8).reshape(*stored, -1)
    mask: NDArray[np.bool_] = (raw == value).all(axis=-1).transpose(np.argsort(tensor.order))
    return mask

"""Tensors in the bytes of a device and back, and what a result should be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device.dtypes import (
    decode,
    element,
    encode,
    from_bytes,
    integral,
    packed,
    rounded,
    sample,
)
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.dtypes import Bits, Floats
    from ckrules.kernels.parts import Tensor, Tensors


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
    return {t.name: _sample(t, f"{key}/{t.name}") for t in inputs(tensors)}


def _sample(tensor: Tensor, seed: str) -> Floats:
    """Values of a tensor that is read."""
    if tensor.content:
        # fp32 has not every integer beyond 2**24
        kind: type[np.floating[Any]] = np.float64 if integral(tensor.dtype) else np.float32
        return np.array(tensor.content, kind).reshape(tensor.shape)
    values = sample(tensor.shape, tensor.dtype, seed)
    if (tensor.spread, tensor.shift) == (1.0, 0.0):
        return values
    return rounded(values * tensor.spread + tensor.shift, tensor.dtype)


def expected(tensors: Tensors, data: Mapping[str, Floats]) -> list[Expected]:
    """What every result should be."""
    found = tensors.reference(data)
    return [Expected(t.name, rounded(found[t.name], t.dtype), data) for t in results(tensors)]


def size(tensor: Tensor) -> int:
    """The bytes of a tensor on the device, from the first element to the last.

    >>> from ckrules.kernels.parts import Tensor
    >>> size(Tensor("a", "in", (3, 8), "fp16", (0, 1), pitch=10))
    56
    >>> size(Tensor("a", "in", (3, 2, 4), "fp16", (0, 1, 2), pitch=10, inner=2))
    56
    >>> size(Tensor("b", "in", (3, 8), "int4", (0, 1)))
    12
    """
    kind = element(tensor.dtype)
    rows, row = _rows(tensor)
    reach = (rows - 1) * (tensor.pitch or row) + row
    return math.ceil(reach / kind.packed) * kind.bytes


def _rows(tensor: Tensor) -> tuple[int, int]:
    """The rows of the fastest axes, and their length."""
    row = math.prod(tensor.shape[i] for i in tensor.order[-tensor.inner :])
    return math.prod(tensor.shape) // row, row


def _pitched(tensor: Tensor, stored: NDArray[Any]) -> NDArray[Any]:
    """Elements in the order of memory as rows that are as long as their pitch."""
    rows, _ = _rows(tensor)
    missing = rows * tensor.pitch - len(stored)
    padding = [(0, missing), *[(0, 0)] * (stored.ndim - 1)]
    return np.pad(stored, padding).reshape(rows, tensor.pitch, *stored.shape[1:])


def _packed(tensor: Tensor, stored: NDArray[Any]) -> NDArray[Any]:
    """Elements in the order of memory without what lies between the rows."""
    if not tensor.pitch:
        return stored
    return _pitched(tensor, stored)[:, : _rows(tensor)[1]]


def between(tensor: Tensor, data: bytes) -> NDArray[np.uint8]:
    """The bytes that lie between the rows of a tensor."""
    if not tensor.pitch:
        return np.zeros(0, np.uint8)
    raw = np.frombuffer(data, np.uint8).reshape(-1, element(tensor.dtype).bytes)
    return np.ravel(_pitched(tensor, raw)[:-1, _rows(tensor)[1] :])


def to_memory(tensor: Tensor, values: Floats) -> Bits:
    """Canonical values as the contiguous array that goes to the device.

    Between rows that lie apart every bit is set, which no sum forgives.
    """
    elements = encode(values, tensor.dtype).transpose(tensor.order)
    stored = np.ascontiguousarray(packed(elements, tensor.dtype))
    if not tensor.pitch:
        return stored
    rows, row = _rows(tensor)
    width = tensor.pitch * stored.dtype.itemsize
    found = np.full((rows, width), 0xFF, np.uint8).view(stored.dtype)
    found[:, :row] = stored.reshape(rows, row)
    return np.ravel(found)[: (rows - 1) * tensor.pitch + row]


def from_memory(tensor: Tensor, data: bytes) -> Floats:
    """The canonical values in bytes from a device.

    Raises:
        UsageError: If there are not as many bytes as the tensor has.
    """
    if len(data) != size(tensor):
        raise UsageError(f"{tensor.name}: {len(data)} bytes, expected {size(tensor)}")
    found = _packed(tensor, from_bytes(data, tensor.dtype))
    stored = found.reshape([tensor.shape[i] for i in tensor.order])
    return decode(stored.transpose(np.argsort(tensor.order)), tensor.dtype)


def equal_bytes(tensor: Tensor, data: bytes, value: int) -> NDArray[np.bool_]:
    """True where an element in bytes from a device consists of this byte only."""
    stored = [tensor.shape[i] for i in tensor.order]
    found = np.frombuffer(data, np.uint8).reshape(-1, element(tensor.dtype).bytes)
    raw = _packed(tensor, found).reshape(*stored, -1)
    mask: NDArray[np.bool_] = (raw == value).all(axis=-1).transpose(np.argsort(tensor.order))
    return mask

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
    nan_byte,
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
    return math.ceil(_reach(tensor) / kind.packed) * kind.bytes


def steps(tensor: Tensor) -> tuple[int, ...]:
    """Elements from one to the next along each axis of memory, slowest first.

    >>> from ckrules.kernels.parts import Tensor
    >>> steps(Tensor("a", "in", (3, 2, 4), "fp16", (0, 1, 2), pitch=10, outer=24))
    (24, 10, 1)
    """
    sizes, found = [tensor.shape[i] for i in tensor.order], [1]
    pitches = {tensor.inner: tensor.pitch, tensor.inner + 1: tensor.outer}
    for inner in range(1, len(sizes)):
        found.append(pitches.get(inner) or found[-1] * sizes[-inner])
    return tuple(reversed(found))


def _reach(tensor: Tensor) -> int:
    """Elements from the first to the last."""
    sizes = [tensor.shape[i] for i in tensor.order]
    if 0 in sizes:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(sizes, steps(tensor), strict=True))


def placed(tensor: Tensor, memory: NDArray[Any]) -> NDArray[Any]:
    """The elements in memory by its axes, slowest first; further axes of ``memory`` stay.

    The result is a view, without what lies between the elements.

    Raises:
        UsageError: If the memory ends before the last element.
    """
    sizes = [tensor.shape[i] for i in tensor.order]
    if not tensor.apart:
        return memory.reshape(*sizes, *memory.shape[1:])
    if len(memory) < _reach(tensor):
        raise UsageError(f"{tensor.name}: {len(memory)} elements, expected {_reach(tensor)}")
    strides = [step * memory.strides[0] for step in steps(tensor)]
    return np.lib.stride_tricks.as_strided(
        memory, (*sizes, *memory.shape[1:]), (*strides, *memory.strides[1:])
    )


def between(tensor: Tensor, data: bytes) -> NDArray[np.uint8]:
    """The bytes that lie between the elements of a tensor."""
    if not tensor.apart:
        return np.zeros(0, np.uint8)
    raw = np.frombuffer(data, np.uint8).reshape(-1, element(tensor.dtype).bytes)
    unused = np.ones(len(raw), bool)
    placed(tensor, unused)[...] = False
    return np.ravel(raw[unused])


def spread(tensor: Tensor, stored: Bits) -> Bits:
    """Contiguous elements in the order of memory as they lie in it.

    Between those that lie apart there are NaN, which no sum forgives.
    """
    if not tensor.apart:
        return stored
    nan = np.full(_reach(tensor) * stored.itemsize, nan_byte(tensor.dtype), np.uint8)
    found = nan.view(stored.dtype)
    places = placed(tensor, found)
    places[...] = stored.reshape(places.shape)
    return found


def to_memory(tensor: Tensor, values: Floats) -> Bits:
    """Canonical values as the contiguous array that goes to the device (`spread`)."""
    elements = encode(values, tensor.dtype).transpose(tensor.order)
    return spread(tensor, np.ascontiguousarray(packed(elements, tensor.dtype)))


def from_memory(tensor: Tensor, data: bytes) -> Floats:
    """The canonical values in bytes from a device.

    Raises:
        UsageError: If there are not as many bytes as the tensor has.
    """
    if len(data) != size(tensor):
        raise UsageError(f"{tensor.name}: {len(data)} bytes, expected {size(tensor)}")
    stored = placed(tensor, from_bytes(data, tensor.dtype))
    return decode(stored.transpose(np.argsort(tensor.order)), tensor.dtype)


def equal_bytes(tensor: Tensor, data: bytes, value: int) -> NDArray[np.bool_]:
    """True where an element in bytes from a device consists of this byte only."""
    found = np.frombuffer(data, np.uint8).reshape(-1, element(tensor.dtype).bytes)
    raw = placed(tensor, found)
    mask: NDArray[np.bool_] = (raw == value).all(axis=-1).transpose(np.argsort(tensor.order))
    return mask

"""Columns of codes and columns of values: translation both ways, and Arrow record batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def to_codes(
    columns: Mapping[str, Sequence[Any]], domains: Mapping[str, tuple[Any, ...]]
) -> dict[str, Array]:
    """Columns of values as columns of codes; a value that is no candidate becomes -1.

    >>> to_codes({"m": [32, 7, 16]}, {"m": (16, 32)})["m"].tolist()
    [1, -1, 0]
    """
    return {n: _codes(columns[n], values) for n, values in domains.items()}


def _codes(column: Sequence[Any], values: tuple[Any, ...]) -> Array:
    array = np.asarray(column)
    numeric = bool(values) and not isinstance(values[0], str)
    if array.dtype.kind not in "iufb" or not numeric:
        place = {v: i for i, v in enumerate(values)}
        items = array.tolist() if isinstance(column, np.ndarray) else column
        return np.fromiter((place.get(v, -1) for v in items), dtype=np.int32, count=len(array))
    if (array.dtype.kind == "b") != isinstance(values[0], bool):
        return np.full(len(array), -1, dtype=np.int32)
    known = np.asarray(values)
    if array.dtype.kind in "iu" and known.dtype.kind in "ib":
        low, high = int(known.min()), int(known.max())
        if high - low < 1 << 16:  # a table is several times faster than a binary search
            table = np.full(high - low + 3, -1, dtype=np.int32)
            table[known.astype(np.int64) - low + 1] = np.arange(len(values))
            found: Array = table[np.clip(array, low - 1, high + 1).astype(np.int64) - low + 1]
            return found
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], array), len(values) - 1)
    return np.where(known[order][at] == array, order[at], -1).astype(np.int32)


def to_lists(table: Mapping[str, Array], domains: Mapping[str, tuple[Any, ...]]) -> list[list[Any]]:
    """Columns of codes as lists of values."""
    return [
        _objects(values)[table[n]].tolist() if n in table else [] for n, values in domains.items()
    ]


@lru_cache(maxsize=1024)
def _objects_of(kind: tuple[type, ...], values: tuple[Any, ...]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _objects(values: tuple[Any, ...]) -> Array:
    return _objects_of(tuple(map(type, values)), values)  # 1, 1.0 and True are equal as keys


def to_arrow(table: Mapping[str, Array], domains: Mapping[str, tuple[Any, ...]]) -> Any:
    """A table of codes as a record batch of values."""
    import pyarrow as pa

    arrays = []
    for name, values in domains.items():
        codes = table[name]
        if values and isinstance(values[0], str):
            signed = codes.astype(np.int8 if len(values) < 128 else np.int32)
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(signed), pa.array(values)))
        else:
            arrays.append(pa.array(np.asarray(values)[codes]))
    return pa.RecordBatch.from_arrays(arrays, names=list(domains))

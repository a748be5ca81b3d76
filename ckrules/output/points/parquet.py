"""Parquet, written chunk by chunk with pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ckrules.output.columns import Column
from ckrules.support.errors import UsageError

SUFFIXES = (".parquet", ".pq")
BINARY = True


class _Sink(io.RawIOBase):
    """What has been written and not yet taken."""

    def __init__(self) -> None:
        self._held, self._at = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        before = len(self._held)
        self._held += data
        self._at += len(self._held) - before
        return len(self._held) - before

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held


def pieces(chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str]) -> Iterator[bytes]:
    """One row group a chunk.

    Raises:
        UsageError: Without pyarrow.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "parquet needs pyarrow: pip install 'ckrules[parquet]', or choose --format csv"
        ) from None
    types = {
        "int": pa.int64(), "real": pa.float64(), "bool": pa.bool_(),
        "enum": pa.dictionary(pa.int32(), pa.string()),
    }  # fmt: skip
    schema = pa.schema([pa.field(name, types[sort]) for name, sort in fields.items()])
    sink = _Sink()
    with pq.ParquetWriter(sink, schema) as writer:
        for chunk in chunks:
            arrays = [_array(pa, column, schema.field(n).type) for n, column in chunk.items()]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _array(pa: Any, column: Column, kind: Any) -> Any:
    if pa.types.is_dictionary(kind) and None in column.values:  # no dictionary may hold a null
        return pa.array(column.rows(), pa.string()).dictionary_encode()
    try:
        values = pa.array(column.values, pa.string() if pa.types.is_dictionary(kind) else kind)
    except pa.ArrowInvalid as error:  # an int among floats that no float is equal to
        raise UsageError(f"parquet cannot hold these values, jsonl can: {error}") from None
    indices = pa.array(column.codes.astype("int32"))
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(indices, values)
    return values.take(indices)

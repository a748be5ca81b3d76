"""Parquet, written chunk by chunk with pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, Any

from ckrules.output.columns import Column
from ckrules.support.errors import UsageError

SUFFIXES = (".parquet", ".pq")
BINARY = True


def write(
    chunks: Iterable[Mapping[str, Column]], fields: Mapping[str, str], stream: IO[bytes]
) -> None:
    """Writes one row group a chunk.

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
    with pq.ParquetWriter(stream, schema) as writer:
        for chunk in chunks:
            arrays = [_array(pa, column, schema.field(n).type) for n, column in chunk.items()]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


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

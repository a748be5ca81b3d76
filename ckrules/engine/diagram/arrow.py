"""Tables of points for Arrow and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.columns import are_plain
from ckrules.engine.expr import BOOL, ENUM, REAL, Expr
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]


def needed(package: str) -> Any:
    """An optional package.

    Raises:
        UsageError: If it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        extra = "'ckrules[parquet]'" if package == "pyarrow" else package
        raise UsageError(f"this needs {package}: pip install {extra}") from None


class Batches:
    """Makes record batches of one schema.

    Args:
        domains: The candidate values of each variable.
        derived: Derived quantities by name, which come after the variables.
    """

    def __init__(self, domains: Mapping[str, Sequence[Any]], derived: Mapping[str, Expr]) -> None:
        self.pa = needed("pyarrow")
        self.domains, self.derived = domains, derived
        columns = {n: self._kind(v) for n, v in domains.items()}
        columns |= {n: self._derived_kind(node) for n, node in derived.items()}
        self.schema = self.pa.schema([self.pa.field(n, kind) for n, kind in columns.items()])

    def _kind(self, values: Sequence[Any]) -> Any:
        if not are_plain(values):
            narrow = self.pa.int8() if len(values) < 128 else self.pa.int32()
            return self.pa.dictionary(narrow, self.pa.string())
        return self.pa.array(np.asarray(values)).type

    def _derived_kind(self, node: Expr) -> Any:
        kinds = {ENUM: self.pa.string(), BOOL: self.pa.bool_(), REAL: self.pa.float64()}
        return kinds.get(node.sort, self.pa.int64())

    def of(self, table: Mapping[str, Array]) -> Any:
        """The record batch of a table of codes, with columns of values for what is derived."""
        arrays = [self._values(n, table[n]) for n in self.domains]
        arrays += [self._derived_values(n, table[n]) for n in self.derived]
        return self.pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def table(self, tables: Iterable[Mapping[str, Array]]) -> Any:
        """The Arrow table of several tables of codes."""
        return self.pa.Table.from_batches(map(self.of, tables), schema=self.schema)

    def _values(self, name: str, codes: Array) -> Any:
        values, kind = self.domains[name], self.schema.field(name).type
        if not self.pa.types.is_dictionary(kind):
            return self.pa.array(np.asarray(values)[codes])
        shown = [v if isinstance(v, str) else str(v) for v in values if v is not None]
        null = values.index(None) if None in values else len(values)
        places = (codes - (codes > null)).astype(kind.index_type.to_pandas_dtype())
        indices = self.pa.array(places, mask=codes == null)  # pandas has no category that is null
        return self.pa.DictionaryArray.from_arrays(indices, self.pa.array(shown, kind.value_type))

    def _derived_values(self, name: str, values: Array) -> Any:
        mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        return self.pa.array(np.asarray(values), self.schema.field(name).type, mask=mask)

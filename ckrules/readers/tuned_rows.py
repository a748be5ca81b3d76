"""Whether a row of a tuned table can be true: its sizes, times, rates, GPU and types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ckrules.arch import Gpu
from ckrules.arch.performance import GpuProduct
from ckrules.kernels.reader_tables import TunedTable
from ckrules.readers.census import Census, ShapeWinner, merged_name
from ckrules.readers.entries import Edit, Place, Remark
from ckrules.readers.table_rows import TableRow

#: By how much a rate may differ from what sizes and time say; that of bytes is counted in
#: several ways (with scales or without), and told only where it differs by a factor.
_TFLOPS_OFF, _BANDWIDTH_OFF = 0.02, 2.0
#: What is left of a number that was rounded to two places.
_ROUNDED = 0.005
_BITS = {"fp4": 4, "i4": 4, "fp8": 8, "int8": 8, "bf16": 16, "fp16": 16, "fp32": 32}
_GPU_WORD = re.compile(r"(?<![a-z0-9])gfx[0-9a-f]{3,4}(?![0-9a-z])")
_UNITS_WORD = re.compile(r"(?<![a-z])cu(\d+)(?![0-9a-z])")


class RowChecks:
    """The checks of one table's rows; what is said of a whole table is said once.

    Args:
        table: What its columns mean.
        census: What the run has read so far.
        gpus: The known GPUs by name.
    """

    def __init__(
        self, table: TunedTable, source: str, census: Census, gpus: Mapping[str, Gpu]
    ) -> None:
        self._table, self._source, self._census, self._gpus = table, source, census, gpus
        self._group = merged_name(source, table.merged)
        base = source.rpartition("/")[2].lower()
        self._named = frozenset(_GPU_WORD.findall(base)), frozenset(_UNITS_WORD.findall(base))
        self._mark = next((t for m, t in table.type_marks.items() if m in base), "")
        self._not_asked = {*table.written, table.gpu}
        self._told: set[tuple[str, str]] = set()
        self._known_rates: dict[tuple[str, tuple[str, str]], int] = {}

    def of(self, row: TableRow, gpu: str) -> Iterator[Remark]:
        """Everything that cannot be true of a row, or is odd about it."""
        table = self._table
        sizes, faulty = self._sizes(row)
        if faulty:
            at, word = faulty
            what = f"{at} = {word[:40]} is not a positive integer"
            yield Remark(row.at(at) or row.place, "ROW001", what)
            return
        time = _number(row.word(table.time))
        if table.time in row.cells and (time is None or not 0 < time < math.inf):
            what = f"{table.time} = {row.word(table.time)[:40]} is not the time of a run"
            tail = "; where tables are merged the smallest time of a problem wins"
            at_time = row.at(table.time) or row.place
            yield Remark(at_time, "ROW002", what + (tail if time is not None else ""))
            time = None
        types = self.types(row)
        yield from self._rates(row, sizes, time, types)
        yield from self._errors(row)
        yield from self._gpu(row, gpu)
        yield from self._winner(row, gpu, time)
        yield from self._peaks(row, gpu, sizes, time, types)

    def _sizes(self, row: TableRow) -> tuple[dict[str, int], tuple[str, str] | None]:
        sizes: dict[str, int] = {}
        for name in self._table.sizes:
            if name in row.cells:
                word = row.cells[name].word
                value = _whole(word)
                if name in self._table.product and not value:
                    return sizes, (name, word)
                if value is not None:
                    sizes[name] = value
        return sizes, None

    def types(self, row: TableRow) -> tuple[str, str]:
        """The types of A and B, empty where neither a column nor a name says them."""
        table = self._table
        said = [table.types.get(row.word(c), "") for c in table.operands]
        a, b, both = (*said, "", "", "")[:3]
        b = b or both
        if a or b:
            return a or b, b or a
        names = " ".join(row.word(c) for c in table.columns).lower()
        found = next((t for m, t in table.type_marks.items() if m in names), self._mark)
        return found, found

    def _rates(
        self, row: TableRow, sizes: Mapping[str, int], time: float | None, types: tuple[str, str]
    ) -> Iterator[Remark]:
        table = self._table
        if time is None:
            return
        work = table.operations(sizes)
        said = _number(row.word(table.tflops))
        if work and said is not None:
            true = work / time / 1e6
            if abs(said - true) > _TFLOPS_OFF * true + _ROUNDED:
                yield self._rate(row, table.tflops, true, "sizes and time say")
        bits = max(_BITS.get(t, 0) for t in types)
        moved = table.traffic(sizes, bits) if bits else 0
        said = _number(row.word(table.bandwidth))
        if moved and said is not None:
            true = moved / time / 1e3
            if not true / _BANDWIDTH_OFF <= said <= true * _BANDWIDTH_OFF and true > 1:
                unit = ", as if it were in TB/s" if _close(said * 1000, true) else ""
                yield self._rate(row, table.bandwidth, true, f"sizes and time say{unit}")

    def _rate(self, row: TableRow, column: str, true: float, why: str) -> Remark:
        at = row.at(column) or row.place
        text = f"{true:.2f}"
        message = f"{column} = {row.word(column)[:40]}, {why.partition(',')[0]} {text}"
        message += why[len(why.partition(",")[0]) :]
        return Remark(at, "ROW003", message, Edit(at, text))

    def _errors(self, row: TableRow) -> Iterator[Remark]:
        for column in self._table.errors:
            word = row.word(column)
            share = _number(word.rstrip("%"))
            if share is None:
                continue
            share = share / 100 if word.endswith("%") else share
            if share > self._table.most_wrong:
                most = f"{100 * self._table.most_wrong:g} %"
                what = f"{column} = {word}: {100 * share:.3g} % of the elements are wrong"
                at = row.at(column) or row.place
                yield Remark(at, "ROW005", f"{what}, the tuner takes up to {most}")

    def _gpu(self, row: TableRow, gpu: str) -> Iterator[Remark]:
        table = self._table
        named, counts = self._named
        if gpu and named and gpu not in named:
            what = f"{gpu} in a file that is named for {', '.join(sorted(named))}"
            yield from self._once("ROW008", what, row.at(table.gpu) or row.place)
        units = row.word(table.units)
        if counts and units and units not in counts:
            what = f"{units} compute units in a file that is named for {', '.join(sorted(counts))}"
            yield from self._once("ROW008", what, row.at(table.units) or row.place)
        for column in table.operands:
            word = row.word(column)
            fit = table.formats.get(word)
            if fit is not None and gpu and gpu not in fit:
                what = f"{column} = {word} is a format of {', '.join(fit)}, not of {gpu}"
                yield from self._once("ROW009", what, row.at(column) or row.place)

    def _once(self, code: str, message: str, place: Place) -> Iterator[Remark]:
        if (code, message) not in self._told:
            self._told.add((code, message))
            yield Remark(place, code, message)

    def _winner(self, row: TableRow, gpu: str, time: float | None) -> Iterator[Remark]:
        table, cells = self._table, row.cells
        said = (f"{c}={a.word}" for c, a in cells.items() if c not in self._not_asked)
        kernel = " + ".join(w for c in table.columns if (w := row.word(c)))
        split = row.word(table.split)
        kernel = f"{kernel} with {table.split} = {split}" if split not in ("", "0") else kernel
        here = ShapeWinner(self._source, row.number, kernel, time or 0.0)
        first = self._census.winner((self._group, gpu, *sorted(said)), here)
        if first is None:
            return
        inside = first.source == self._source
        where = f"line {first.line}" if inside else f"{first.source}:{first.line}"
        if first.kernel == kernel:
            same = f"({first.time:g} us there, {here.time:g} here)"
            what = f"the same problem and kernel as in {where} {same}"
            slower = first.line if here.time < first.time else here.line
            whole = Place(self._source, slower, 1, slower + 1, 1)
            yield Remark(row.place, "ROW006", what, Edit(whole, "") if inside else None)
            return
        ours, other = f"{kernel} ({here.time:g} us)", f"{first.kernel} ({first.time:g} us)"
        what = f"another kernel for the problem of {where}: {ours} here, {other} there"
        yield Remark(row.place, "ROW004", what)

    def _peaks(
        self, row: TableRow, gpu: str, sizes: Mapping[str, int], time: float | None,
        types: tuple[str, str],
    ) -> Iterator[Remark]:  # fmt: skip
        table, known = self._table, self._gpus.get(gpu)
        units = _whole(row.word(table.units))
        if known is None or known.performance is None or units is None:
            return
        products = sold_with(known, units)
        if not products:
            have = ", ".join(f"{p.name} {p.compute_units}" for p in known.performance.products)
            what = f"no product with {gpu} and {units} compute units is known ({have})"
            place = row.at(table.units) or row.place
            yield from self._once("ROW010", f"{what}: times are not compared with peaks", place)
            return
        if time is None:
            return
        least, reason = self._least(known, products, sizes, types)
        if time < least:
            name = " or ".join(p.name for p in products)
            what = f"{table.time} = {row.word(table.time)} is faster than {name} can be: {reason}"
            yield Remark(row.at(table.time) or row.place, "ROW011", what)

    def _least(
        self, gpu: Gpu, products: Sequence[GpuProduct], sizes: Mapping[str, int],
        types: tuple[str, str],
    ) -> tuple[float, str]:  # fmt: skip
        """The least time in microseconds that the fastest of some products needs, and for what."""
        assert gpu.performance is not None
        if (gpu.name, types) not in self._known_rates:
            self._known_rates[gpu.name, types] = max(_rate_of(gpu, t) for t in types)
        rate = self._known_rates[gpu.name, types]
        work = self._table.operations(sizes)
        computing = work / max(rate * p.compute_units * p.clock_mhz for p in products)
        bits = min(_BITS.get(t, 0) for t in types)
        moved = self._table.traffic(sizes, bits) if bits else 0
        speeds = gpu.performance
        cached = speeds.last_level_bytes + speeds.chiplets * speeds.l2_bytes
        outside = max(0, moved - cached)
        reading = outside / max(p.memory_gbs for p in products) / 1e3
        if reading > computing:
            return reading, f"{reading:.4g} us for {outside:,} bytes beyond the caches"
        return computing, f"{computing:.4g} us for {work:.4g} operations"


def sold_with(gpu: Gpu, units: int) -> Sequence[GpuProduct]:
    """The products with a GPU that have so many compute units; RDNA's runtime counts pairs."""
    if gpu.performance is None:
        return ()
    counted = (units,) if gpu.isa == "gfx9" else (units, 2 * units)
    return [p for p in gpu.performance.products if p.compute_units in counted]


def _rate_of(gpu: Gpu, dtype: str) -> int:
    """Operations of a compute unit in a clock; of unknown types those of the fastest."""
    assert gpu.performance is not None
    rates = dict(gpu.performance.matrix_flops)
    return rates.get({"fp4": "pk_fp4", "i4": "int8"}.get(dtype, dtype), max(rates.values()))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _TFLOPS_OFF * b


@lru_cache(maxsize=1 << 12)
def _whole(word: str) -> int | None:
    word = word.removesuffix(".0")
    return int(word) if word.isascii() and word.isdigit() and len(word) < 16 else None


def _number(word: str) -> float | None:
    try:
        found = float(word)
    except ValueError:
        return None
    return None if math.isnan(found) else found

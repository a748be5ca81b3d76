"""Measurements as rows of a tuned table: the fastest kernel of each problem on each product."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import IO, Any

from ckrules.arch import DTYPES
from ckrules.constraints import catalogs
from ckrules.kernels.families import family_of, problems_of, reader_tables
from ckrules.kernels.names import styled_name
from ckrules.kernels.parts import Point
from ckrules.kernels.written_table import WrittenTable
from ckrules.support.errors import UsageError

Numbers = Callable[[str, str], Mapping[str, int]]
"""The numbers of kernels by name, of a variant on a GPU."""


@dataclass(frozen=True, slots=True)
class TunedTime:
    """A kernel that computed a problem right, and its time on a product.

    ``units`` are the product's compute units, None where the device does not say them.
    """

    config: Point
    problem: Any
    microseconds: float
    units: int | None


def table_of(variants: Iterable[str]) -> tuple[WrittenTable, tuple[str, ...]]:
    """The table that kernels of these variants are rows of, and its columns.

    >>> table_of(["flatmm"])[1][-1]
    'errRatio'

    Raises:
        UsageError: For kernels that no tuned table has, or of several tables.
    """
    found: dict[tuple[str, ...], WrittenTable] = {}
    for variant in dict.fromkeys(variants):
        tables = [t for t in reader_tables("written").values() if variant in t.columns]
        if not tables:
            raise UsageError(f"no tuned table has kernels of {variant}")
        found[tables[0].columns[variant]] = tables[0]
    if len(found) != 1:
        raise UsageError("kernels of several tuned tables: bench those of each alone")
    columns, table = next(iter(found.items()))
    return table, columns


def write(stream: IO[str], times: Iterable[TunedTime]) -> dict[str, int]:
    """Writes a table of the fastest kernels; returns how many times were left out, by the reason.

    Results are compared before times count, so that no element of a row is wrong.

    Raises:
        UsageError: As `table_of`.
    """
    known = list(times)
    table, columns = table_of(str(t.config["variant"]) for t in known)
    rows = csv.DictWriter(stream, columns, lineterminator="\n", extrasaction="ignore")
    rows.writeheader()
    left_out: dict[str, int] = {}
    best: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    numbers = cache(partial(_numbers, table))
    for time in sorted(known, key=lambda t: t.microseconds):
        made = _row(table, time, numbers)
        if isinstance(made, str):
            left_out[made] = left_out.get(made, 0) + 1
        else:
            best.setdefault(_problem(table, made), made)
    order = dict.fromkeys((str(t.config["arch"]), t.units, str(t.problem)) for t in known)
    places = {key: i for i, key in enumerate(order)}
    for row in sorted(best.values(), key=lambda r: places[r["place"]]):
        rows.writerow(row)
    return left_out


def _problem(table: WrittenTable, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a row is about: of split sums the fastest number of parts is the row's."""
    meaning = table.table
    return tuple(row.get(c) for c in (meaning.gpu, meaning.units, *meaning.sizes))


def _row(table: WrittenTable, time: TunedTime, numbers: Numbers) -> Mapping[str, Any] | str:
    """The cells of a row, or why there is none."""
    meaning, point = table.table, time.config
    arch, variant = str(point["arch"]), str(point["variant"])
    if time.units is None:
        return "of devices that do not say their compute units"
    said = _sizes(table, time.problem, variant)
    if said is None:
        return "of problems that the table has no columns for"
    try:
        name = styled_name(point, table.style)
    except UsageError:
        return f"of kernels that {table.style} has no names for"
    number = numbers(variant, arch).get(name)
    if number is None:
        return f"of kernels that the lists of {table.style} lack"
    sizes, parts = said
    us, dtype = time.microseconds, str(point["dtype"])
    moved = meaning.traffic(sizes, DTYPES.get(dtype, 0))
    return {
        **sizes, meaning.gpu: arch, meaning.units: time.units, meaning.library: meaning.mark,
        table.number: number, table.name: name, meaning.split: parts.bit_length() - 1,
        **dict.fromkeys(meaning.operands, table.operand(dtype, arch)),
        meaning.time: f"{us:.4f}", meaning.tflops: f"{meaning.operations(sizes) / us / 1e6:.2f}",
        meaning.bandwidth: f"{moved / us / 1e3:.2f}", **dict.fromkeys(meaning.errors, "0.0"),
        "place": (arch, time.units, str(time.problem)),
    }  # fmt: skip


def _sizes(table: WrittenTable, problem: Any, variant: str) -> tuple[dict[str, int], int] | None:
    """The sizes by column, and the parts of split sums; None if they say another problem."""
    problems = problems_of(variant)
    every = problems.row(problem, variant)
    sizes = {c: int(every[c]) for c in table.table.sizes if c in every}
    parts = int(every.get("k_batch", 1))
    again = problems.from_mapping({**sizes, "k_batch": parts})
    return (sizes, parts) if again == problem and parts.bit_count() == 1 else None


def _numbers(table: WrittenTable, variant: str, arch: str) -> Mapping[str, int]:
    """The number in the tool's list by name; the first of a kernel that it has twice."""
    found: dict[str, int] = {}
    listed = catalogs.load(table.table.tried[family_of(variant).name]).numbered(variant, arch)
    for number, point in table.extended(listed):
        found.setdefault(styled_name(point, table.style), number)
    return found

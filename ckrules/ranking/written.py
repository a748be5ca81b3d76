"""Measurements as a file with upstream's columns, which `ckrules.ranking.measurements` reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ckrules.kernels.families import problems_of
from ckrules.support.visible import csv_cell

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point

#: The columns of a problem in upstream's benchmarks of grouped convolutions (rocm-libraries,
#: tile_engine/ops/grouped_conv, training_data_forward_bf16_20.csv).
SIZES = ("N", "C", "K", "G", "Hi", "Wi", "Y", "X", "stride_h", "stride_w", "pad_h", "pad_w")
TILE = ("tile_m", "tile_n", "tile_k", "pipeline")
COLUMNS = ("set", "problem", *SIZES, *TILE, "latency_us", "kernel", "arch", "variant")
"""Upstream's columns, then what says the whole kernel."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One kernel's time on one problem."""

    name: str
    config: Point
    problem: Any
    microseconds: float


def write(stream: IO[str], measurements: Iterable[Measurement], source: str = "bench") -> int:
    """Writes measurements, one line each, and returns how many.

    Problems are numbered in their order; one that upstream's columns do not say (dilation,
    another number of dimensions, a product of matrices) has its text in the column ``problem``.
    """
    rows = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    rows.writeheader()
    numbers: dict[str, int] = {}
    count = 0
    for m in measurements:
        variant = str(m.config["variant"])
        text = str(m.problem)
        number = numbers.setdefault(text, len(numbers))
        sizes = _sizes(m.problem, variant)
        rows.writerow(
            {
                "set": source, "problem": text if sizes is None else number, **(sizes or {}),
                **{c: csv_cell(m.config.get(c)) for c in TILE},
                "latency_us": f"{m.microseconds:.6g}", "kernel": csv_cell(m.name),
                "arch": csv_cell(m.config["arch"]), "variant": csv_cell(variant),
            }
        )  # fmt: skip
        count += 1
    return count


def _sizes(problem: Any, variant: str) -> Mapping[str, Any] | None:
    """Upstream's columns of a problem; None if they would say another one."""
    problems = problems_of(variant)
    every = problems.row(problem, variant)
    if any(name not in every for name in SIZES):
        return None
    found = {name: every[name] for name in SIZES}
    again = problems.from_row({name: str(value) for name, value in found.items()})
    return found if again == problem else None

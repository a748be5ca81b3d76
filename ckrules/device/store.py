"""Runs in the results database: one row for each kernel, problem and device, failures included.

The table ``run`` stands beside the table ``build`` of `ckrules.build.results`, in the same file.
Problems are spread over columns with upstream's names; the configuration is JSON in the database
and one column a field where it is exported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.build.database import FILE, Table, condition
from ckrules.device.problem import AXES, FILTER, IMAGE, Problem

if TYPE_CHECKING:
    from ckrules.build.folder import Listed
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.jobs import Outcome

_OUT = ("Do", "Ho", "Wo")
_PER_AXIS = ("stride", "pad", "right_pad", "dilation")

COLUMNS: dict[str, str] = {
    "name": "enum",
    "arch": "enum",
    "ck": "enum",
    "rules": "enum",
    "legal": "bool",
    "op_type": "enum",
    "dtype": "enum",
    "ndim_spatial": "int",
    "problem": "enum",
    **dict.fromkeys(("N", "G", "C", "K", *IMAGE, *FILTER), "int"),
    **{f"{stem}_{axis}": "int" for stem in _PER_AXIS for axis in AXES},
    "split_k": "int",
    **dict.fromkeys(_OUT, "int"),
    "gemm_m": "int",
    "gemm_n": "int",
    "gemm_k": "int",
    "flops": "int",
    "status": "enum",
    "detail": "enum",
    "finding": "enum",
    "supported": "bool",
    "predicted": "bool",
    "elements": "int",
    "wrong": "int",
    "not_finite": "int",
    "max_abs": "real",
    "max_rel": "real",
    "rtol": "real",
    "atol": "real",
    "pattern": "enum",
    "pattern_text": "enum",
    "first_wrong": "enum",
    "latency_ms": "real",
    "latency_min_ms": "real",
    "tflops": "real",
    "warmup": "int",
    "repeat": "int",
    "device": "enum",
    "device_name": "enum",
    "device_arch": "enum",
    "device_index": "int",
    "driver": "enum",
    "runtime": "enum",
    "clock_mhz": "int",
    "memory_clock_mhz": "int",
    "seconds": "real",
    "finished": "real",
    "config": "enum",
}
"""Name and sort of every column."""


def problem_columns(p: Problem, variant: str) -> dict[str, int]:
    """The columns that a problem fills; axes that it lacks have size 1, as upstream's files do.

    >>> from ckrules.device.problem import parse
    >>> row = problem_columns(parse("N=1,C=8,K=8,H=7,W=7,Y=3,X=3,stride=2,pad=1"), "forward")
    >>> row["Di"], row["Ho"], row["stride_d"], row["pad_h"], row["gemm_k"]
    (1, 4, 1, 1, 72)
    """
    gap = 3 - p.ndim
    row = {"N": p.batch, "G": p.groups, "C": p.in_channels, "K": p.out_channels}
    lists: list[tuple[tuple[str, ...], tuple[int, ...], int]]
    lists = [(IMAGE, p.input, 1), (FILTER, p.filter, 1), (_OUT, p.output, 1)]
    for stem, values, default in (
        ("stride", p.stride, 1),
        ("pad", p.left_pad, 0),
        ("right_pad", p.right_pad, 0),
        ("dilation", p.dilation, 1),
    ):
        lists.append((tuple(f"{stem}_{a}" for a in AXES), values, default))
    for names, values, default in lists:
        row.update(zip(names, (default,) * gap + values, strict=True))
    row.update(zip(("gemm_m", "gemm_n", "gemm_k"), p.gemm(variant), strict=True))
    return {**row, "split_k": p.split_k, "flops": p.flops}


@dataclass(frozen=True, slots=True)
class Run:
    """A job with everything that a row says of it."""

    kernel: Listed
    problem: Problem
    outcome: Outcome
    device: str
    info: DeviceInfo | None
    predicted: bool | None
    finding: str | None
    warmup: int
    repeat: int

    def row(self) -> dict[str, Any]:
        """The row, with the columns' names."""
        k, o, info = self.kernel, self.outcome, self.info
        variant = str(k.config["variant"])
        return {
            "name": k.name,
            "arch": k.arch,
            "ck": k.ck,
            "rules": k.rules,
            "legal": k.legal,
            "op_type": variant,
            "dtype": k.config["dtype"],
            "ndim_spatial": k.config["ndim"],
            "problem": str(self.problem),
            **problem_columns(self.problem, variant),
            "status": o.status,
            "detail": o.detail or None,
            "finding": self.finding,
            "supported": o.supported,
            "predicted": self.predicted,
            "elements": o.elements,
            "wrong": o.wrong,
            "not_finite": o.not_finite,
            "max_abs": o.max_abs,
            "max_rel": o.max_rel,
            "rtol": o.rtol,
            "atol": o.atol,
            "pattern": o.pattern,
            "pattern_text": o.where,
            "first_wrong": ",".join(map(str, o.first)) or None,
            "latency_ms": o.time_ms,
            "latency_min_ms": o.time_min_ms,
            "tflops": o.tflops,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "device": self.device,
            "device_name": info.name if info else "",
            "device_arch": info.arch if info else None,
            "device_index": info.index if info else None,
            "driver": info.driver if info else None,
            "runtime": info.runtime if info else None,
            "clock_mhz": info.clock_mhz if info else None,
            "memory_clock_mhz": info.memory_clock_mhz if info else None,
            "seconds": o.seconds,
            "finished": time.time(),
            "config": json.dumps(k.config),
        }


class Runs(Table):
    """The runs of one results database."""

    NAME = "run"
    COLUMNS = COLUMNS
    IDENTITY = ("name", "arch", "ck", "problem", "device", "device_name")
    FAILED = "status NOT IN ('ok', 'refused')"

    def put(self, run: Run) -> None:
        """Stores a run at once, in the place of an older one of the same kernel and problem.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        self.store(run.row())

    def fields(self, where: str = "", values: Sequence[Any] = ()) -> dict[str, str]:
        """The configuration's fields that the rows have, and their sorts, without column names.

        A field of another meaning than the column of its name is no case: both are the same.
        """
        sorts = {"integer": "int", "true": "bool", "false": "bool", "real": "real"}
        found: dict[str, str] = {}
        sql = "SELECT DISTINCT j.key, j.type FROM run, json_each(run.config) AS j"
        for key, kind in self._query(sql + condition(where), values):
            if key not in COLUMNS:
                found.setdefault(key, sorts.get(kind, "enum"))
        return dict(sorted(found.items()))

    def columns(self, where: str = "", values: Sequence[Any] = ()) -> Mapping[str, str]:
        """The table's columns, with one for each field of the configurations in place of theirs."""
        plain = {name: sort for name, sort in COLUMNS.items() if name != "config"}
        return {**plain, **self.fields(where, values)}

    def records(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows by column, and with the fields of the configuration, in a fixed order."""
        for row in super().records(where=where, values=values, limit=limit):
            yield {**json.loads(row["config"]), **row}


def place_for(kernels: Sequence[Listed], given: str | None) -> Path:
    """The database of a run: the one given, or the builds' own in the folder of all kernels."""
    if given is not None:
        return Path(given)
    folders = {k.folder for k in kernels}
    if len(folders) == 1:
        (folder,) = folders
        above = folder.parent / FILE
        return above if not (folder / FILE).exists() and above.exists() else folder / FILE
    parents = {f.parent for f in folders}
    return min(parents) / FILE

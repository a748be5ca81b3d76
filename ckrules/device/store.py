"""Runs in the results database: one row for each kernel, problem and device, failures included.

The table ``run`` is in the same file as the table ``build`` of `ckrules.compiling.results`.
Configuration and sizes of the problem, which differ from family to family, are JSON in the
database and one column a field where they are exported.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.compiling.database import FILE, DatabaseTable, ResultsError, condition, of_folder
from ckrules.compiling.results import KnownArtifact, Results
from ckrules.compiling.sources import KernelSources, sources_digest
from ckrules.device.jobs import FAILED
from ckrules.kernels.families import problems_of
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.jobs import RunOutcome
    from ckrules.kernels.parts import Problem

COLUMNS: dict[str, str] = {
    name: sort
    for sort, names in (
        ("enum", "name arch ck rules"), ("bool", "legal"),
        ("enum", "op_type problem sizes status detail finding"), ("bool", "supported predicted"),
        ("int", "elements wrong not_finite"), ("real", "max_abs max_rel rtol atol"),
        ("enum", "pattern pattern_text first_wrong"),
        ("real", "latency_ms latency_min_ms tflops"), ("int", "warmup repeat"),
        ("enum", "device device_options device_name device_arch"), ("int", "device_index"),
        ("enum", "driver runtime"), ("int", "clock_mhz memory_clock_mhz"),
        ("real", "seconds finished made"), ("enum", "lacks foretold config"),
    )
    for name in names.split()
}  # fmt: skip
"""Name and sort of every column."""
_LONGEST = 1e12
"""Milliseconds beyond which a time is damage: some thirty years."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A job with everything that a row says of it."""

    kernel: ManifestEntry
    problem: Problem
    outcome: RunOutcome
    device: str
    info: DeviceInfo | None
    predicted: bool | None
    finding: str | None
    warmup: int
    repeat: int
    device_options: Mapping[str, str] = field(default_factory=dict)
    lacks: str | None = None
    """Options that CK's kernels need and that it was built without; None: not known."""
    foretold: tuple[str, ...] = ()
    """The problem rules that foretold a result which came out wrong."""

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
            "problem": str(self.problem),
            "sizes": _sizes(self.problem, variant),
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
            "device_options": spelled(self.device_options),
            "device_name": info.name if info else "",
            "device_arch": info.arch if info else None,
            "device_index": info.index if info else None,
            "driver": info.driver if info else None,
            "runtime": info.runtime if info else None,
            "clock_mhz": info.clock_mhz if info else None,
            "memory_clock_mhz": info.memory_clock_mhz if info else None,
            "seconds": o.seconds,
            "finished": time.time(),
            "made": made(k),
            "lacks": self.lacks,
            "foretold": ",".join(self.foretold) or None,
            "config": json.dumps(k.config),
        }


def made(kernel: ManifestEntry) -> float:
    """When the younger of a built kernel's files was written, in seconds since 1970."""
    files = [kernel.folder / artifact.result(kernel.name) for artifact in RUNNABLE]
    return max((f.stat().st_mtime for f in files if f.exists()), default=0.0)


class Runs(DatabaseTable):
    """The runs of one results database."""

    NAME = "run"
    COLUMNS = COLUMNS
    IDENTITY = ("name", "arch", "ck", "problem", "device", "device_options", "device_name")
    EARLIER = (("name", "arch", "ck", "problem", "device", "device_name"),)
    FAILED = "status IN ({})".format(", ".join(f"'{status}'" for status in sorted(FAILED)))

    def put(self, run: StoredRun) -> None:
        """Stores a run at once, in the place of an older one of the same kernel and problem.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        self.store(run.row())

    def ends(
        self, device: str, options: Mapping[str, str]
    ) -> dict[tuple[str, ...], dict[str, Any]]:
        """How the runs of a device opened with these options ended.

        By name, arch, ck, problem and device_name; of each row status, latency_ms, tflops, repeat,
        finished and made. Nothing else is read, since a sweep has many rows.
        """
        key = ("name", "arch", "ck", "problem", "device_name")
        rest = ("status", "latency_ms", "tflops", "repeat", "finished", "made")
        where = condition("device = ? AND coalesce(device_options, '') = ?")
        order = ", ".join(self.IDENTITY)
        sql = f"SELECT {', '.join((*key, *rest))} FROM run{where} ORDER BY {order}"
        found = {}
        for cells in self._query(sql, (device, spelled(options))):
            found[cells[: len(key)]] = dict(zip(rest, cells[len(key) :], strict=True))
        return found

    def times(self, where: str = "", values: Sequence[Any] = ()) -> dict[str, list[float]]:
        """The times of right runs in milliseconds by problem, each problem's in ascending order."""
        timed = f"status = 'ok' AND latency_ms > 0 AND latency_ms < {_LONGEST}"
        whole = condition(f"({where}) AND {timed}" if where else timed)
        times: dict[str, list[float]] = {}
        sql = f"SELECT problem, latency_ms FROM run{whole} ORDER BY problem, latency_ms"
        for problem, milliseconds in self._query(sql, values):
            times.setdefault(problem, []).append(milliseconds)
        return times

    def _upgrade(self, version: int) -> None:
        """Also fills in the sizes of rows from before they were JSON."""
        super()._upgrade(version)
        self._db.create_function("sizes_of", 2, _sizes_of, deterministic=True)
        self._db.execute("UPDATE run SET sizes = sizes_of(op_type, problem) WHERE sizes IS NULL")

    def _cell(self, name: str) -> str:
        if name == "device_options":
            return "coalesce(device_options, '') AS device_options"
        if name != "sizes":
            return super()._cell(name)
        self._db.create_function("sizes_of", 2, _sizes_of, deterministic=True)
        return "coalesce(sizes, sizes_of(op_type, problem)) AS sizes"

    def _spread(self, column: str, where: str, values: Sequence[Any]) -> dict[str, str]:
        """The names in a column's objects, in their order, and the sorts of their values."""
        sorts = {"integer": "int", "true": "bool", "false": "bool", "real": "real"}
        found: dict[str, str] = {}
        sql = f"SELECT DISTINCT j.key, j.type FROM run, json_each(run.{column}) AS j"
        for key, kind in self._query(sql + condition(where), values):
            if isinstance(key, str) and key not in COLUMNS:  # others: not of an object
                found.setdefault(key, sorts.get(kind, "enum"))
        return found

    def fields(self, where: str = "", values: Sequence[Any] = ()) -> dict[str, str]:
        """The configuration's fields that the rows have, and their sorts, without column names.

        A field of another meaning than the column of its name is not a case: both are the same.
        """
        return dict(sorted(self._spread("config", where, values).items()))

    def columns(self, where: str = "", values: Sequence[Any] = ()) -> Mapping[str, str]:
        """The table's columns, with the sizes of the problems and the configurations' fields."""
        found: dict[str, str] = {}
        for name, sort in COLUMNS.items():
            if name == "sizes":
                found |= self._spread(name, where, values)
            elif name != "config":
                found[name] = sort
        return {**found, **self.fields(where, values)}

    def records(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows by column, and with sizes and fields of the configuration, in a fixed order.

        Raises:
            ResultsError: For a row that cannot be read.
        """
        for row in super().records(where=where, values=values, limit=limit):
            time = row["latency_ms"]
            if time is not None and not 0 <= time < _LONGEST:
                raise ResultsError(
                    f"{self.path}: latency_ms of {row['name']!r} is not a time: {time}"
                )
            yield {**self._object(row, "config"), **self._object(row, "sizes"), **row}

    def _object(self, row: Mapping[str, Any], column: str) -> dict[str, Any]:
        """The object in a column, as long as it holds plain values."""
        try:
            found = json.loads(row[column])
        except (ValueError, TypeError, RecursionError):
            found = None
        if not isinstance(found, dict) or any(isinstance(v, (dict, list)) for v in found.values()):
            raise ResultsError(
                f"{self.path}: the {column} of {row['name']!r} is not a plain object"
            )
        return found


def spelled(options: Mapping[str, str]) -> str:
    """Options of a device in a fixed order, as a shell would take them.

    >>> spelled({"seed": "3", "order": "reversed"})
    'order=reversed seed=3'
    """
    return shlex.join(f"{name}={options[name]}" for name in sorted(options))


def _sizes_of(variant: str, problem: str) -> str:
    """The sizes of a problem as JSON; none for a row that nobody can read any more."""
    try:
        return _sizes(problems_of(variant).parse(problem), variant)
    except CkrulesError:
        return "{}"


def _sizes(problem: Problem, variant: str) -> str:
    return json.dumps(problems_of(variant).row(problem, variant))


def lacking_options(kernels: Sequence[ManifestEntry]) -> dict[tuple[Path, str], str]:
    """Which options that CK's kernels need their code objects lack, where a build noted it."""
    builds: dict[Path, dict[tuple[str, ...], str]] = {}
    options: dict[tuple[Path, str], str] = {}
    for k in kernels:
        place = place_for([k], None)
        if place not in builds:
            builds[place] = _noted(place)
        noted = builds[place].get((k.name, k.arch, k.ck))
        if noted is not None:
            options[k.folder, k.name] = noted
    return options


def made_again(kernels: Sequence[ManifestEntry]) -> set[tuple[Path, str]]:
    """The kernels whose sources are no longer those that a build made an artifact of."""
    sources, builds = KernelSources(), dict[Path, dict[tuple[str, ...], KnownArtifact]]()
    found = set()
    for k, artifact in product(kernels, RUNNABLE):
        if (place := place_for([k], None)) not in builds:
            builds[place] = _known(place)
        built = builds[place].get((k.name, k.arch, artifact, k.ck))
        if built is None or built.sources_digest is None:
            continue
        with suppress(UsageError):  # whoever has the artifacts alone may run them
            same = sources_digest(sources.of(k, artifact)) == built.sources_digest
            if not same and built.is_artifact(k.result(artifact)):
                found.add((k.folder, k.name))
    return found


def _known(place: Path) -> dict[tuple[str, ...], KnownArtifact]:
    with suppress(ResultsError), Results(place, reading=True) as builds:
        return builds.known()
    return {}


def _noted(place: Path) -> dict[tuple[str, ...], str]:
    """What the code objects of a database lack, by name, GPU and release; nothing without one."""
    where = f"artifact = '{Artifact.DEVICE}' AND lacks IS NOT NULL"
    with suppress(ResultsError), Results(place, reading=True) as builds:
        return {
            (row["name"], row["arch"], row["ck"]): row["lacks"]
            for row in builds.records(where=where)
        }
    return {}


def place_for(kernels: Sequence[ManifestEntry], path: str | None) -> Path:
    """The database of a run: at the path, or the builds' own in the folder of all kernels."""
    if path is not None:
        return Path(path)
    folders = {k.folder for k in kernels}
    if len(folders) == 1:
        return of_folder(folders.pop())
    parents = {f.parent for f in folders}
    return min(parents) / FILE

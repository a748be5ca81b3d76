"""Time built kernels on problems; what was measured before is not measured again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import click

from ckrules.cli.built import RunChoice, problems_asked, run_options, say_left_out
from ckrules.cli.device_options import DeviceChoice, device_options
from ckrules.cli.formats import Forms, output_options
from ckrules.cli.once import option
from ckrules.cli.options import quiet_option
from ckrules.cli.output import text_output
from ckrules.cli.terminal import note, progress
from ckrules.support.errors import UsageError
from ckrules.support.tables import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckrules.device.bench import Timed
    from ckrules.device.pool import Discovery
    from ckrules.device.session import Opened, ValidationSummary
    from ckrules.device.store import StoredRun
    from ckrules.kernels.parts import Problem

GROUP = "build"

FORMS: Forms = {"table": (".txt",), "csv": (".csv",), "tuned": ()}


@click.command()
@run_options("KERNELS…", warmup=5, repeat=20, least=1)
@device_options
@option("--executor", default="local", metavar="WHERE", help="local or dask://HOST:PORT.")
@option("--retry", is_flag=True, help="Run again what failed before.")
@output_options(FORMS)
@quiet_option
def command(
    device: DeviceChoice,
    runs: RunChoice,
    executor: str,
    retry: bool,
    form: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Time built kernels on problems; what was measured before is not measured again."""
    from ckrules.compiling import folder
    from ckrules.device import registry
    from ckrules.device.bench import BenchSession, timed
    from ckrules.device.session import RunOptions
    from ckrules.device.store import Runs, place_for

    if not runs.lines and not runs.files:
        raise UsageError("on which problems? give --problems FILE or --problem N=8,C=256,…")
    registry.check(device.name)
    kernels = folder.find(runs.where, runs.home)
    if form == "tuned":
        from ckrules.ranking.tuned_rows import table_of

        table_of(str(k.config["variant"]) for k in kernels)  # before anything is run
    problems = problems_asked((str(k.config["variant"]) for k in kernels), runs.lines, runs.files)
    options = RunOptions(
        device.name, runs.timeout, runs.warmup, runs.repeat, device_options=device.options
    )
    with _devices(executor, device.name) as (found, opened):
        if not found.devices:
            note(f"no GPU for --device {device.name}: {found.reason()}")
            return 3
        with Runs(place_for(kernels, runs.database)) as store, device.listening() as listener:
            session = BenchSession(kernels, problems, found.devices, options, store, retry=retry)
            total = session.count()
            known = session.known
            with progress("runs", total) as bar:

                def tell(run: StoredRun) -> None:
                    bar.advance(1)
                    _say_failure(run)

                summary = session.run(store, tell, listener, opened)
            times = timed(store, kernels, problems, options)
    if not total and not known:
        say_left_out(session)
        note("nothing to run")
        return 3
    with text_output(output) as stream:
        if form == "tuned":
            left_out = _write_tuned(stream, times, found)
        else:
            left_out = _write(stream, times, form)
    for reason, count in left_out.items():
        note(f"{count:,} time{'s' * (count != 1)} left out, {reason}")
    if not quiet:
        say_left_out(session)
        note(_counted(summary, known))
        if not times and not any(d.has_clock for d in found.devices):
            note(f"the device {device.name} has no clock: results were compared, nothing was timed")
    return 1 if summary.failed else 0


@contextmanager
def _devices(executor: str, device: str) -> Iterator[tuple[Discovery, Opened]]:
    from ckrules.device import pool

    if executor == "local":
        yield pool.discover(device), pool.WorkerPool
        return
    from ckrules.compiling import executors
    from ckrules.device.cluster import Cluster

    with executors.client(executor) as client:
        cluster = Cluster(client)
        yield cluster.discover(device), cluster.pool


def _say_failure(run: StoredRun) -> None:
    """One line on standard error for a run without a time that should have one."""
    from ckrules.device.jobs import FAILED

    outcome = run.outcome
    if outcome.status in FAILED:
        text = "; ".join(p for p in (outcome.where or "", outcome.detail) if p)
        note(f"{outcome.status}: {run.kernel.name} on {run.problem}: {text}")


def _write_tuned(stream: IO[str], times: Sequence[Timed], found: Discovery) -> Mapping[str, int]:
    """Writes the rows of a tuned table; what was left out, by the reason."""
    from ckrules.ranking.tuned_rows import TunedTime, write

    units = {d.name: d.compute_units for d in found.devices}
    return write(
        stream,
        (TunedTime(t.kernel.config, t.problem, t.microseconds, units.get(t.device)) for t in times),
    )


def _write(stream: IO[str], times: Sequence[Timed], form: str) -> Mapping[str, int]:
    from ckrules.ranking.written import Measurement, write

    if form == "csv":
        write(
            stream,
            (Measurement(t.kernel.name, t.kernel.config, t.problem, t.microseconds) for t in times),
        )
    elif times:
        stream.write(_table(times))
    return {}


def _table(times: Iterable[Timed]) -> str:
    """The fastest kernel of each problem."""
    of: dict[Problem, list[Timed]] = {}
    for each in times:
        of.setdefault(each.problem, []).append(each)
    rows = [["problem", "us", "TFLOPS", "kernels", "fastest"]]
    for problem, found in of.items():
        best = found[0]
        speed = "" if best.tflops is None else f"{best.tflops:.1f}"
        count = f"{len(found):,}"
        rows.append([str(problem), f"{best.microseconds:.1f}", speed, count, best.kernel.name])
    return aligned(rows, right={1, 2, 3})


def _counted(summary: ValidationSummary, known: int) -> str:
    words = [f"{n:,} {status}" for status, n in sorted(summary.by_status.items())]
    text = f"{summary.runs:,} run{'s' * (summary.runs != 1)}"
    text += f": {', '.join(words)}" if words else ""
    return text + (f"; {known:,} known already" if known else "")

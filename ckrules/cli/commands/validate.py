"""Run built kernels on a GPU and compare every element with a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckrules.cli.built import RunChoice, problems_asked, run_options, say_left_out
from ckrules.cli.device_options import DeviceChoice, device_options
from ckrules.cli.once import option
from ckrules.cli.options import quiet_option, vary_option
from ckrules.cli.terminal import note, progress, say
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.jobs import RunOutcome
    from ckrules.device.session import ValidationSummary
    from ckrules.device.store import StoredRun


GROUP = "build"


@click.command()
@run_options("WHERE…", warmup=3, repeat=10, least=0)
@vary_option
@option("--seed", default=0, help="The same seed gives the same random problems. [0]")
@device_options
@quiet_option
def command(device: DeviceChoice, runs: RunChoice, vary: int, seed: int, quiet: bool) -> int:
    """Run built kernels on a GPU and compare every element with a reference."""
    from ckrules.compiling import folder
    from ckrules.device import pool, registry
    from ckrules.device.jobs import FAILED
    from ckrules.device.session import RunOptions, ValidationSession
    from ckrules.device.store import Runs, place_for

    registry.check(device.name)
    kernels = folder.find(runs.where, runs.home)
    problems = problems_asked((str(k.config["variant"]) for k in kernels), runs.lines, runs.files)
    if vary and problems is not None:
        raise UsageError("--vary: not beside --problem or --problems")
    found = pool.discover(device.name)
    if not found.devices:
        note(f"no GPU for --device {device.name}: {found.reason()}")
        return 3
    options = RunOptions(
        device.name, runs.timeout, runs.warmup, runs.repeat, device_options=device.options,
        varied=vary, seed=seed,
    )  # fmt: skip
    validation = ValidationSession(kernels, problems, found.devices, options)
    total = validation.count()
    if not total:
        say_left_out(validation)
        note("nothing to run")
        return 3
    with (
        Runs(place_for(kernels, runs.database)) as store,
        progress("runs", total) as bar,
        device.listening() as listener,
    ):

        def tell(run: StoredRun) -> None:
            bar.advance(1)
            if run.outcome.status in FAILED or run.finding:
                _say(run)

        summary = validation.run(store, tell, listener)
    if not quiet:
        say_left_out(validation)
        note(_counted(summary))
    if summary.failed or summary.findings:
        return 1
    return 4 if summary.unfinished else 0


def _say(run: StoredRun) -> None:
    """One line on standard output for a run that is worth one."""
    outcome = run.outcome
    parts = [outcome.where or "", outcome.detail]
    if outcome.wrong:
        parts.append(f"{outcome.wrong:,} of {outcome.elements:,} elements, {_error(outcome)}")
    text = "; ".join(p for p in parts if p)
    codes = f", as foretold by {', '.join(run.foretold)}" if run.foretold else ""
    say(f"{outcome.status}{codes}: {run.kernel.name} ({run.kernel.arch}) on {run.problem}: {text}")
    if run.finding:
        say(f"  finding: {run.finding}")


def _error(outcome: RunOutcome) -> str:
    """How far the wrong elements of a result are off."""
    nan, other = outcome.nan or 0, (outcome.not_finite or 0) - (outcome.nan or 0)
    counts = [f"{n:,} {what}" for n, what in ((nan, "NaN"), (other, "infinite")) if n]
    if outcome.max_abs is None:
        return f"no finite error: {', '.join(counts)}"
    allowed = f"allowed {outcome.atol:.3g} + {outcome.rtol:.3g} relative"
    largest = f"largest error {outcome.max_abs:.3g} ({allowed})"
    return f"{largest}, {', '.join(counts)}" if counts else largest


def _counted(summary: ValidationSummary) -> str:
    words = []
    for status, n in sorted(summary.by_status.items()):
        expected = summary.foretold.get(status, 0)
        if n > expected:
            words.append(f"{n - expected:,} {status}")
        if expected:
            words.append(f"{expected:,} {status} as foretold")
    text = f"{summary.runs:,} run{'s' * (summary.runs != 1)}: {', '.join(words)}"
    return text + (f"; {len(summary.findings):,} against the rules" if summary.findings else "")

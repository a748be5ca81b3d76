"""Run one built kernel on one problem and print the result as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.built import MADE_AGAIN
from ckrules.cli.device_options import DeviceChoice, device_options
from ckrules.cli.once import option
from ckrules.cli.options import Seconds
from ckrules.cli.outcomes import outcome_json
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text

if TYPE_CHECKING:
    from ckrules.device.interface import DeviceInfo
    from ckrules.device.jobs import Job, RunOutcome

GROUP = "build"


@click.command()
@click.argument("kernel", metavar="KERNEL")
@option("--problem", "line", required=True, metavar="PROBLEM", help="Sizes: N=…,C=…,K=…")
@option("--dir", "home", metavar="DIR", help="Folder of kernels given by name.")
@device_options
@option("--index", type=click.IntRange(min=0), help="Which GPU [first that fits].")
@option("--timeout", default=60.0, type=Seconds(), help="Limit for a step [60].")
@option("--warmup", default=3, type=click.IntRange(min=0), help="Runs before timing [3].")
@option("--repeat", default=10, type=click.IntRange(min=0), help="Timed runs [10]; 0: none.")
def command(
    kernel: str,
    line: str,
    home: str | None,
    device: DeviceChoice,
    index: int | None,
    timeout: float,
    warmup: int,
    repeat: int,
) -> int:
    """Run one built kernel on one problem and print the result as JSON."""
    from ckrules.compiling import folder
    from ckrules.device import registry
    from ckrules.device.jobs import Job
    from ckrules.device.problem_set import fits
    from ckrules.device.store import made_again
    from ckrules.kernels.families import problems_of

    registry.check(device.name)
    found = folder.find([kernel], home)
    if len(found) != 1:
        such = f", such as {found[0].folder / found[0].name}" if found else ""
        raise UsageError(f"{kernel}: {len(found)} kernels, expected one{such}")
    (one,) = found
    problems = problems_of(str(one.config["variant"]))
    problem = problems.parse(line)
    if not fits(one, problem):
        raise UsageError(f"{one.name} does not compute a {problems.name} like {problem}")
    if one.missing:
        raise UsageError(f"{one.name}: {one.missing}")
    if made_again([one]):
        raise UsageError(f"{one.name}: {MADE_AGAIN}")
    job = Job(one.folder, one.name, problem, warmup, repeat)
    if (done := device.run(job, one.arch, index, timeout)) is None:
        return 3
    outcome, info = done
    answer = report(job, str(one.config["variant"]), outcome, info)
    click.echo(json_text(answer, indent=2))
    return {"ok": 0, "unfinished": 4}.get(outcome.status, 1)


def report(job: Job, variant: str, outcome: RunOutcome, info: DeviceInfo | None) -> dict[str, Any]:
    """The JSON object of a run."""
    from dataclasses import asdict

    from ckrules.kernels.families import problems_of

    answer: dict[str, Any] = {
        "problem": {"text": str(job.problem), **problems_of(variant).row(job.problem, variant)},
        "kernel": job.name,
        "device": asdict(info) if info is not None else None,
    }
    found = outcome_json(outcome, job.problem.flops)
    if "execution" in found:
        found["execution"]["time_min_ms"] = outcome.time_min_ms
    if "validation" in found:
        found["validation"] |= {
            "max_abs_error": outcome.max_abs,
            "rtol": outcome.rtol,
            "atol": outcome.atol,
            "pattern": outcome.where,
        }
    return {**answer, **found}

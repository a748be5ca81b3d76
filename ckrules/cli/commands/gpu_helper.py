"""Run a product or convolution with the kernel chosen for it and print upstream's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.device_options import DeviceChoice, device_options, options_of
from ckrules.cli.once import option
from ckrules.cli.options import Seconds
from ckrules.cli.outcomes import outcome_json
from ckrules.cli.terminal import note
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text

if TYPE_CHECKING:
    from ckrules.device.jobs import RunOutcome
    from ckrules.runtime import Choice

GROUP = "build"


@click.command()
@click.argument("sizes", nargs=-1, type=click.IntRange(min=1), metavar="[M N K]")
@option("--problem", "line", metavar="PROBLEM", help="Instead of M N K: N=…,C=…,K=…")
@option("--validate", is_flag=True, help="Show how the result compares.")
@option("--dir", "home", default=".", metavar="DIR", help="The kernels' folder [.].")
@option("--arch", metavar="GPU", help="Of kernels for several GPUs.")
@option("--set", "chosen", multiple=True, metavar="FIELD=VALUE",
              help="What kernels must have. Repeatable.")  # fmt: skip
@device_options
@option("--index", default=0, type=click.IntRange(min=0), help="Which GPU [0].")
@option("--timeout", default=60.0, type=Seconds(), help="Limit for a step [60].")
@option("--warmup", default=3, type=click.IntRange(min=0), help="Runs before timing [3].")
@option("--repeat", default=10, type=click.IntRange(min=1), help="Timed runs [10].")
def command(
    sizes: tuple[int, ...],
    line: str | None,
    validate: bool,
    home: str,
    arch: str | None,
    chosen: tuple[str, ...],
    device: DeviceChoice,
    index: int,
    timeout: float,
    warmup: int,
    repeat: int,
) -> int:
    """Run a product or convolution with the kernel chosen for it and print upstream's JSON."""
    from ckrules.device import registry
    from ckrules.device.jobs import Job
    from ckrules.runtime import Dispatcher, NoKernelError

    registry.check(device.name)
    problem, fields = asked(sizes, line), fields_of(chosen)
    dispatcher = Dispatcher(home, arch, device.name)
    try:
        choice = dispatcher.select(problem, **fields)
    except NoKernelError as error:
        given = dict(zip("MNK", sizes, strict=True)) if sizes else {"text": problem}
        click.echo(json_text({"problem": given, "error": "No kernel selected"}, indent=2))
        note(f"error: {error}")
        return 1
    file = choice.kernel.file
    job = Job(file.folder, file.name, choice.runs, warmup, repeat, file.opener)
    if (done := device.run(job, dispatcher.arch, index, timeout)) is None:
        return 3
    outcome, _ = done
    click.echo(json_text(answer(choice, outcome, validate), indent=2))
    return {"ok": 0, "unfinished": 4}.get(outcome.status, 1)


def asked(sizes: Sequence[int], line: str | None) -> str:
    """The problem's text.

    >>> asked([8, 16, 32], None)
    'M=8,N=16,K=32'

    Raises:
        UsageError: If it is not given once, in one of the two ways.
    """
    if line is not None and not sizes:
        return line
    if line is not None or len(sizes) != 3:
        raise UsageError("give M, N and K, or --problem")
    return "M={},N={},K={}".format(*sizes)


def fields_of(words: Sequence[str]) -> dict[str, Any]:
    """What ``--set`` says of kernels.

    >>> fields_of(["dtype=fp16", "tile_m=64", "pad_k=true"])
    {'dtype': 'fp16', 'tile_m': 64, 'pad_k': True}

    Raises:
        UsageError: For a word that is not of the form FIELD=VALUE, and a field that comes twice.
    """
    known = {"true": True, "false": False}
    return {
        name: known.get(value.lower(), int(value) if value.isdecimal() else value)
        for name, value in options_of(words, "--set", "FIELD=VALUE").items()
    }


def answer(choice: Choice, outcome: RunOutcome, validate: bool) -> dict[str, Any]:
    """The JSON object of a run."""
    name = choice.kernel.name
    found: dict[str, Any] = {
        "problem": _sizes(choice.kernel.variant, choice.problem),
        "kernel": name,
        "selected_kernel": name,
        "source": str(choice.source),
    }
    if choice.padded:
        found["padded"] = _sizes(choice.kernel.variant, choice.runs)
    return {**found, **outcome_json(outcome, choice.problem.flops, validated=validate)}


def _sizes(variant: str, problem: Any) -> Mapping[str, Any]:
    """A problem's sizes by upstream's names: M, N and K of a product."""
    from ckrules.kernels.families import problems_of

    kinds = problems_of(variant)
    sizes = kinds.row(problem, variant)
    quiet = kinds.quiet()
    return {n: v for n, v in sizes.items() if n != "flops" and quiet.get(n) != v}

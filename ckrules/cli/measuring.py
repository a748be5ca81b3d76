"""What `ckrules search --device` does: kernels are built and timed, and shown by measured time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.cli.device_options import options_of
from ckrules.cli.output import text_output
from ckrules.cli.ranked import RankingChoice, Shown, name, named_object, rendered
from ckrules.cli.terminal import note, progress
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckrules.device.interface import DeviceInfo
    from ckrules.kernels.parts import Problem
    from ckrules.ranking.search import Search
    from ckrules.ranking.surrogate import MeasuredRanking, Tried

POOL = 400
"""Kernels that the search keeps as candidates for measuring."""
_USUAL = 32


@dataclass(frozen=True)
class MeasureOptions:
    """Where kernels are measured, and how many."""

    device: str
    options: Mapping[str, str]
    home: Path
    measure: int


def asked(
    device: str | None,
    words: Sequence[str],
    home: str | None,
    measure: int | None,
    kernels: int | None,
    explain: bool,
) -> MeasureOptions | None:
    """The options together; None: nothing is measured.

    Raises:
        UsageError: If they do not go together.
    """
    if device is None:
        given = {"--device-option": words, "--dir": home, "--measure": measure}
        for option, value in given.items():
            if value:
                raise UsageError(f"{option} is about measuring: give --device, too")
        return None
    if home is None:
        raise UsageError("--device needs --dir DIR: where kernels are built and remembered")
    if kernels is not None:
        raise UsageError("--kernels is about predictions: with --device say --measure")
    if explain:
        raise UsageError("--explain is about predictions: leave out --device, or ask ckrules rank")
    return MeasureOptions(device, options_of(words), Path(home), measure or _USUAL)


def run(
    searches: Iterable[Search], asked: MeasureOptions, choice: RankingChoice, seconds: float | None
) -> int:
    """Searches, measures and shows; returns the exit code."""
    from ckrules.device import measure_loop, pool, registry

    registry.check(asked.device)
    found = pool.discover(asked.device)
    shown, codes = [], []
    for search in searches:
        candidates, problem = search.candidates, search.candidates.problem
        devices = [d for d in found.devices if d.arch in ("", candidates.arch)]
        if not devices:
            there = ", ".join(sorted({d.arch for d in found.devices})) or found.reason()
            note(f"no {candidates.arch} for --device {asked.device}: {there}")
            return 3
        if not candidates.space.count():
            note(f"no kernel accepts {problem}")
            codes.append(3)
            continue
        measure_loop.need_clock(asked.device, devices)
        answer = _measured(search, asked, devices, choice.draw, seconds)
        shown.append(_shown(problem, answer.tried[: choice.shown]))
        codes.append(0 if any(t.microseconds is not None for t in answer.tried) else 1)
        if not choice.quiet:
            note(_said(answer) + (f"; {problem}" if choice.several else ""))
    if shown:
        with text_output(choice.output) as stream:
            stream.write(rendered(shown, _HEAD, choice.form, several=choice.several))
    return max(codes)


def _measured(
    search: Search,
    asked: MeasureOptions,
    devices: Sequence[DeviceInfo],
    draw: int,
    seconds: float | None,
) -> MeasuredRanking:
    from ckrules.compiling.database import FILE
    from ckrules.device import measure_loop
    from ckrules.device.session import RunOptions
    from ckrules.device.store import Runs
    from ckrules.ranking.surrogate import MeasuredSearch

    _make(asked.home)
    candidates = search.candidates
    options = RunOptions(asked.device, warmup=5, repeat=20, device_options=asked.options)
    with Runs(asked.home / FILE) as runs, progress("kernels", asked.measure) as bar:
        shop = measure_loop.Workshop(
            asked.home, candidates.books, candidates.problem, devices, options, runs,
            measure_loop.builder_of(candidates.variant),
        )  # fmt: skip
        measured = MeasuredSearch(search, shop)
        return measured.run(asked.measure, draw, seconds, lambda _: bar.advance(1))


def _make(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{home}: cannot make the folder: {error.strerror or error}") from None


def _said(answer: MeasuredRanking) -> str:
    tried = len(answer.tried)
    failed = sum(t.microseconds is None for t in answer.tried)
    text = f"{tried:,} kernel{'s' * (tried != 1)} tried"
    text += f", {answer.known:,} of them before" if answer.known else ""
    text += f", {failed:,} without a time" if failed else ""
    return f"{text}; ended: {answer.ended}"


_HEAD = ("us", "predicted", "TFLOPS", "kernel")


def _shown(problem: Problem, tried: Sequence[Tried]) -> Shown:
    timed = [t for t in tried if t.microseconds is not None]
    rows = []
    for t in timed:
        us = t.microseconds or 0.0
        tflops = t.ranked.figures["tflops"] * t.ranked.microseconds / us
        rows.append([f"{us:.1f}", f"{t.ranked.microseconds:.1f}", f"{tflops:.1f}", name(t.ranked)])
    return Shown(problem, [r[-1] for r in rows], rows, [_object(t) for t in tried], {})


def _object(t: Tried) -> dict[str, Any]:
    return {"measured": t.microseconds, **named_object(t.ranked)}

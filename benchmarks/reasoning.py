"""Medians of why, fix, diff and lint on the full book; run ``python benchmarks/reasoning.py``.

Targets: why and fix under 2 s, diff and lint under 30 s. Each question is asked as the command
line asks it, nothing is cached on disk, and each diff and lint has a process of its own; loading
Python modules and rules is not counted. Processor time is shown beside the time on the clock,
because other work on the machine lengthens only the latter. Exit code 1 if a median is above its
target.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ckrules import constraints
from ckrules.engine.codec import Point
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.region import Region
from ckrules.reasoning.difference import diff
from ckrules.reasoning.lint import lint
from ckrules.reasoning.nearest import fix
from ckrules.reasoning.why import why, why_region

PURPOSE = ("variant", "arch", "dtype", "ndim", "layout")
KEYS = ("variant", "arch", "dtype")
OLD, NEW = "2025.11", "2026.06"
TARGETS = {"why": 2.0, "why a region": 2.0, "fix": 2.0, "diff": 30.0, "lint": 30.0}

#: Two sides by GPU and version; without a variant all three directions are compared.
DIFFS: tuple[tuple[tuple[str, str], tuple[str, str], str | None], ...] = (
    (("gfx942", NEW), ("gfx950", NEW), None),
    (("gfx90a", NEW), ("gfx942", NEW), None),
    (("gfx1200", NEW), ("gfx1201", NEW), None),
    (("gfx942", OLD), ("gfx942", NEW), "bwd_weight"),
    (("", OLD), ("", NEW), None),
)


@dataclass(frozen=True)
class Taken:
    """What one call took: seconds on the clock and of the processor, and bytes at the most."""

    clock: float
    processor: float
    memory: int = 0


def taken(call: Callable[[], Any]) -> Taken:
    """Runs a call."""
    began, spent = time.perf_counter(), time.process_time()
    call()
    clock, processor = time.perf_counter() - began, time.process_time() - spent
    return Taken(clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def points(book: RuleBook, count: int, seed: int = 1) -> list[Point]:
    """Illegal points: baselines with one to four fields changed at random."""
    rng = random.Random(seed)
    out: list[Point] = []
    while len(out) < count:
        names = rng.sample(list(book.fields), rng.randint(1, 4))
        changed = {n: rng.choice(domain_of(book.fields[n]).values) for n in names}
        point = book.example(changed)
        if book.violations(point):
            out.append(point)
    return out


def regions(book: RuleBook) -> list[dict[str, Any]]:
    """Pairs of a GPU with a dtype or a pipeline."""
    archs = domain_of(book.fields["arch"]).values
    return [
        {"arch": (a,), name: (v,)}
        for a in archs
        for name, v in (("dtype", "fp32"), ("pipeline", "comp_async"), ("pipeline", "compv5"))
    ]


def one_diff(which: int) -> Taken:
    """One of `DIFFS`, in a process of its own."""
    first, second, variant = DIFFS[which]

    def side(gpu: str, ck: str) -> Region:
        held = {"arch": gpu, "variant": variant}
        values = {n: (v,) for n, v in held.items() if v}
        return Region(constraints.book("forward", ck=ck), values, title=f"{gpu} {ck}".strip())

    sides = side(*first), side(*second)
    return taken(lambda: diff(*sides))


def one_lint(ck: str) -> Taken:
    """Lint of a version's whole book, in a process of its own."""
    book = constraints.book("forward", ck=ck)

    def call() -> None:
        if lint(book, keys=KEYS, timeout=20).undecided:
            raise SystemExit("lint left a question open")

    return taken(call)


def apart(work: Callable[[Any], Taken], arguments: Sequence[Any]) -> Iterable[Taken]:
    """The calls one after the other, each in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        yield from pool.imap(work, arguments)


def show(title: str, some: Iterable[Taken]) -> bool:
    """Prints what some calls took; true if the median is within its target."""
    found = list(some)
    middle = statistics.median(t.clock for t in found)
    used = [t.processor for t in found]
    print(
        f"{title:<12} n={len(found):<4} median {middle:7.2f} s  "
        f"greatest {max(t.clock for t in found):7.2f} s  processor: median "
        f"{statistics.median(used):7.2f} s  greatest {max(used):7.2f} s  "
        f"memory {max(t.memory for t in found) / 2**20:5.0f} MB  target {TARGETS[title]:g} s",
        flush=True,
    )
    return middle < TARGETS[title]


def main() -> int:
    """Measures everything once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100, help="points for why and fix [100]")
    parser.add_argument("--repeat", type=int, default=3, help="lints of each version [3]")
    chosen = parser.parse_args()
    os.environ["CKRULES_CACHE_DIR"] = ""
    book = constraints.book("forward")
    some = points(book, chosen.n)
    within = [
        show("why", (taken(partial(why, book, p)) for p in some)),
        show("why a region", (taken(partial(why_region, book, r)) for r in regions(book))),
        show("fix", (taken(partial(fix, book, p, n=5, keep=PURPOSE)) for p in some)),
        show("diff", apart(one_diff, range(len(DIFFS)))),
        show("lint", apart(one_lint, [OLD, NEW] * chosen.repeat)),
    ]
    return 0 if all(within) else 1


if __name__ == "__main__":
    raise SystemExit(main())

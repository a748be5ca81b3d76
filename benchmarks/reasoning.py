"""Medians of why, fix, diff and lint on the full book; run ``python benchmarks/reasoning.py``.

Targets: why and fix under 2 s, diff and lint under 30 s. Processor time is shown beside the time on
the clock, because other work on the machine lengthens only the latter.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from ckrules import constraints
from ckrules.engine.book import RuleBook
from ckrules.engine.points import Point
from ckrules.engine.variables import domain_of
from ckrules.reasoning.difference import diff
from ckrules.reasoning.lint import lint
from ckrules.reasoning.nearest import fix
from ckrules.reasoning.sides import Side
from ckrules.reasoning.why import why, why_region

PURPOSE = ("variant", "arch", "dtype", "ndim", "layout")
TARGETS = {"why": 2.0, "why region": 2.0, "fix": 2.0, "diff": 30.0, "lint": 30.0}


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
        for a in archs[::2]
        for name, v in (("dtype", "fp32"), ("pipeline", "comp_async"), ("pipeline", "compv5"))
    ]


def measure(title: str, work: Iterable[Callable[[], Any]]) -> None:
    """Prints the median and the greatest time of some calls."""
    clock: list[float] = []
    processor: list[float] = []
    for call in work:
        began, spent = time.perf_counter(), time.process_time()
        call()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - spent)
    middle, most = statistics.median(clock), max(clock)
    used = statistics.median(processor)
    print(
        f"{title:<12} n={len(clock):<4} median {middle:7.2f} s  max {most:7.2f} s  "
        f"processor {used:7.2f} s  target {TARGETS[title]:g} s",
        flush=True,
    )


def main() -> None:
    """Measures everything once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=40, help="points for why and fix")
    n = parser.parse_args().n
    book = constraints.book("forward")
    old = constraints.book("forward", ck="2025.11")
    some = points(book, n)
    measure("why", (lambda p=p: why(book, p) for p in some))
    measure("why region", (lambda r=r: why_region(book, r) for r in regions(book)))
    measure("fix", (lambda p=p: fix(book, p, n=5, keep=PURPOSE) for p in some))

    def side(gpu: str, rules: RuleBook = book) -> Side:
        return Side(gpu, rules, {"variant": ("bwd_weight",), "arch": (gpu,)})

    pairs = [
        (side("gfx942"), side("gfx950")),
        (side("gfx1200"), side("gfx1201")),
        (side("gfx942"), side("gfx942", old)),
    ]
    measure("diff", (lambda a=a, b=b: diff(a, b) for a, b in pairs))
    measure("lint", [lambda: lint(book, keys=("variant", "arch", "dtype"), timeout=20)])


if __name__ == "__main__":
    main()

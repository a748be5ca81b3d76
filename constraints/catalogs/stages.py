"""Stages of a list: listed, let through by upstream, legal by our rules; what each rule removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ckrules.arch import Gpu, load_all
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import Value
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import family_of
from ckrules.kernels.family import Family
from ckrules.kernels.library import book
from ckrules.support.errors import unknown

#: What survives, in the order in which upstream and then we look at a list.
STAGES = {
    "listed": "what the catalog yields",
    "generated": "what upstream's dispatcher filter lets through to its generator",
    "builder": "what upstream's instance builder accepts",
    "legal": "what breaks no rule of severity error of the legal profile",
}
#: The rule set that each of the others filters by.
PROFILES = {"generated": "dispatcher", "builder": "builder", "legal": "legal"}


def stages_of(family: Family) -> tuple[str, ...]:
    """The stages whose rules a family has; upstream has no checks of some."""
    return tuple(s for s in STAGES if s not in PROFILES or PROFILES[s] in family.profiles)


@dataclass(frozen=True)
class Staged:
    """A list after a stage.

    ``points`` are those that survive, in order. ``removed`` counts for every rule the points
    that break it (a point may break several), ``first`` those that it alone is charged with: the
    broken rule that breaks for most of the list. ``reasons`` has the codes per removed point.
    """

    stage: str
    points: list[Mapping[str, Value]]
    removed: dict[str, int]
    first: dict[str, int]
    reasons: list[tuple[Mapping[str, Value], tuple[str, ...]]] = field(repr=False)


def stage_book(stage: str, variant: str, ck: str, gpus: Sequence[Gpu]) -> RuleBook:
    """The rules that a stage adds to the list, for a variant's operator: none if it has none.

    Raises:
        UnknownNameError: For an unknown stage, with near matches.
    """
    if stage not in STAGES:
        raise unknown("stage", stage, STAGES)
    own = tuple(gpus) == load_all()
    if stage == "listed" or stage not in stages_of(family_of(variant)):
        return book(variant, ck=ck, gpus=None if own else gpus).select(lambda r: False)
    found = book(variant, ck=ck, profile=PROFILES[stage], gpus=None if own else gpus)
    return found.select(lambda r: r.severity == "error")


@lru_cache(maxsize=16)
def _judge(stage: str, variant: str, ck: str, gpus: tuple[Gpu, ...]) -> tuple[tuple[str, ...], Any]:
    """The codes of a stage's rules, and the function that says which of them hold."""
    rules = stage_book(stage, variant, ck, gpus).rules
    return tuple(r.code for r in rules), compile_function([r.condition for r in rules])


def survivors(
    points: Sequence[Mapping[str, Value]], stage: str, ck: str, gpus: Sequence[Gpu]
) -> Staged:
    """The points that break no rule of the stage, and the rules that the others break."""
    broken: dict[int, tuple[str, ...]] = {}
    groups: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        groups.setdefault(family_of(str(point["variant"])).name, []).append(i)
    for places in groups.values():
        codes, judge = _judge(stage, str(points[places[0]]["variant"]), ck, tuple(gpus))
        for i in places:
            verdicts = judge(points[i])
            if not all(verdicts):
                broken[i] = tuple(c for c, ok in zip(codes, verdicts, strict=True) if not ok)
    removed = Counter(code for codes in broken.values() for code in codes)
    charged = Counter(max(codes, key=lambda c: (removed[c], c)) for codes in broken.values())
    return Staged(
        stage,
        [p for i, p in enumerate(points) if i not in broken],
        dict(sorted(removed.items())),
        dict(sorted(charged.items())),
        [(points[i], broken[i]) for i in sorted(broken)],
    )

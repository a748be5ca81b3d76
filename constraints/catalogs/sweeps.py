"""Ranges of values that a file names, of which a tool lists what passes its own checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from ckrules.arch import Gpu, load_all
from ckrules.constraints.catalogs.model import CatalogData, Sweep
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BoolExpr, Value, all_of, any_of
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rules import Kind, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.family import Family
from ckrules.kernels.library import book

Point = dict[str, Value]
Axes = Mapping[str, tuple[Value, ...]]
Tests = Callable[[Mapping[str, Value]], tuple[bool, ...]]

#: Code and name of the rule of catalogs that are files of ranges, and what it says.
OUTSIDE = ("CAT012", "outside-the-ranges")
INSIDE = "The values are in the ranges that the file names."


class SweepKernels:
    """The kernels of a file of ranges, in the order of its nested loops.

    Args:
        data: The catalog's file, which has a sweep.
        gpus: The GPUs that points may name.
    """

    def __init__(
        self, data: CatalogData, sweep: Sweep, family: Family, ck: str, gpus: Sequence[Gpu]
    ) -> None:
        self.data, self.sweep, self.family, self.ck, self.gpus = (
            data,
            sweep,
            family,
            ck,
            tuple(gpus),
        )
        self.words: Any = family.vocabulary(ck, gpus)

    def listed(self, key: Mapping[str, Value]) -> Iterator[Point]:
        """What the tool lists for a key (`Fields.keys`)."""
        sweep = self.sweep
        variant = str(key["variant"])
        start: dict[str, Any] = {
            **self.family.defaults(variant), **sweep.beside.get(variant, {}), **sweep.fixed, **key
        }  # fmt: skip
        sweep.derive(start)
        self.family.complete(start, {})
        axes = sweep.shape(variant, sweep.axes)
        for name in axes:
            start.pop(name, None)
        names = list(axes)
        tests = _tests(self.family.name, self.ck, sweep.profile, self.gpus, (*names,), (*start,))
        yield from self._walk(start, names, tests, axes)

    def _walk(
        self, point: dict[str, Any], names: list[str], tests: Sequence[Tests], axes: Axes
    ) -> Iterator[Point]:
        depth = len(tests) - 1 - len(names)
        if not names:
            full = dict(point)
            self.sweep.derive(full)
            self.family.complete(full, {})
            if all(tests[-1](full)):
                yield {k: full[k] for k in self.words.variables}
            return
        name, *rest = names
        for value in axes[name]:
            point[name] = value
            if all(tests[depth](point)):
                yield from self._walk(point, rest, tests, axes)
        point.pop(name, None)  # a loop over nothing has not set it

    @cached_property
    def _by_variant(self) -> dict[str, Axes]:
        return {v: self.sweep.shape(v, self.sweep.axes) for v in self.family.variants}

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of fields, so that a space has no other candidates."""
        fields = self.words.variables
        found: dict[str, dict[Any, None]] = {}
        for axes in self._by_variant.values():
            for name, values in axes.items():
                if not isinstance(fields[name], BoolExpr):
                    found.setdefault(name, {}).update(dict.fromkeys(values))
        common = set.intersection(*(set(axes) for axes in self._by_variant.values()))
        return {name: list(values) for name, values in found.items() if name in common}

    @cached_property
    def book(self) -> RuleBook:
        """The file's ranges, and the checks of its tool."""
        rule = Rule(
            *OUTSIDE, Kind.PROFILE, any_of(*map(self._ranges, self.family.variants)),
            profiles=("catalog",), sources=(self.data.source,), doc=INSIDE,
        )  # fmt: skip
        checks = _checks(self.family.name, self.ck, self.sweep.profile, self.gpus)
        return RuleBook(f"catalog {self.data.name}", self.words, [rule, *checks], check=False)

    def _ranges(self, variant: str) -> BoolExpr:
        """The kernels of a variant in the file's ranges."""
        fields: Mapping[str, Any] = self.words.variables
        axes = self._by_variant[variant]
        ranges = [any_of(*(held_condition(fields[k], [v]) for v in vs)) for k, vs in axes.items()]
        always = {
            **self.family.defaults(variant), **self.sweep.beside.get(variant, {}),
            **self.sweep.fixed,
        }  # fmt: skip
        fixed = [held_condition(fields[k], [v]) for k, v in always.items() if k not in axes]
        return all_of(fields["variant"] == variant, *ranges, *fixed)


def _checks(family: str, ck: str, profile: str, gpus: tuple[Gpu, ...]) -> list[Rule]:
    from ckrules.kernels.families import named

    if not profile:
        return []
    own = None if gpus == load_all() else gpus
    return [*book(named(family).variants[0], ck=ck, profile=profile, gpus=own).rules]


@lru_cache(maxsize=16)
def _tests(
    family: str, ck: str, profile: str, gpus: tuple[Gpu, ...], names: tuple[str, ...],
    start: tuple[str, ...],
) -> list[Tests]:  # fmt: skip
    """The checks by the loop in which all of their fields are known, then those of a whole point.

    Checks with fields that only a whole point has come last.
    """
    found: list[list[BoolExpr]] = [[] for _ in range(len(names) + 1)]
    for rule in _checks(family, ck, profile, gpus):
        needed = rule.condition.support - {*start}
        known = needed <= {*names}
        depth = max((names.index(n) for n in needed), default=0) if known else len(names)
        found[depth].append(rule.condition)
    return [compile_function(conditions) for conditions in found]

"""Which kernel runs a problem: by measured time, else by the model's, else by the estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ckrules.arch import load
from ckrules.device.tensors import size
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of, plain_variant
from ckrules.kernels.timing import CAUTION
from ckrules.runtime.errors import NoKernelError
from ckrules.runtime.padding import larger
from ckrules.support.errors import CkrulesError, UsageError, unknown
from ckrules.support.plain_values import plain
from ckrules.support.recent import Recent

if TYPE_CHECKING:
    from ckrules.kernels.parts import Problem, Tensor
    from ckrules.ranking.kernels import KernelTable
    from ckrules.ranking.learned import TimeModel
    from ckrules.runtime.built import BuiltKernel, Operation
    from ckrules.runtime.measured import KnownTimes

_SHOWN = 3
_TABLES = 64


class Source(StrEnum):
    """Where the time of a choice comes from."""

    MEASURED = "measured"
    """A results database has it, for this kernel and problem."""
    MODEL = "model"
    """A model that has seen such kernels."""
    ESTIMATE = "estimate"
    """The facts of the GPU."""
    UNKNOWN = "unknown"
    """Nothing is known of the times of such kernels: it is the first of the list."""


@dataclass(frozen=True)
class Choice:
    """The kernel for a problem."""

    kernel: BuiltKernel
    problem: Problem
    """What was asked for."""
    runs: Problem
    """What the kernel computes: the problem, or a larger one that holds it."""
    source: Source
    microseconds: float | None
    """The time, with that of copying where the problem is padded; None if nothing is known."""
    candidates: int
    """So many kernels were compared."""
    tensors: Sequence[Tensor]
    """Of the problem."""
    large: Sequence[Tensor]
    """Of what is run."""

    @property
    def padded(self) -> bool:
        """Whether channels or sizes are padded."""
        return self.runs != self.problem

    def __str__(self) -> str:
        time = "" if self.microseconds is None else f", {self.microseconds:.1f} us"
        on = f" on {self.runs}" if self.padded else ""
        return f"{self.kernel.name}{on} ({self.source}{time})"


@dataclass(frozen=True)
class _Candidate:
    kernel: BuiltKernel
    runs: Problem


@dataclass(frozen=True)
class _Time:
    microseconds: float | None
    source: Source
    caution: float = 1.0


@dataclass(frozen=True)
class Chooser:
    """Chooses among kernels of one GPU.

    Args:
        measured: What a results database knows of a problem and variant.
        model: The model of times, as `ckrules.ranking.ranker.Ranker` takes it.
        tables: The tables of kernels that were compared.
    """

    kernels: Sequence[BuiltKernel]
    measured: Callable[[Problem, str], KnownTimes]
    model: TimeModel | bool | None = None
    tables: Recent[tuple[int, ...], KernelTable] = field(default_factory=lambda: Recent(_TABLES))

    def taking(self, problem: Problem, wanted: Mapping[str, Any]) -> list[BuiltKernel]:
        """The kernels that take a problem as it is.

        Raises:
            UsageError: For a field that no kernel has, and a problem that makes no sense.
        """
        return [k for k in self._of(problem, wanted) if k.takes(problem)]

    def _of(self, problem: Problem, wanted: Mapping[str, Any]) -> list[BuiltKernel]:
        """The kernels that compute problems of this form, and have the values asked for.

        Kernels that break rules are left out: they may compute anything.
        """
        found = [k for k in self.kernels if k.entry.legal and k.fits(problem)]
        for name, value in ((n, plain(v)) for n, v in wanted.items()):
            if self.kernels and not any(name in k.config for k in self.kernels):
                raise unknown("field", name, sorted({n for k in self.kernels for n in k.config}))
            values = sorted({str(k.config.get(name)) for k in found})
            found = [k for k in found if k.config.get(name) == _meant(value, name, k)]
            if not found:
                there = f": there are {', '.join(values)}" if values else ""
                shown = repr(value) if str(value) in values else value
                raise NoKernelError(f"no kernel for {problem} has {name} = {shown}{there}")
        return found

    def choose(self, problem: Problem, wanted: Mapping[str, Any]) -> Choice:
        """The fastest kernel, as far as is known; on a padded problem if none takes it as it is.

        Args:
            wanted: Values that fields of the kernel must have.

        Raises:
            NoKernelError: If there is none, with reasons.
            UsageError: If the kernels compute different things and nothing says which is meant.
        """
        fitting = self._of(problem, wanted)
        _one_operation(fitting, problem)
        found = self._right([_Candidate(k, problem) for k in fitting if k.takes(problem)])
        if not found:
            grown = ((k, larger(k, problem)) for k in fitting)
            found = self._right([_Candidate(k, p) for k, p in grown if p is not None])
        if not found:
            raise NoKernelError(_why_none(self.kernels, fitting, problem))
        times = self._times(found)
        order = sorted(range(len(found)), key=lambda i: self._cost(problem, found[i], times[i]))
        best, time = found[order[0]], times[order[0]]
        return self._chosen(problem, best, time, len(found))

    def _chosen(self, problem: Problem, best: _Candidate, time: _Time, count: int) -> Choice:
        kernel = best.kernel
        small, total = kernel.tensors(problem), time.microseconds
        large = small if best.runs == problem else kernel.tensors(best.runs)
        if total is not None and best.runs != problem:
            total += _copying(kernel.entry.arch, small, large)
        return Choice(kernel, problem, best.runs, time.source, total, count, small, large)

    def _right(self, found: list[_Candidate]) -> list[_Candidate]:
        """Without those that were seen to compute something else."""
        return [
            c for c in found if c.kernel.name not in self.measured(c.runs, c.kernel.variant).wrong
        ]

    def _cost(self, problem: Problem, candidate: _Candidate, time: _Time) -> tuple[float, int]:
        """What candidates are compared by: the time, then the work."""
        if time.microseconds is None:
            return float("inf"), candidate.runs.flops
        cost = time.microseconds * time.caution
        if candidate.runs != problem:
            kernel = candidate.kernel
            small, large = kernel.tensors(problem), kernel.tensors(candidate.runs)
            cost += _copying(kernel.entry.arch, small, large)
        return cost, candidate.runs.flops

    def _times(self, found: Sequence[_Candidate]) -> list[_Time]:
        times: list[_Time] = []
        unknown: dict[tuple[Problem, str, str], list[int]] = {}
        for i, c in enumerate(found):
            known = self.measured(c.runs, c.kernel.variant).microseconds.get(c.kernel.name)
            times.append(_Time(known, Source.UNKNOWN if known is None else Source.MEASURED))
            if known is None:
                key = (c.runs, c.kernel.variant, c.kernel.entry.ck)
                unknown.setdefault(key, []).append(i)
        for (problem, _, ck), places in unknown.items():
            predicted = self._predicted([found[i].kernel for i in places], problem, ck)
            for i, time in zip(places, predicted, strict=True):
                times[i] = time
        return times

    def _predicted(self, kernels: Sequence[BuiltKernel], problem: Problem, ck: str) -> list[_Time]:
        """The times that models or estimates say; unknown where nothing does."""
        from ckrules.ranking.learned import TimeModel
        from ckrules.ranking.ranker import Ranker

        try:
            times, learned = Ranker(self.model).learned_times(self._table(kernels, ck), problem)
        except CkrulesError:  # nothing is known of the times of the family, GPU or release
            if isinstance(self.model, TimeModel):
                raise  # somebody asked for this model
            return [_Time(None, Source.UNKNOWN)] * len(kernels)
        return [
            _Time(time, Source.MODEL) if known else _Time(time, Source.ESTIMATE, CAUTION)
            for time, known in zip(times.tolist(), learned.tolist(), strict=True)
        ]

    def _table(self, kernels: Sequence[BuiltKernel], ck: str) -> KernelTable:
        """The table of some of the kernels, kept: few sets of kernels take most problems."""
        from ckrules.ranking.kernels import KernelTable

        key = tuple(map(id, kernels))
        found = self.tables.get(key)
        if found is None:
            found = KernelTable.of_points([dict(k.config) for k in kernels], _books(ck))
            self.tables[key] = found
        return found


@cache
def _books(ck: str) -> Books:
    return Books(ck)


def _copying(arch: str, small: Sequence[Tensor], large: Sequence[Tensor]) -> float:
    """Microseconds of padding inputs and cutting results: each byte is read, and each written."""
    speeds = load(arch).performance
    moved = sum(size(a) + size(b) for a, b in zip(small, large, strict=True) if a != b)
    return moved / (speeds.product().memory_gbs * 1e3) if speeds is not None else 0.0


def _meant(value: Any, name: str, kernel: BuiltKernel) -> Any:
    """A value that was asked for as a kernel's family has it: words are read as people write."""
    own = kernel.config.get(name)
    if not isinstance(value, str) or not isinstance(own, str) or value == own:
        return value
    if name == "variant":
        return plain_variant(value)
    return family_of(kernel.variant).canonical(name, value, [own])


def _one_operation(kernels: Iterable[BuiltKernel], problem: Problem) -> None:
    """Complains if kernels compute different things of the same sizes."""
    known: list[Operation] = []
    groups: dict[tuple[object, ...], list[BuiltKernel]] = {}
    for kernel in kernels:
        found = next((o for o in known if o.same(kernel.config)), None)
        if found is None:
            found = kernel.operation(problem)
            known.append(found)
        groups.setdefault(found.what, []).append(kernel)
    if len(groups) < 2:
        return
    parts = list(groups.values())
    names = next(filter(lambda f: _tell_apart(f, parts), _few(parts[0][0].config)), ("variant",))
    values = sorted({_values(k, names) for part in parts for k in part})
    raise UsageError(
        f"the kernels compute different things of {problem}: "
        f"give {' and '.join(names)}: {', '.join(values)}"
    )


def _few(config: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """One field, two, or three of a configuration's."""
    fields = list(config)
    for count in (1, 2, 3):
        yield from combinations(fields, count)


def _tell_apart(names: tuple[str, ...], parts: Sequence[Sequence[BuiltKernel]]) -> bool:
    """Whether fields have other values in every part."""
    values = [{_values(k, names) for k in part} for part in parts]
    return all(len(own) == 1 for own in values) and len(set().union(*values)) == len(parts)


def _values(kernel: BuiltKernel, names: tuple[str, ...]) -> str:
    return " ".join(str(kernel.config.get(name)) for name in names)


def _why_none(
    every: Sequence[BuiltKernel], fitting: Sequence[BuiltKernel], problem: Problem
) -> str:
    if not fitting:
        illegal = sum(not k.entry.legal for k in every)
        left = f" ({illegal} break rules and are left out)" if illegal else ""
        return f"none of {len(every)} kernels computes problems such as {problem}{left}"
    reasons = list(dict.fromkeys(k.reason(problem) for k in fitting))
    more = f"; and {len(reasons) - _SHOWN} more reasons" if len(reasons) > _SHOWN else ""
    text = "; ".join(reasons[:_SHOWN])
    return f"none of {len(fitting)} kernels takes {problem}, as it is or padded: {text}{more}"

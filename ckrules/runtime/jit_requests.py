"""Kernels that are not built yet: as somebody declares them, or the fastest for a problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr.variables import Role, domain_of
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_mapping, config_from_name
from ckrules.kernels.selection import select
from ckrules.runtime.errors import NoKernelError
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Problem
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.learned import TimeModel
    from ckrules.runtime.built import BuiltKernel

_DRAWN = 4000
"""So many kernels of a larger space are drawn and compared."""
_SEED = 0


def books(ck: str | None, kernels: Sequence[BuiltKernel]) -> Books:
    """The rules of a release; of that of the kernels at hand, where none is named."""
    return Books(ck or (kernels[0].entry.ck if kernels else None))


def config(given: Any, books: Books, arch: str) -> Config:
    """A kernel as somebody declares it: a name, fields, or a configuration.

    Raises:
        UsageError: If it is none, or one of another GPU.
    """
    if isinstance(given, Config):
        found = given
    elif isinstance(given, str):
        found = config_from_name(given, books, arch=arch)
    elif isinstance(given, Mapping):
        found = config_from_mapping(given, books, arch=arch)
    else:
        raise UsageError(f"a kernel is a name or a mapping of fields, not {given!r}")
    if found.point["arch"] != arch:
        raise UsageError(f"{found.name}: for {found.point['arch']}, and the dispatcher for {arch}")
    return found


def fastest(
    problem: Problem,
    wanted: Mapping[str, Any],
    where: Sequence[str],
    books: Books,
    count: int,
    model: TimeModel | bool | None,
) -> Sequence[Point]:
    """The legal kernels that are predicted to be fastest on a problem.

    Raises:
        NoKernelError: If there is none.
        UsageError: If a field is left out that says what is computed.
    """
    from ckrules.kernels.families import family_of, problems_of
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.ranker import Ranker

    if "variant" not in wanted:
        raise UsageError("give variant: what is to be computed, such as 'forward'")
    given = {name: [value] for name, value in wanted.items()}
    asked = Candidates(select(books, given, tuple(where)), books, problem)
    if not asked.space.count():
        what = ", ".join(map(str, wanted.values()))
        raise NoKernelError(f"no legal kernel of {what} takes {problem}")
    while (open_ := next(_purposes(asked), None)) is not None:
        name, values = open_
        point = {value: asked.space.bind(**{name: value})[0] for value in values}
        fitting = [v for v in values if problems_of(asked.variant).fits(point[v], problem)]
        if len(fitting) != 1:
            text = ", ".join(sorted(map(str, fitting or values)))
            raise UsageError(f"kernels compute different things: give {name}: {text}")
        given[name] = fitting  # such as the dimensions, which the problem says
        asked = Candidates(select(books, given, tuple(where)), books, problem)
    if family_of(asked.variant).timing is None:
        return asked.space.sample(min(count, asked.space.count()), seed=_SEED)
    ranking = Ranker(model).rank(asked.kernels(_DRAWN, _SEED), problem, count)
    return [r.point for r in ranking.kernels]


def _purposes(asked: Candidates) -> Iterator[tuple[str, list[Any]]]:
    """The fields that say what is computed and have several values among the candidates."""
    for name, node in asked.region.book.fields.items():
        if domain_of(node).role is Role.PURPOSE and len(asked.space.domains[name]) > 1:
            values = [v for v, n in asked.space.counts_by(name).items() if n]
            if len(values) > 1:
                yield name, values

"""Find problems that a set of kernels leaves without a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import Writer, answer_options, configurations, timeout_option
from ckrules.cli.legality import illegal
from ckrules.cli.once import option
from ckrules.cli.options import once_each
from ckrules.cli.request import Request
from ckrules.cli.space_options import space_options
from ckrules.cli.terminal import note, progress
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules.book import RuleBook
    from ckrules.kernels.parts import Problems
    from ckrules.readers.tuned_lookup import Sizes
    from ckrules.reasoning.cover import Kernels, Uncovered

_SHOWN = 20

GROUP = "check"


@click.command()
@click.argument("kernels", nargs=-1)
@space_options
@option("--problems", metavar="FILE|-", help="Problems, one JSON object or CSV row a line.")
@option(
    "--rows",
    is_flag=True,
    help="Say which problems have no row in tuned tables, and no kernel in --catalog.",
)
@option("--symbolic", metavar="EXPR", help="All problems that meet a condition.")
@option(
    "--range",
    "ranges",
    multiple=True,
    metavar="FIELD=LO..HI",
    help="Values of a problem field for --symbolic. Repeatable.",
)
@timeout_option(60)
@answer_options
def command(
    kernels: tuple[str, ...],
    request: Request,
    problems: str | None,
    rows: bool,
    symbolic: str | None,
    ranges: tuple[str, ...],
    timeout: float,
    write: Writer,
) -> int:
    """Find problems that a set of kernels leaves without a kernel."""
    if (problems is None) == (symbolic is None):
        raise UsageError("one of --problems and --symbolic is needed")
    if ranges and symbolic is None:
        raise UsageError("--range goes with --symbolic")
    if rows:
        if problems is None:
            raise UsageError("--rows goes with --problems")
        from ckrules.cli.uncovered_rows import report_rows

        if request.by_catalog:
            untaken = partial(_untaken, cache(partial(_listed_for, request)))
            archs = tuple(request.each("arch"))
            return report_rows(kernels, problems, request.books, archs, write, untaken)
        archs = request.only("arch", beside="--rows").get("arch", ())
        return report_rows(kernels, problems, request.books, archs, write)
    asked = _asked(kernels, request)
    if asked is None or not asked.group.count:
        note("no kernels")
        return 3
    if problems is not None:
        return _listed(asked, problems, write)
    limits = asked.kind.usual(asked.fixed)
    limits |= once_each("--range", (_range(r, asked.group) for r in ranges))
    return _symbolic(asked, symbolic or "", limits, timeout, write)


@dataclass(frozen=True)
class _Asked:
    kind: Problems
    """What they compute."""
    group: Kernels
    """The kernels by what they ask of problems."""
    fixed: Mapping[str, Collection[Value]]
    """The values that their fields take."""


def _asked(names: Sequence[str], request: Request) -> _Asked | None:
    if not names and not request.by_catalog:
        return _selected(request)
    return _together(_kernels(names, request), request)


def _listed_for(request: Request, gpu: str) -> _Asked | None:
    """The catalog's kernels for a GPU; None if it has none."""
    assert request.listing is not None
    return _together([p for p in request.listing.points if p["arch"] == gpu], request)


def _untaken(
    listed: Callable[[str], _Asked | None], gpu: str, sizes: Sequence[Sizes]
) -> set[Sizes]:
    """The products that no kernel of the catalog for a GPU takes."""
    asked = listed(gpu)
    if asked is None:
        return set(sizes)
    problems = [asked.kind.parse(f"M={m},N={n},K={k}") for m, n, k in sizes]
    found = asked.group.cover([asked.kind.values(p) for p in problems])
    return {s for s, accepted in zip(sizes, found.accepted, strict=True) if not accepted}


def _together(points: Sequence[Mapping[str, Any]], request: Request) -> _Asked | None:
    """Kernels of one kind of problem; None for none."""
    from ckrules.kernels.families import family_of
    from ckrules.kernels.problem_files import kinds

    by_family: dict[str, list[Mapping[str, Any]]] = {}
    fixed: dict[str, set[Value]] = {}
    for p in points:
        by_family.setdefault(family_of(str(p["variant"])).name, []).append(p)
        for name, value in p.items():
            fixed.setdefault(name, set()).add(value)
    if not points:
        return None
    if said := illegal(points, request.books):
        note(said)
    kind, *others = kinds(str(some[0]["variant"]) for some in by_family.values())
    if others:
        said = " and ".join(k.name for k in (kind, *others))
        raise UsageError(f"kernels of one kind of problem are asked about at a time: not {said}")
    group = _empty(kind, _applicability(str(points[0]["variant"]), request))
    for some in by_family.values():
        group.add(_applicability(str(some[0]["variant"]), request), some)
    return _Asked(kind, group, fixed)


def _applicability(variant: str | None, request: Request) -> RuleBook:
    from ckrules.kernels import problem_books

    return problem_books.book(variant, ck=request.books.ck, gpus=request.books.gpus)


def _empty(kind: Problems, book: RuleBook) -> Kernels:
    from ckrules.engine.expr.variables import domain_of
    from ckrules.reasoning.cover import Kernels

    return Kernels(book, (), [domain_of(f).name for f in kind.fields()])


def _selected(request: Request) -> _Asked:
    """All kernels of the part of the space that the options select, none of them listed."""
    from ckrules.engine.expr.variables import domain_of
    from ckrules.kernels.families import problems_of
    from ckrules.reasoning.projection import projected

    if request.whole:
        raise UsageError("which kernels? Give names, files, --catalog or --variant and --arch")
    part = request.region
    variants = part.fixed.get("variant", ())
    variant = str(variants[0]) if variants else None
    book, kind = _applicability(variant, request), problems_of(variant)
    group = _empty(kind, book)
    with progress("grouping kernels by what they accept"):
        groups = projected(
            list(part.book.fields.values()),
            [*(r.condition for r in part.book.rules), *part.where],
            group.reads(book),
            fixed=part.fixed,
            order=part.book.vocabulary.order,
        )
        group.add_groups(book, groups)
    every = {name: domain_of(node).values for name, node in part.book.fields.items()}
    return _Asked(kind, group, {**every, **part.fixed})


def _kernels(names: Sequence[str], request: Request) -> Sequence[Mapping[str, Any]]:
    if names:
        archs = request.only("arch", beside="KERNELS").get("arch", ())
        return [c.point for c in configurations(names, request.books, archs)]
    assert request.listing is not None
    return request.listing.points


def _listed(asked: _Asked, path: str, write: Writer) -> int:
    from ckrules.kernels import problem_files

    items = [asked.kind.values(p) for p in problem_files.read(path, [asked.kind])]
    if not items:
        note("no problems")
        return 3
    found = asked.group.cover(items)
    quiet = asked.kind.quiet()

    def lines() -> Iterator[str]:
        covered = len(items) - len(found.uncovered)
        those = count(found.kernels, "kernel")
        are = "is" if len(items) == 1 else "are"
        yield f"{covered:,} of {count(len(items), 'problem')} {are} covered by {those}"
        for u in found.uncovered[:_SHOWN]:
            yield f"  uncovered: {_one_line(u, quiet)}"
        if len(found.uncovered) > _SHOWN:
            yield f"  … and {len(found.uncovered) - _SHOWN:,} more"

    write(found.to_dict(), lines())
    return 0 if found.complete else 1


def _symbolic(
    asked: _Asked, text: str, limits: Mapping[str, tuple[int, int]], timeout: float, write: Writer
) -> int:
    from ckrules.engine.expr import Expr
    from ckrules.engine.lang.where import parse_condition

    group = asked.group
    names: dict[str, Expr] = dict(group.variables)
    names |= group.quantities
    region = parse_condition(text, names)
    found = group.prove(limits, [region], given=asked.kind.sensible(names), timeout=timeout)

    def lines() -> Iterator[str]:
        if found.empty:
            yield "covered: no problem of the ranges meets the condition"
        elif found.counterexample is None:
            yield f"covered: some kernel of {found.kernels:,} accepts every such problem (proved)"
        else:
            which = "" if found.smallest else " (a smaller problem may be uncovered, too)"
            yield f"not covered{which}: {_one_line(found.counterexample, asked.kind.quiet())}"

    shown = {"condition": text, "ranges": {n: list(r) for n, r in limits.items()}}
    write({**shown, **found.to_dict()}, lines())
    return 0 if found.covered else 1


def _one_line(u: Uncovered, quiet: Mapping[str, Value]) -> str:
    shown = {n: v for n, v in u.problem.items() if n not in quiet or v != quiet[n]}
    rules = ", ".join(f"{code} for {n:,}" for code, n in u.refused_by.items())
    return " ".join(f"{n}={v}" for n, v in shown.items()) + f" (refused by {rules})"


def _range(text: str, group: Kernels) -> tuple[str, tuple[int, int]]:
    name, _, values = text.partition("=")
    low, dots, high = values.partition("..")
    name, high = name.strip(), high if dots else low
    if name in group.quantities:
        raise UsageError(f"--range {name}: not a field, expected as a condition in --symbolic")
    if name not in group.names:
        raise unknown("problem field", name, group.names)
    if not (low.strip().isdecimal() and high.strip().isdecimal() and len(values) < 30):
        raise UsageError(f"--range {text!r} is not of the form FIELD=LO..HI")
    lo, hi = int(low), int(high)
    domain = group.variables[name].data
    if not domain.lo <= lo <= hi <= domain.hi:
        raise UsageError(f"--range {text!r}: expected {domain.lo} <= LO <= HI <= {domain.hi}")
    return name, (lo, hi)

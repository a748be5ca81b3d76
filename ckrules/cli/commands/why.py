"""Say why a configuration is illegal, or why a region is empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import (
    PointOfBook,
    Writer,
    answer_options,
    configurations,
    name_or_text,
    point_in,
    source_lines,
    timeout_option,
)
from ckrules.cli.once import option
from ckrules.cli.request import Request
from ckrules.cli.space_options import space_options
from ckrules.cli.terminal import PATIENCE, progress, waiting
from ckrules.readers.space_file import is_space
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.reasoning.why import WhyRegion

GROUP = "check"


@click.command()
@click.argument("configs", nargs=-1, metavar="[CONFIG]... | FILE [POINT]")
@space_options
@option(
    "--deep",
    is_flag=True,
    help="Fewest values in conflict under the whole book, not only near a broken rule. Slower.",
)
@timeout_option(60)
@answer_options
def command(
    configs: tuple[str, ...], request: Request, deep: bool, timeout: float, write: Writer
) -> int:
    """Say why a configuration is illegal, or why a region is empty."""
    if configs and is_space(configs[0]):
        request, configs = request.of_file(configs[0]), configs[1:]
        if configs:
            return _points([point_in(request, configs)], deep, timeout, write)
    elif configs:
        return _points(_configurations(configs, request), deep, timeout, write)
    if deep:
        raise UsageError("--deep needs a configuration")
    if request.whole:
        raise UsageError("why of what? Give a configuration, or a region with --where or --arch")
    if request.by_catalog:
        return _listed(request, write)
    from ckrules.reasoning.why import why_region

    region = request.region
    with waiting("looking for a kernel, or for what excludes all"):
        found = why_region(region.book, region.fixed, region.where, timeout=timeout)
    write({**request.to_dict(), **found.to_dict()}, _region_lines(found, request))
    return 1 if found.empty else 0


def _region_lines(found: WhyRegion, request: Request) -> Iterator[str]:
    if found.witness is not None:
        gpu = "" if request.by_file else f" on {found.witness.get('arch')}"
        yield f"not empty: {name_or_text(found.witness)}{gpu}"
    elif found.conflict is not None:
        yield f"empty: {found.conflict.sentence()}"
        yield from (f"  {line}" for line in found.numbers)
        yield from source_lines(found.conflict.rules)


def _listed(request: Request, write: Writer) -> int:
    """What the stages leave of a catalog, and which rules remove the rest."""
    from ckrules.constraints.catalogs import STAGES

    listing = request.listing
    assert listing is not None
    with waiting("checking what the catalog lists"):
        stages = {name: listing.at(name) for name in listing.catalog.stages}
        wider = {} if listing.listed else {k: r.listed_count() for k, r in request.without_one()}

    def lines() -> Iterator[str]:
        yield f"catalog {listing.catalog.name}: {request.title()}"
        yield from (f"  {remark}" for remark in listing.catalog.data.remarks)
        for name, staged in stages.items():
            yield f"  {name:<10}{len(staged.points):>10,}  {STAGES[name]}"
            for code, n in sorted(staged.removed.items(), key=lambda item: -item[1]):
                yield f"{'':<12}{code} removes {n:,}: {listing.rule(name, code).summary}"
        for without, n in wider.items():
            if n:
                yield f"without {without}: {n:,} listed"
        if wider and not any(wider.values()):
            yield "no option alone is to blame"

    counts = {n: {"count": len(s.points), "removed": s.removed} for n, s in stages.items()}
    answer: dict[str, Any] = {**request.to_dict(), "stages": counts}
    if wider:
        answer["without"] = wider
    write({**answer, "empty": not listing.points}, lines())
    return 0 if listing.points else 1


def _configurations(configs: Sequence[str], request: Request) -> list[PointOfBook]:
    archs = request.only("arch", beside="a configuration").get("arch", ())
    found = configurations(configs, request.books, archs)
    if not found:
        raise UsageError("no configurations found")
    return [PointOfBook.of(config, request.books, advised=True) for config in found]


def _points(items: Sequence[PointOfBook], deep: bool, timeout: float, write: Writer) -> int:
    from ckrules.reasoning.why import why

    answers = []
    with progress("kernels", len(items), patience=PATIENCE) as bar:
        for item in items:
            answers.append(why(item.book, item.point, deep=deep, timeout=timeout))
            bar.advance(1)

    def lines() -> Iterator[str]:
        for item, answer in zip(items, answers, strict=True):
            yield item.title
            if not answer.violations:
                yield "  legal: no rule is broken"
                continue
            if answer.legal:
                yield "  legal: only rules of severity warning are broken"
            for v, conflict in zip(answer.violations, answer.conflicts, strict=True):
                yield f"  {v.code} [{v.kind}] {v.message}"
                yield f"    conflict: {conflict.sentence()}"
                if v.rule.sources:
                    yield f"    source: {'; '.join(v.rule.sources)}"
            if answer.core is not None:
                yield f"  core: {answer.core.sentence()}"
                seen = {v.code for v in answer.violations}
                more = [r for r in answer.core.rules if r.code not in seen]
                yield from source_lines(more)

    shown = [{**i.named, **a.to_dict()} for i, a in zip(items, answers, strict=True)]
    write(shown[0] if len(shown) == 1 else shown, lines())
    return 0 if all(a.legal for a in answers) else 1

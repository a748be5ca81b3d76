"""The report of a space or a catalog: counts, what rules take, configurations, predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr.variables import Role
from ckrules.kernels import problem_files
from ckrules.kernels.families import family_of
from ckrules.kernels.names import format_name
from ckrules.output.counts import Group
from ckrules.pictures import counting, sampled, times
from ckrules.pictures.shapes import Nothing, Picture, word
from ckrules.ranking.best import comparable
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.kernels import timing
from ckrules.report import choice
from ckrules.report.page import Report, ReportSection, ReportTable
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.constraints.catalogs.listing import CatalogListing
    from ckrules.engine.rules.book import RuleBook
    from ckrules.engine.rules.region import Region
    from ckrules.kernels.books import Books
    from ckrules.ranking.ranker import Ranker, Ranking

#: Configurations that are drawn: as lines, as points, as rows of a table, and to ask rules about.
LINES, DOTS, NAMED, ASKED = 300, 2000, 20, 2000
_RANKED, _FROM = 100, 20_000


@dataclass(frozen=True)
class PredictionOptions:
    """How predictions are made.

    Args:
        problem: A problem in words; empty: the first usual one of the family.
    """

    problem: str
    ranker: Ranker
    product: str | None = None
    seed: int = 1


def of_space(
    region: Region,
    books: Books,
    title: str,
    asked: PredictionOptions,
    topics: tuple[int, Sequence[tuple[str, int, str]]] | None,
) -> Report:
    """The report of a part of a space.

    Args:
        title: The part in words.
        topics: How many candidates there are, and of each topic of the rules its letters, how many
            of what was left it removes, and its meaning; None where that is too hard to count.
    """
    space = region.space
    count = space.count()
    facts = [
        ("configurations", f"{count:,}"), ("CK", books.ck), ("profile", books.profile),
        ("rules", f"{len(region.book.rules)}"),
    ]  # fmt: skip
    sections = [_topics(topics), _rules(region.book, region, asked.seed)]
    sections += _counts(region)
    points = space.sample(LINES, asked.seed)
    sections += _drawn(region.book, points)
    sections += _predicted(region, books, asked, points[:1])
    return Report(f"Space: {title}", facts, sections)


def of_file(region: Region, seed: int) -> Report:
    """The report of a space whose points are not kernels: counts, restrictions, points."""
    space = region.space
    count = space.count()
    facts = [("points", f"{count:,}"), ("restrictions", f"{len(region.book.rules)}")]
    sections = [_rules(region.book, region, seed)]
    if count:
        sections += [*_counts(region), *_drawn(region.book, space.sample(LINES, seed))]
    return Report(f"Space: {region.title}", facts, sections)


def of_catalog(listing: CatalogListing, stages: Mapping[str, str], books: Books, title: str,
               asked: PredictionOptions) -> Report:  # fmt: skip
    """The report of what a catalog lists: what each stage leaves and why, and the kernels left.

    Args:
        listing: What it lists.
        stages: The stages, each with what it is.
    """
    name = listing.catalog.name
    facts = [
        ("catalog", name), ("stage", listing.stage), ("CK", books.ck),
        ("listed", f"{len(listing.listed):,}"), ("shown", f"{len(listing.points):,}"),
    ]  # fmt: skip
    staged = {stage: listing.at(stage) for stage in stages}
    rows = [[s, f"{len(found.points):,}", stages[s]] for s, found in staged.items()]
    removed = [
        [s, code, f"{n:,}", listing.rule(s, code).summary]
        for s, found in staged.items()
        for code, n in sorted(found.removed.items(), key=lambda item: -item[1])
    ]
    sections = [
        ReportSection("Stages", " ".join(listing.catalog.data.remarks),
                table=ReportTable(["stage", "kernels", "what it is"], rows, frozenset({1}))),
        ReportSection("Rules that take most", "A kernel may break several.",
                table=ReportTable(["stage", "rule", "removes", ""], removed, frozenset({2}))),
    ]  # fmt: skip
    points = listing.points
    region = listing.region
    for field in choice.to_count(region.book, region.space):
        groups = _groups(listing, [field])
        sections.append(
            ReportSection(f"By {field}", picture=counting.bars(field, groups, "kernels"))
        )
    if (two := choice.pair(region.book, region.space)) is not None:
        groups = _groups(listing, two)
        picture = counting.cells(two[1], two[0], groups, "kernels")
        sections.append(ReportSection(f"By {two[0]} and {two[1]}", picture=picture))
    own = [p for p in points if set(p) == set(region.book.fields)]
    sections += _drawn(region.book, own[:: max(1, len(own) // LINES)][:LINES])
    sections += _predicted(region, books, asked, own[:1])
    return Report(f"Catalog {name}: {title}", facts, sections)


def _groups(listing: CatalogListing, by: Sequence[str]) -> list[Group]:
    """Counts by fields; kernels of a family without one are said to have none."""
    _, groups = listing.count(by)
    return [
        (tuple(f"no {f}" if v == "-" else v for f, v in zip(by, key, strict=True)), n)
        for key, n in groups
    ]


def _topics(topics: tuple[int, Sequence[tuple[str, int, str]]] | None) -> ReportSection:
    title = "What each topic of the rules removes"
    if topics is None:
        return ReportSection(title, "That is too hard to count here.")
    total, found = topics
    rows = [["candidates", f"{total:,}", "every combination of the values"]]
    rows += [[name, f"{n:,}", meaning] for name, n, meaning in found]
    text = "One topic after the other, of what the topics before have left."
    return ReportSection(
        title, text, table=ReportTable(["topic", "removes", ""], rows, frozenset({1}))
    )


def _rules(book: RuleBook, region: Region, seed: int) -> ReportSection:
    """How often rules are broken by candidates, and by what is next to legal configurations."""
    title = "Rules that take most"
    rules = book.rules
    if not rules:
        return ReportSection(title, "The part has no rules.", table=ReportTable([], []))
    verdicts = compile_function([r.condition for r in rules])
    broken, alone = [0] * len(rules), [0] * len(rules)
    candidates = region.candidates().sample(ASKED, seed)
    for candidate in candidates:
        for i, ok in enumerate(verdicts(candidate)):
            broken[i] += not ok
    changed = list(_changed(region, seed))
    for other in changed:
        wrong = [i for i, ok in enumerate(verdicts(other)) if not ok]
        if len(wrong) == 1:
            alone[wrong[0]] += 1
    order = sorted(range(len(rules)), key=lambda i: (-alone[i], -broken[i], rules[i].code))
    rows = [
        [rules[i].code, f"{broken[i] / max(len(candidates), 1):.1%}", f"{alone[i]:,}",
         rules[i].summary]
        for i in order if broken[i] or alone[i]
    ]  # fmt: skip
    text = (
        f"Of {len(candidates):,} candidates drawn uniformly (seed {seed}) the share that breaks "
        f"the rule; and of {len(changed):,} configurations that are a legal one with one field "
        "changed, how many this rule alone refuses."
    )
    head = ["rule", "candidates", "alone, of changed ones", ""]
    return ReportSection(title, text, table=ReportTable(head, rows, frozenset({1, 2})))


def _changed(region: Region, seed: int) -> Iterator[Mapping[str, Any]]:
    """Legal configurations with one field changed to each of its other values."""
    domains = region.candidates().domains
    for point in region.space.sample(100, seed):
        for name, values in domains.items():
            yield from ({**point, name: value} for value in values if value != point[name])


def _counts(region: Region) -> Iterator[ReportSection]:
    book, space = region.book, region.space
    for field in choice.to_count(book, space):
        yield ReportSection(f"By {field}", picture=counting.by_value(space, field))
    if (two := choice.pair(book, space)) is not None:
        picture = counting.pairs(space, two[1], two[0])
        yield ReportSection(f"By {two[0]} and {two[1]}", picture=picture)


def _drawn(book: RuleBook, points: Sequence[Mapping[str, Any]]) -> Iterator[ReportSection]:
    names = choice.of_role(book, Role.METHOD, Role.GEOMETRY) or choice.ordered(book)
    yield ReportSection("Configurations side by side", picture=sampled.parallel(points, names))
    few = points[:: max(1, len(points) // NAMED)][:NAMED]
    rows = [[name_of(p)] for p in few]
    text = f"{len(rows)} of them, by name."
    yield ReportSection("Configurations", text, table=ReportTable(["configuration"], rows))


def name_of(point: Mapping[str, Any]) -> str:
    """A configuration's name; its fields where its family has no names."""
    try:
        return format_name(dict(point))
    except CkrulesError:
        return " ".join(f"{k}={word(v)}" for k, v in point.items())


def _predicted(
    region: Region, books: Books, asked: PredictionOptions, examples: Sequence[Mapping[str, Any]]
) -> Iterator[ReportSection]:
    """LDS and registers, and times on a problem; or why nothing is known of them.

    Last come the block tiles of the fastest kernel; without one, of the first example.
    """
    titles = ("LDS and VGPRs against occupancy", "Predicted time by tile", "Roofline")
    given = _given(region, asked.problem)
    try:
        parts = list(comparable(region))
        if len(parts) != 1:
            several = [n for n in parts[0].fixed if len({p.fixed[n] for p in parts}) > 1]
            raise UsageError(f"only kernels alike in {', '.join(several)} are compared: hold these")
        problem = _usual(parts[0]) if given is None else given
        candidates = Candidates(parts[0], books, problem)
        tables = list(candidates.kernels(_FROM, asked.seed, asked.product))
    except CkrulesError as error:
        for title in titles:
            yield ReportSection(title, picture=Nothing(title, str(error)))
        yield from _tiles(examples)
        return
    dots = next(candidates.kernels(DOTS, asked.seed, asked.product), None)
    pictures: list[Picture] = [
        sampled.occupancy(dots[0]) if dots else Nothing(titles[0], f"no kernel accepts {problem}"),
        times.tiles(parts[0], books, problem, asked.ranker, product=asked.product,
                    seed=asked.seed),
        times.roofline(asked.ranker.rank(tables, problem, _RANKED), books, problem, asked.product),
    ]  # fmt: skip
    for title, picture in zip(titles, pictures, strict=True):
        yield ReportSection(title, picture=picture)
    ranking = asked.ranker.rank(tables, problem, NAMED)
    yield _fastest(ranking, problem)
    yield from _tiles([r.point for r in ranking.kernels[:1]] or examples)


def _given(region: Region, line: str) -> Any:
    """The problem that was asked for; None where none was."""
    if not line:
        return None
    variants = region.book.space_of((), region.fixed).domains["variant"]
    return problem_files.parse(line, problem_files.kinds([str(v) for v in variants]))[0]


def _usual(region: Region) -> Any:
    domains = region.book.space_of((), region.fixed).domains
    variant = str(domains["variant"][0])
    found = timing(variant).usual(domains)
    if not found:
        raise UsageError(f"no problems of {variant} kernels are usual: give --problem")
    return found[0]


def _tiles(points: Sequence[Mapping[str, Any]]) -> Iterator[ReportSection]:
    """How kernels divide their block tiles, where they have some."""
    for point in points:
        if tiles := family_of(str(point["variant"])).block_maps(point):
            text = f"Which wave computes which warp tile of a result: {name_of(point)}."
            yield ReportSection("Block tiles", text, tiles=tiles)


def _fastest(ranking: Ranking, problem: Any) -> ReportSection:
    rows = [
        [f"{r.microseconds:,.1f}", f"{r.low:,.1f} to {r.high:,.1f}", f"{r.figures['tflops']:,.1f}",
         r.limit, name_of(r.point)]
        for r in ranking.kernels
    ]  # fmt: skip
    head = ["microseconds", "between", "TFLOPS", "limited by", "kernel"]
    text = f"On {problem}, of {ranking.looked_at:,} looked at: {ranking.source}."
    return ReportSection(
        "Predicted fastest", text, table=ReportTable(head, rows, frozenset({0, 1, 2}))
    )

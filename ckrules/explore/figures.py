"""The pictures of the current set, and which of them there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ckrules.engine.expr.variables import Role
from ckrules.explore.choice import FieldChoice
from ckrules.explore.kernel_page import KernelPage
from ckrules.explore.subject import Subject
from ckrules.kernels import problem_files
from ckrules.pictures import counting, drawing, lds, sampled, times
from ckrules.pictures.shapes import Nothing, Picture
from ckrules.support.errors import CkrulesError, unknown

_DRAWN, _LINES = 300, 80
_RANKED = 200


@dataclass(frozen=True)
class Figure:
    """A picture: what it shows, and what makes it.

    ``fields`` is how many fields it is about, ``kernels`` whether points have to be kernels.
    """

    title: str
    fields: int
    make: Callable[[Subject, FieldChoice, Sequence[str], str], Picture]
    kernels: bool = False
    problem: bool = False
    """Whether it is about a problem."""
    drawn: bool = False
    """Whether it takes drawn points alone."""


def _counts(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    return counting.by_value(subject.space_of(choice), names[0])


def _pairs(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    return counting.pairs(subject.space_of(choice), names[0], names[1])


def _parallel(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    points = subject.sample(choice, _LINES, seed=1)
    return sampled.parallel(points, varying(subject, choice))


def _occupancy(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    from ckrules.ranking.kernels import KernelTable

    points = subject.sample(choice, _DRAWN, seed=1)
    if len({p["arch"] for p in points}) != 1:
        return Nothing("LDS and VGPRs", "kernels of one GPU are compared: choose one")
    return sampled.occupancy(KernelTable.of_points(points, subject.books))


def _tiles(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    from ckrules.ranking.ranker import Ranker

    region = subject.region_of(choice)
    return times.tiles(region, subject.books, problem_of(subject, choice, line), Ranker())


def _roofline(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    from ckrules.ranking.candidates import Candidates
    from ckrules.ranking.ranker import Ranker
    from ckrules.ranking.search import Search

    problem, ranker = problem_of(subject, choice, line), Ranker()
    candidates = Candidates(subject.region_of(choice), subject.books, problem).fitting()
    ranking = Search(candidates, ranker, seed=1, limit=_RANKED).run(4 * _RANKED).ranking
    return times.roofline(ranking, subject.books, problem)


def problem_of(subject: Subject, choice: FieldChoice, line: str) -> object:
    """The problem that a line says; for "" the first of those that are usual for such kernels.

    Raises:
        UsageError: For a line that is not a problem of these kernels, and where nothing is usual.
    """
    from ckrules.ranking.kernels import timing
    from ckrules.support.errors import UsageError

    domains = subject.space_of(choice).domains
    for name in ("variant", "arch"):
        if len(domains[name]) != 1:
            raise UsageError(f"kernels of one {name} are compared: choose one")
    if line:
        kinds = problem_files.kinds([str(domains["variant"][0])])
        return problem_files.parse(line, kinds)[0]
    usual = timing(str(domains["variant"][0])).usual(domains)
    if not usual:
        raise UsageError("no problems of such kernels are usual")
    return usual[0]


def _measured(subject: Subject, choice: FieldChoice, names: Sequence[str], line: str) -> Picture:
    from ckrules.device.store import Runs
    from ckrules.pictures import measured
    from ckrules.ranking.ranker import Ranker

    if subject.results is None:
        return Nothing(
            "predicted against measured times",
            "measured times are shown where the page was started with results of builds",
        )
    with Runs(subject.results, reading=True) as table:
        return measured.of_results(table.records(), subject.books, Ranker())


FIGURES: Mapping[str, Figure] = {
    "counts": Figure("Kernels by the values of a field", 1, _counts),
    "pairs": Figure("Kernels by the values of two fields", 2, _pairs),
    "parallel": Figure(f"{_LINES} drawn kernels over their fields", 0, _parallel, drawn=True),
    "occupancy": Figure(
        f"LDS and VGPRs of {_DRAWN} drawn kernels against occupancy",
        0,
        _occupancy,
        kernels=True,
        drawn=True,
    ),
    "tiles": Figure(
        "Predicted time of a problem by block tile", 0, _tiles, kernels=True, problem=True
    ),
    "roofline": Figure(
        "Predicted speed under the roofs of the GPU", 0, _roofline, kernels=True, problem=True
    ),
    "measured": Figure(
        "Predicted against measured times of the results", 0, _measured, kernels=True
    ),
}


def figures_of(subject: Subject) -> Mapping[str, Figure]:
    """The pictures that there are of a subject."""
    return {k: f for k, f in FIGURES.items() if subject.kernels or not f.kernels}


def of_kernel(kernel: KernelPage, kind: str) -> bytes:
    """A picture of one kernel as a file.

    Args:
        kind: A key of `ckrules.pictures.lds.KINDS`.

    Raises:
        UnknownNameError: For a picture that does not exist.
        NoMatplotlibError: Without matplotlib.
    """
    if kind not in lds.KINDS:
        raise unknown("picture of a kernel", kind[:40], lds.KINDS)
    return drawing.drawn(lds.picture(kernel.lds, kind), "svg")


def varying(subject: Subject, choice: FieldChoice) -> Sequence[str]:
    """The fields of which kernels under a choice have several values, ways of computing first."""
    order = (Role.METHOD, Role.GEOMETRY, Role.FEATURE, Role.PURPOSE)
    counted, chosen = subject.counted(choice).by, choice.chosen
    found = [
        n for n, counts in counted.items()
        if sum(1 for v, c in counts.items() if c != 0 and v in chosen.get(n, counts)) > 1
    ]  # fmt: skip
    return sorted(found, key=lambda n: order.index(subject.domains[n][0].role))


def svg(
    subject: Subject, choice: FieldChoice, kind: str, names: Sequence[str], problem: str = ""
) -> bytes:
    """A picture of the current set as a file.

    Args:
        subject: What is explored.
        choice: What has been chosen in it.
        kind: A key of `FIGURES`.
        names: The fields that it is about.
        problem: The problem of predictions; "": a usual one.

    Raises:
        UnknownNameError: For a picture or field that does not exist.
        NoMatplotlibError: Without matplotlib.
        ExpressionError: If the choice's condition is none.
    """
    if kind not in FIGURES:
        raise unknown("picture", kind[:40], FIGURES)
    figure = FIGURES[kind]
    known = varying(subject, choice)
    for name in names:
        if name not in subject.space.vocabulary:
            raise unknown("field", name[:80], subject.space.vocabulary)
    chosen = [*names, *(n for n in known if n not in names)][: figure.fields]
    drawing.require()
    try:
        if not (figure.drawn or subject.exact(choice)):
            picture: Picture = Nothing(figure.title, "the condition is too hard to count")
        elif not subject.counted(choice).total:
            picture = Nothing(figure.title, "no kernel is left")
        elif len(chosen) < figure.fields:
            picture = Nothing(figure.title, "too few fields have several values")
        else:
            picture = figure.make(subject, choice, chosen, problem)
    except CkrulesError as error:
        picture = Nothing(figure.title, str(error))
    return drawing.drawn(picture, "svg")

"""``ckrules certify --numerics``: what is drawn or read, run, and said about it."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.cli.output import text_output
from ckrules.cli.terminal import note, progress
from ckrules.support import folders
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text, visible_lines

if TYPE_CHECKING:
    from ckrules.certify.bench import Manner, Question
    from ckrules.certify.experiment import RuleScore
    from ckrules.certify.labels import Label, Told
    from ckrules.certify.numerics import Difference, NumericMatrix
    from ckrules.compiling.session import BuildOptions
    from ckrules.engine.covering import Coverage
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point


@dataclass(frozen=True)
class Wanted:
    """What is to be run.

    Args:
        books: The rules.
        arch: The GPU.
        points: Configurations of the user's; None: they are drawn.
        labels: Labels; their configurations are run on their problems.
        variants: Of drawn configurations.
        where: Conditions of drawn configurations.
        count: How many are drawn.
        minutes: After so many no kernel is begun any more; None: after any number.
    """

    books: Books
    arch: str
    variants: tuple[str, ...]
    points: Sequence[Point] | None = None
    labels: tuple[Label, ...] = ()
    where: tuple[str, ...] = ()
    count: int = 100
    minutes: float | None = None


@dataclass
class Draws:
    """What is known of drawn configurations; nothing of those that are given."""

    alone: dict[str, int] = field(default_factory=dict)
    """How many configurations of the space break only this rule, of those that were drawn from."""
    pairs: dict[str, Coverage] = field(default_factory=dict)
    """The pairs of features that occur in drawn legal ones, by variant."""


@dataclass
class Found:
    """What came of a run."""

    matrix: NumericMatrix
    codes: list[str]
    manner: Manner
    told: list[Told] = field(default_factory=list)
    without: list[Label] = field(default_factory=list)
    drawn: Draws = field(default_factory=Draws)
    left: int = 0
    """Kernels that were not begun in the time."""

    @property
    def agrees(self) -> bool:
        """Whether nothing differs and nothing is left open."""
        contradicted = any(not t.agrees for t in self.told)
        open_ = self.matrix.failures or self.left
        return not (self.matrix.differences or open_ or contradicted)


@dataclass(frozen=True)
class Places:
    """Where trials, kernels and counts are kept; None: in the cache, nowhere, nowhere."""

    store: str | None = None
    keep: str | None = None
    record: str | None = None


def answer(
    wanted: Wanted,
    manner: Manner,
    options: BuildOptions,
    places: Places,
    jobs: int,
    asked: str,
    form: str,
    output: str | None,
) -> int:
    """Runs what is wanted, says what came of it and records it; the exit code."""
    from ckrules.certify import recording
    from ckrules.compiling.toolchain import first_line, require

    tools = require(wanted.books.ck, options.compiler, options.include, wanted.arch)
    found = run(wanted, options, manner, places, jobs)
    with text_output(output) as stream:
        stream.write((as_json(found) if form == "json" else text(found, places.keep)) + "\n")
    for line in notes(found):
        note(line)
    if places.record is not None and found.left:
        note(f"{places.record}: left as it was, since not all kernels are judged")
    elif places.record is not None:
        about = (wanted.variants[0], wanted.arch, wanted.books.ck, first_line(tools.version))
        counted = recording.of_numerics(found.matrix, *about, f"{asked}; {manner}")
        recording.add(Path(places.record), counted)
    return 0 if found.agrees else 1


def run(wanted: Wanted, options: BuildOptions, manner: Manner, places: Places, jobs: int) -> Found:
    """Builds and runs what is wanted.

    Raises:
        UsageError: If there is nothing to run.
    """
    from ckrules.certify.bench import Bench
    from ckrules.certify.draws import KINDS
    from ckrules.certify.labels import compared
    from ckrules.certify.numerics import judged
    from ckrules.certify.trials import TrialStore

    questions, drawn = _questions(wanted, manner.seed)
    path = Path(places.store) if places.store else folders.cache() / "trials.sqlite"
    with (
        TrialStore(path) as kept,
        _folder(places.keep) as folder,
        progress("kernels", len(questions)) as bar,
    ):
        bench = Bench(wanted.books, folder, options, kept, manner, jobs)
        answers = bench.run(
            questions, lambda found: bar.advance(1, known=not found.fresh), wanted.minutes
        )
    told, without = compared(wanted.labels, questions, answers)
    rules = wanted.books.of(wanted.variants[0])
    done = [(q.point, a) for q, a in zip(questions, answers, strict=True) if not a.left]
    matrix = judged(rules, [point for point, _ in done], [a for _, a in done])
    codes = [r.code for r in rules.rules if r.kind in KINDS and r.severity == "error"]
    return Found(matrix, codes, manner, told, without, drawn, len(questions) - len(done))


def _questions(wanted: Wanted, seed: int) -> tuple[list[Question], Draws]:
    from ckrules.certify.bench import Question
    from ckrules.certify.labels import questions
    from ckrules.certify.numerics import applicable

    rules, drawn = wanted.books.of(wanted.variants[0]), Draws()
    if wanted.labels:
        found = questions(wanted.labels)
    elif wanted.points is not None:
        inside, outside = applicable(rules, wanted.points)
        if outside:
            note(f"{len(outside):,} left out: they break rules of kinds that running cannot judge")
        found = [Question(p) for p in inside]
    else:
        points, drawn = _drawn(wanted, seed)
        found = [Question(p) for p in points]
    unique = {tuple(sorted(q.point.items())): q for q in found}
    if not unique:
        raise UsageError("no configurations to run")
    return list(unique.values()), drawn


def _drawn(wanted: Wanted, seed: int) -> tuple[list[Point], Draws]:
    from ckrules.certify.draws import draw, shares
    from ckrules.kernels.config import Config

    def named(point: Point) -> bool:
        return Config(point).name is not None

    rules, found = wanted.books.of(wanted.variants[0]), Draws()
    by_name: dict[str | None, Point] = {}
    for fixed, share in shares(wanted.variants, wanted.arch, wanted.count):
        drawn = draw(rules, fixed, share, seed, wanted.where)
        for point in filter(named, drawn.points):
            by_name.setdefault(Config(point).name, point)
        for code, number in drawn.alone.items():
            found.alone[code] = found.alone.get(code, 0) + number
        found.pairs[fixed["variant"][0]] = drawn.coverage(named)
    return list(by_name.values()), found


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        yield Path(keep)
        return
    with tempfile.TemporaryDirectory(prefix="ckrules-numerics-") as name:
        yield Path(name) / "kernels"


# What is said


def text(found: Found, keep: str | None) -> str:
    """The matrix, the scores and every difference, for people."""
    m = found.matrix
    runs = ", ".join(f"{n:,} {status}" for status, n in m.statuses().items())
    out = [
        "                         right      wrong",
        *(
            f"predicted {word:<12}{m.count(predicted=p, right=True):>8}"
            f"{m.count(predicted=p, right=False):>11}"
            for word, p in (("right", True), ("wrong", False))
        ),
        f"recall    {_share(m.recall)} of what computes right is not rejected",
        f"precision {_share(m.precision)} of what is not rejected computes right",
        f"runs      {runs or 'none'}",
        f"manner    {found.manner}",
        *_pairs(found.drawn),
    ]
    out += _scores("rule", "kernels", m.by_rule(found.codes), found.drawn.alone)
    out += _scores("problem rule", "runs", m.by_problem_rule(), {})
    out += _labels(found)
    for each in m.differences:
        out += ["", *_difference(each, found.manner, keep)]
    return visible_lines("\n".join(out))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _pairs(drawn: Draws) -> list[str]:
    if not drawn.pairs:
        return []
    have, of = (sum(getattr(c, n) for c in drawn.pairs.values()) for n in ("covered", "feasible"))
    return [f"pairs of features: {have:,} of {of:,} occur in a drawn kernel"]


def _scores(
    head: str, unit: str, scores: Sequence[RuleScore], alone: Mapping[str, int]
) -> list[str]:
    if not scores:
        return []
    lines = ["", f"{head:<13}confirmed  alone  refuted  ({unit})"]
    for s in scores:
        never = "  none breaks it alone here" if alone.get(s.code) == 0 else ""
        lines.append(f"{s.code:<13}{s.confirmed:>9}{s.alone:>7}{s.refuted:>9}{never}")
    return lines


def _labels(found: Found) -> list[str]:
    if not found.told and not found.without:
        return []
    same = sum(t.agrees for t in found.told)
    more = [t for t in found.told if t.sees_more]
    lines = ["", f"labels    {same:,} of {len(found.told):,} agree"]
    if more:
        lines.append(f"          {len(more):,} of them with faults that numbers do not show")
    if found.without:
        lines.append(f"          {len(found.without):,} without a run")
    for t in found.told:
        if not t.agrees:
            lines += [
                f"label differs: {t.label.place} on {t.label.problem}",
                f"  label: {t.label.status}; here: {t.trial.told}",
            ]
    return lines


def _difference(each: Difference, manner: Manner, keep: str | None) -> list[str]:
    case, lines = each.case, [f"differs: {json.dumps(dict(each.case.point))}", f"  {each.text}"]
    lines += [f"  {v.code}: {v.message}" for v in case.broken]
    if each.trial is not None and each.trial.problem:
        lines.append(f"  problem: {each.trial.problem}")
        if keep is not None:
            lines.append(f"  again: {_again(each, manner, keep)}")
    return lines


def _again(each: Difference, manner: Manner, keep: str) -> str:
    assert each.trial is not None
    words = ["ckrules", "validate", each.case.name, "--dir", keep, "--device", "cpu"]
    words += ["--problem", each.trial.problem]
    for name, value in manner.options.items():
        words += ["--device-option", f"{name}={value}"]
    return shlex.join(words)


def as_json(found: Found) -> str:
    """The same for programs, with every run."""
    m = found.matrix
    head: dict[str, Any] = {
        "recall": m.recall,
        "precision": m.precision,
        "runs": m.statuses(),
        "left": found.left,
        "options": found.manner.options,
        "rules": {s.code: [s.confirmed, s.alone, s.refuted] for s in m.by_rule(found.codes)},
        "problem_rules": {s.code: [s.confirmed, s.alone, s.refuted] for s in m.by_problem_rule()},
        "differences": [
            {"name": d.case.name, "problem": d.trial and d.trial.problem, "text": d.text}
            for d in m.differences
        ],
    }
    if found.drawn.pairs:
        head["pairs"] = {v: pairs_json(c) for v, c in found.drawn.pairs.items()}
    if found.told or found.without:
        head["labels"] = [
            {
                "place": t.label.place,
                "status": t.label.status,
                "found": t.trial.status,
                "agrees": t.agrees,
            }
            for t in found.told
        ]
    cases = [
        {
            "config": dict(c.point),
            "name": c.name,
            "predicted": not c.broken,
            "right": c.right,
            "failure": c.failure or None,
            "violations": [v.to_dict() for v in c.broken],
            "runs": [
                {
                    "problem": t.problem,
                    "status": t.status,
                    "told": t.told,
                    "predicted": None if s is None else s.supported,
                    "codes": [] if s is None else [*s.codes, *s.wrong],
                }
                for t, s in c.trials
            ],
        }
        for c in m.cases
    ]
    return json_text({**head, "cases": cases}, indent=1)


def pairs_json(coverage: Coverage) -> dict[str, Any]:
    """Pairs of features for programs: how many there are and occur, and those that do not."""
    return {
        "feasible": coverage.feasible,
        "covered": coverage.covered,
        "uncovered": [dict(pair) for pair in coverage.uncovered],
    }


def notes(found: Found) -> Iterator[str]:
    """What gave no verdict, in a line each."""
    for case in found.matrix.failures:
        why = case.failure or f"no problem of {len(case.trials)} could judge it"
        yield f"no verdict: {case.name}: {why}"
    if found.left:
        judged = len(found.matrix.cases)
        every = f"{judged:,} of {judged + found.left:,}"
        yield f"{every} kernels judged in the time: the same command goes on"

"""What ``ckrules certify numerics`` says of kernels that were run: as lines, and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckrules.certify.bench import Manner
from ckrules.certify.experiment import RuleScore
from ckrules.certify.numeric_run import Draws, NumericFindings
from ckrules.certify.numerics import NumericCase, NumericsDifference
from ckrules.certify.reports import difference, percentage, scores_json


def numeric_lines(findings: NumericFindings, keep: str | None) -> Iterator[str]:
    """The matrix, the scores and every difference; how to repeat one where kernels are kept."""
    m = findings.matrix
    yield "                         right      wrong"
    for word, p in (("right", True), ("wrong", False)):
        right, wrong = (m.count(predicted=p, good=r) for r in (True, False))
        yield f"predicted {word:<12}{right:>8}{wrong:>11}"
    yield f"recall    {percentage(m.recall)} of what computes right is not rejected"
    yield f"precision {percentage(m.precision)} of what is not rejected computes right"
    yield "runs      " + (", ".join(f"{n:,} {s}" for s, n in m.statuses().items()) or "none")
    yield f"manner    {findings.manner}"
    yield from _pairs(findings.drawn)
    yield from _scores("rule", "kernels", m.by_rule(findings.codes), findings.drawn.alone)
    yield from _scores("problem rule", "runs", m.by_problem_rule(), {})
    yield from _labels(findings)
    for each in m.differences:
        yield from difference(each.case.point, each.text, broken=each.case.broken)
        if each.trial is not None and each.trial.problem:
            yield f"  problem: {each.trial.problem}"
            if keep is not None:
                yield f"  again: {_again(each, findings.manner, keep)}"


def _pairs(drawn: Draws) -> Iterator[str]:
    if drawn.pairs:
        have, of = (
            sum(getattr(c, n) for c in drawn.pairs.values()) for n in ("covered", "feasible")
        )
        yield f"pairs of features: {have:,} of {of:,} occur in a drawn kernel"


def _scores(
    head: str, unit: str, scores: Sequence[RuleScore], alone: Mapping[str, int]
) -> Iterator[str]:
    if scores:
        yield from ("", f"{head:<13}confirmed  alone  refuted  ({unit})")
    for s in scores:
        never = "  none breaks it alone here" if alone.get(s.code) == 0 else ""
        yield f"{s.code:<13}{s.confirmed:>9}{s.alone:>7}{s.refuted:>9}{never}"


def _labels(findings: NumericFindings) -> Iterator[str]:
    if not findings.told and not findings.without:
        return
    same = sum(t.agrees for t in findings.told)
    more = sum(t.sees_more for t in findings.told)
    yield from ("", f"labels    {same:,} of {len(findings.told):,} agree")
    if more:
        yield f"          {more:,} of them with faults that numbers do not show"
    if findings.without:
        yield f"          {len(findings.without):,} without a run"
    for t in findings.told:
        if not t.agrees:
            yield f"label differs: {t.label.place} on {t.label.problem}"
            yield f"  label: {t.label.status}; here: {t.trial.told}"


def _again(each: NumericsDifference, manner: Manner, keep: str) -> str:
    assert each.trial is not None
    words = ["ckrules", "validate", each.case.name, "--dir", keep, "--device", "cpu"]
    words += ["--problem", each.trial.problem]
    for name, value in manner.options.items():
        words += ["--device-option", f"{name}={value}"]
    return shlex.join(words)


def numeric_json(findings: NumericFindings) -> dict[str, Any]:
    """The same for programs, with every run."""
    m = findings.matrix
    out: dict[str, Any] = {
        "recall": m.recall,
        "precision": m.precision,
        "runs": m.statuses(),
        "left": findings.left,
        "options": findings.manner.options,
        "rules": scores_json(m.by_rule(findings.codes)),
        "problem_rules": scores_json(m.by_problem_rule()),
        "differences": [
            {"name": d.case.name, "problem": d.trial and d.trial.problem, "text": d.text}
            for d in m.differences
        ],
    }
    if findings.drawn.pairs:
        out["pairs"] = {
            variant: {
                "feasible": c.feasible,
                "covered": c.covered,
                "uncovered": [dict(pair) for pair in c.uncovered],
            }
            for variant, c in findings.drawn.pairs.items()
        }
    if findings.told or findings.without:
        out["labels"] = [
            {
                "place": t.label.place,
                "status": t.label.status,
                "found": t.trial.status,
                "agrees": t.agrees,
            }
            for t in findings.told
        ]
    return {**out, "cases": [_case_json(case) for case in m.cases]}


def _case_json(case: NumericCase) -> dict[str, Any]:
    return {
        "config": dict(case.point),
        "name": case.name,
        "predicted": not case.broken,
        "right": case.right,
        "failure": case.failure or None,
        "violations": [v.to_dict() for v in case.broken],
        "runs": [
            {
                "problem": t.problem,
                "status": t.status,
                "told": t.told,
                "predicted": None if s is None else s.supported,
                "codes": [] if s is None else [*s.codes, *s.wrong],
            }
            for t, s in case.trials
        ],
    }


def notes(findings: NumericFindings) -> Iterator[str]:
    """What gave no verdict, in a line each."""
    if findings.left_out:
        yield f"{findings.left_out:,} left out: they break rules of kinds that running cannot judge"
    for case in findings.matrix.failures:
        why = case.failure or f"no problem of {len(case.trials)} could judge it"
        yield f"no verdict: {case.name}: {why}"
    if findings.left:
        judged = len(findings.matrix.cases)
        every = f"{judged:,} of {judged + findings.left:,}"
        yield f"{every} kernels judged in the time: the same command goes on"

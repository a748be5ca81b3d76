"""What ``ckrules certify`` says of the front end and the back end: as lines, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ckrules.certify.backend import SIGNS, Compared, by_rule, estimates
from ckrules.certify.experiment import Case, Matrix, RuleScore
from ckrules.engine.rules import Violation
from ckrules.support.tables import count


def percentage(value: float | None) -> str:
    """A share of 1.

    >>> percentage(0.75), percentage(None)
    ('75.00 %', '-')
    """
    return "-" if value is None else f"{100 * value:.2f} %"


def scores_json(scores: Sequence[RuleScore]) -> dict[str, list[int]]:
    """How often each rule was confirmed, confirmed alone, and refuted."""
    return {s.code: [s.confirmed, s.alone, s.refuted] for s in scores}


def difference(point: Mapping[str, Any], *said: str, broken: Sequence[Violation] = ()) -> list[str]:
    """A configuration about which the rules and what was asked differ, with what each says."""
    lines = [*said, *(f"{v.code}: {v.message}" for v in broken)]
    return ["", "differs: " + json.dumps(dict(point)), *(f"  {line}" for line in lines)]


def front_end_lines(matrix: Matrix, codes: Sequence[str]) -> Iterator[str]:
    """Predictions against the compiler's verdicts, the scores of rules, and each difference."""
    yield "                       compiles   rejected"
    for word, p in (("to compile", True), ("to fail", False)):
        compiled, rejected = (matrix.count(predicted=p, good=c) for c in (True, False))
        yield f"predicted {word:<12}{compiled:>9}{rejected:>11}"
    yield f"recall    {percentage(matrix.recall)} of what compiles is not rejected"
    yield f"precision {percentage(matrix.precision)} of what is not rejected compiles"
    yield from ("", "rule     confirmed  alone  refuted")
    for s in matrix.by_rule(codes):
        yield f"{s.code:<9}{s.confirmed:>9}{s.alone:>7}{s.refuted:>9}"
    for case in matrix.disagreements:
        yield from difference(case.point, f"compiler: {_verdict(case)}", broken=case.broken)


def _verdict(case: Case) -> str:
    assert case.verdict is not None
    return case.verdict.error or "compiles"


def front_end_json(matrix: Matrix, codes: Sequence[str]) -> dict[str, Any]:
    """The same for programs, with every case."""
    cases = [
        {
            "config": dict(c.point),
            "predicted": not c.broken,
            "ok": None if c.verdict is None else c.verdict.ok,
            "error": c.failure or (c.verdict.error if c.verdict else None),
            "violations": [v.to_dict() for v in c.broken],
        }
        for c in matrix.cases
    ]
    rules = scores_json(matrix.by_rule(codes))
    return {"recall": matrix.recall, "precision": matrix.precision, "rules": rules, "cases": cases}


def back_end_lines(cases: Sequence[Compared]) -> Iterator[str]:
    """How far predictions are from code objects, the signs of each rule, and each difference."""
    errors = estimates(cases)
    both, predicted, missed, neither = errors.spills
    half, most = errors.within(0.5), errors.within(0.9)
    yield f"{count(len(cases), 'kernel')}, {errors.kernels} code objects"
    yield f"LDS       {errors.lds_exact} of {errors.kernels} as predicted, {errors.lds_more} more"
    if half is not None and most is not None:
        yield f"registers half within {100 * half:.0f} %, nine of ten within {100 * most:.0f} %"
    yield (
        f"spills    {both} predicted and found, {predicted} predicted only, "
        f"{missed} found only, {neither} neither"
    )
    yield from ("", f"rule     kernels  alone{''.join(f'{s:>9}' for s in SIGNS)}  no sign")
    for r in by_rule(cases):
        counts = "".join(f"{r.signs[s]:>9}" for s in SIGNS)
        yield f"{r.code:<9}{r.kernels:>7}{r.alone:>7}{counts}{r.kernels - r.confirmed:>9}"
    for case in cases:
        if case.differs:
            yield from _code_differs(case)


def _code_differs(case: Compared) -> list[str]:
    figures = case.figures
    assert figures is not None
    made = figures.error or (
        f"{figures.lds_bytes} bytes of LDS, {figures.max_threads} threads, "
        f"{figures.matrix} matrix instructions"
    )
    rules = f"rules: predicted {case.lds_bytes} bytes of LDS and {case.threads} threads"
    return difference(case.point, rules, f"compiler: {made}")


def back_end_json(cases: Sequence[Compared]) -> dict[str, Any]:
    """The same for programs, with every case."""
    rows = [
        {
            "config": dict(c.point),
            "broken": list(c.broken),
            "predicted": {"lds_bytes": c.lds_bytes, "vgprs": c.vgprs, "threads": c.threads},
            "found": None if c.figures is None else asdict(c.figures),
            "signs": sorted(c.signs),
            "error": c.failure or None,
        }
        for c in cases
    ]
    rules = {r.code: {"kernels": r.kernels, "alone": r.alone, **r.signs} for r in by_rule(cases)}
    return {"estimates": asdict(estimates(cases)), "rules": rules, "cases": rows}

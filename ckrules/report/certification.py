"""The report of a certification: what the compiler or kernels confirmed and refuted, by rule."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.kernels import evidence
from ckrules.pictures.shapes import Bars, Nothing, Picture
from ckrules.report.page import Report, ReportSection, ReportTable
from ckrules.support import opening
from ckrules.support.errors import UsageError

_LARGEST = 1 << 28
_MOST = 40
#: How a rule came off: confirmed, of these alone, refuted.
_Tallies = Mapping[str, Sequence[int]]


def of_file(path: str) -> Report:
    """The report of what ``ckrules certify`` wrote: with ``--format json``, or with ``--record``.

    Raises:
        UsageError: If the file cannot be read or is something else.
    """
    try:
        data = opening.read(path, _LARGEST)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if data.lstrip()[:1] == b"{":
        return _of_json(path, data)
    runs = evidence.read(Path(path))
    if not runs:
        raise UsageError(f"{path}: no run of ckrules certify is recorded")
    return _of_record(path, runs)


def _of_record(path: str, runs: Sequence[evidence.CertifyRun]) -> Report:
    rows = [
        [r.method, r.arch, r.ck, r.tool, r.drawn, f"{r.agreed:,}", f"{r.differed:,}"] for r in runs
    ]
    totals: dict[str, evidence.RejectionTally] = {}
    for run in runs:
        for code, (tally, _) in run.rules.items():
            totals[code] = totals.get(code, evidence.RejectionTally()) + tally
    found = {c: (t.confirmed, t.alone, t.refuted) for c, t in totals.items()}
    facts = [
        ("record", path), ("runs", f"{len(runs):,}"),
        ("came out as the rules say", f"{sum(r.agreed for r in runs):,}"),
        ("did not", f"{sum(r.differed for r in runs):,}"),
    ]  # fmt: skip
    head = ["against", "GPU", "CK", "tool", "asked for", "agree", "differ"]
    table = ReportTable(head, rows, frozenset({5, 6}))
    return Report(
        f"Certification: {path}", facts, [ReportSection("Runs", table=table), *_rules(found)]
    )


def _of_json(path: str, data: bytes) -> Report:
    try:
        found = json.loads(data)
        rules, cases = dict(found["rules"]), list(found["cases"])
        if "estimates" in found:
            sections = [_signs(rules)]
        else:
            tallies = {str(c): [int(n) for n in t] for c, t in rules.items()}
            tallies |= {str(c): t for c, t in found.get("problem_rules", {}).items()}
            sections = [*_rules(tallies), _differences(found, cases)]
        facts = [("file", path), ("configurations", f"{len(cases):,}")]
        for name in ("recall", "precision"):
            if found.get(name) is not None:
                facts.append((name, f"{float(found[name]):.2%}"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path}: not what ckrules certify --format json writes") from None
    return Report(f"Certification: {path}", facts, sections)


def _rules(tallies: _Tallies) -> list[ReportSection]:
    order = sorted(tallies, key=lambda c: (-tallies[c][2], -tallies[c][0], c))
    asked = [c for c in order if tallies[c][0] or tallies[c][2]]
    silent = [c for c in order if c not in asked]
    rows = [[c, *(f"{n:,}" for n in tallies[c])] for c in asked]
    text = "Confirmed: what a rule rejects does not compile or computes wrongly; alone: without "
    text += "another broken rule; refuted: it passed."
    return [
        ReportSection("Rules", text, _bars("confirmed", asked, [tallies[c][0] for c in asked]),
                ReportTable(["rule", "confirmed", "alone", "refuted"], rows, frozenset({1, 2, 3}))),
        ReportSection("Rules that nothing was drawn for", ", ".join(silent) or "None."),
    ]  # fmt: skip


def _signs(rules: Mapping[str, Mapping[str, int]]) -> ReportSection:
    """What code objects show of kernels that break each rule."""
    names = list(dict.fromkeys(n for signs in rules.values() for n in signs))
    rows = [[str(c), *(f"{int(signs.get(n, 0)):,}" for n in names)] for c, signs in rules.items()]
    text = "By rule the kernels that break it, and the signs that their code objects show."
    kernels = [int(signs.get("kernels", 0)) for signs in rules.values()]
    table = ReportTable(["rule", *names], rows, frozenset(range(1, len(names) + 1)))
    return ReportSection("Rules", text, _bars("kernels", [str(c) for c in rules], kernels), table)


def _bars(unit: str, codes: Sequence[str], counts: Sequence[int]) -> Picture:
    if not codes:
        return Nothing(unit, "no rule was broken")
    most = sorted(range(len(codes)), key=lambda i: -counts[i])[:_MOST]
    labels, values = tuple(codes[i] for i in most), tuple(counts[i] for i in most)
    return Bars(f"{unit} by rule", "rule", unit, labels, values)


def _differences(found: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> ReportSection:
    if "differences" in found:
        rows = [[str(d["name"]), str(d["problem"] or ""), str(d["text"])]
                for d in found["differences"]]  # fmt: skip
        return ReportSection("Differences", table=ReportTable(["kernel", "problem", "what"], rows))
    rows = [
        ["legal" if c["predicted"] else "illegal", "compiles" if c["ok"] else "does not",
         str(c["error"] or ""), json.dumps(c["config"])]
        for c in cases if c["ok"] is not None and bool(c["ok"]) != bool(c["predicted"])
    ]  # fmt: skip
    head = ["predicted", "compiler", "its message", "configuration"]
    return ReportSection("Differences", table=ReportTable(head, rows))

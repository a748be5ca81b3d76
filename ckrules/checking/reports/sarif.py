"""SARIF 2.1.0: rules with their help, results with regions, fixes, fingerprints, suppressions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from ckrules import __version__
from ckrules.checking.diagnostics import Diagnostic, kind_sentence, linked
from ckrules.checking.findings import FINDINGS
from ckrules.checking.fingerprint import fingerprint, report_path
from ckrules.checking.first_seen import Sightings
from ckrules.checking.reports import ReportOptions
from ckrules.checking.verdict import ItemVerdict
from ckrules.readers.entries import Place
from ckrules.support.visible import json_text

SHOWS_PROBLEMS = True
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes the results as they come, and behind them the rules that they name."""
    rules: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    seen = Sightings()
    head = {"$schema": SCHEMA, "version": "2.1.0"}
    write(json_text(head)[:-1] + ', "runs": [{"columnKind": "unicodeCodePoints", "results": [')
    between = "\n"
    for verdict in verdicts:
        broken = [v.rule for v in verdict.violations]
        texts = {r.code: (r.summary, r.description, r.doc) for r in broken}
        for d in (*verdict.diagnostics, *verdict.problems()):
            if d.code not in places:
                text = texts.get(d.code) or (FINDINGS[d.code].summary,) * 3
                places[d.code] = len(rules)
                rules.append(_rule(d, *text, options.docs_url))
            result = _result(d, places[d.code], seen)
            write(between + json_text(result))
            between = ",\n"
    driver = {
        "name": "ckrules",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }
    tool = json_text({"driver": driver}, indent=1)
    write(f'\n], "tool": {tool}}}]}}\n')


def _rule(d: Diagnostic, summary: str, description: str, doc: str, docs_url: str) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": d.code,
        "name": "".join(w.capitalize() for w in d.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": description},
        "help": {"text": doc, "markdown": f"{doc}\n\n[{d.code}]({linked(docs_url, d.url)})"},
        "defaultConfiguration": {"level": d.severity},
        "properties": {"kind": d.kind, "description": kind_sentence(d.kind)},
    }
    if docs_url:
        out["helpUri"] = linked(docs_url, d.url)
    return out


def _result(d: Diagnostic, index: int, seen: Sightings) -> dict[str, Any]:
    out: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": index,
        "level": d.severity,
        "message": {"text": d.message + (f"\nhelp: {d.help}" if d.help else "")},
        "locations": [_location(d.place, d.configuration)],
        "partialFingerprints": {"ckrules/v1": fingerprint(d, seen)},
    }
    if d.related:
        out["relatedLocations"] = [
            {"id": n, **_location(at), "message": {"text": text}}
            for n, (at, text) in enumerate(d.related, 1)
        ]
    edit = d.edit
    if edit is not None and edit.place.end_line:
        replacement = {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}}
        change = {"artifactLocation": _artifact(edit.place), "replacements": [replacement]}
        out["fixes"] = [
            {
                "description": {"text": d.help},
                "artifactChanges": [change],
                "properties": {"applicability": d.applicability},
            }
        ]
    if d.suppressor:
        kind = "external" if d.suppressor == "baseline" else "inSource"
        out["suppressions"] = [{"kind": kind, "justification": d.suppressed}]
    if d.fields:
        out["properties"] = {"fields": dict(d.fields), "arch": d.arch, "variant": d.variant}
    return out


def _location(place: Place, name: str | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place)}
    if place.line:
        physical["region"] = _region(place)
    out: dict[str, Any] = {"physicalLocation": physical}
    if name:
        out["logicalLocations"] = [{"name": name, "kind": "object"}]
    return out


def _artifact(place: Place) -> dict[str, str]:
    path = report_path(place.source)
    uri = quote(os.fsencode(path), safe="/-._~!$&'()*+,;=@")
    return {"uri": f"file:///{uri.lstrip('/')}" if os.path.isabs(path) else uri}


def _region(place: Place) -> dict[str, int]:
    region = {"startLine": place.line, "startColumn": max(place.column, 1)}
    if place.end_line:
        region |= {"endLine": place.end_line, "endColumn": place.end_column}
    return region

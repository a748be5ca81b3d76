"""SARIF 2.1.0: rules with their help, results with regions, fixes, fingerprints, suppressions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from ckrules import __version__
from ckrules.readers.entries import Place
from ckrules.readers.findings import FINDINGS
from ckrules.reports.checks import Options
from ckrules.reports.checks.gitlab import fingerprint
from ckrules.reports.diagnostics import Diagnostic, kind_sentence
from ckrules.reports.verdict import Verdict

TITLE = "SARIF 2.1.0"
SHOWS_PROBLEMS = True
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes the log; rules that no result names are left out."""
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for verdict in verdicts:
        texts = {v.code: (v.rule.summary, v.rule.doc) for v in verdict.violations}
        for d in (*verdict.diagnostics, *verdict.problems()):
            if d.code not in rules:
                summary, doc = texts.get(d.code) or (FINDINGS[d.code].summary,) * 2
                rules[d.code] = _rule(d, summary, doc, options.docs_url)
            results.append(_result(d, list(rules).index(d.code), seen))
    driver = {
        "name": "ckrules",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": list(rules.values()),
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    write(json.dumps(log, indent=1, ensure_ascii=False) + "\n")


def _rule(d: Diagnostic, summary: str, doc: str, docs_url: str) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": d.code,
        "name": "".join(w.capitalize() for w in d.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": doc.split("\n\nFix:")[0]},
        "help": {"text": doc, "markdown": f"{doc}\n\n[{d.code}]({docs_url}{d.url})"},
        "defaultConfiguration": {"level": d.severity},
        "properties": {"kind": d.kind, "description": kind_sentence(d.kind)},
    }
    if docs_url:
        out["helpUri"] = docs_url + d.url
    return out


def _result(d: Diagnostic, index: int, seen: dict[str, int]) -> dict[str, Any]:
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
        replacement = {
            "deletedRegion": _region(edit.place),
            "insertedContent": {"text": edit.text},
        }
        change = {"artifactLocation": _artifact(edit.place), "replacements": [replacement]}
        out["fixes"] = [{"description": {"text": d.help}, "artifactChanges": [change]}]
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
    path = place.source
    if os.path.isabs(path) and path.startswith(os.getcwd() + os.sep):
        path = os.path.relpath(path)
    return {"uri": quote(path.replace(os.sep, "/"), safe="/-._~!$&'()*+,;=@")}


def _region(place: Place) -> dict[str, int]:
    region = {"startLine": place.line, "startColumn": max(place.column, 1)}
    if place.end_line:
        region |= {"endLine": place.end_line, "endColumn": place.end_column}
    return region

"""What tells a finding from others in reports that are compared, whatever lines are added above."""

from __future__ import annotations

import hashlib
import os

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.first_seen import Sightings


def report_path(source: str) -> str:
    """A source as reports name it, however it was given: from here, if it lies below.

    >>> report_path("./configs//a.json"), report_path(os.path.abspath("a.json"))
    ('configs/a.json', 'a.json')
    """
    path = os.path.normpath(source)
    inside = os.path.isabs(path) and path.startswith(os.getcwd() + os.sep)
    return (os.path.relpath(path) if inside else path).replace(os.sep, "/")


def fingerprint(d: Diagnostic, seen: Sightings) -> str:
    """A digest of file, configuration, code and message, numbered among equal ones."""
    parts = (report_path(d.place.source), d.configuration or "", d.arch, d.code, d.message)
    text = "\0".join(parts)
    numbered = f"{text}\0{seen.count(hash(text))}"
    return hashlib.sha256(numbered.encode(errors="surrogatepass")).hexdigest()[:32]

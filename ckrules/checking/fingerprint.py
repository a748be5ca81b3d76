"""What tells a finding from others in reports that are compared, whatever lines are added above."""

from __future__ import annotations

import hashlib

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.first_seen import Sightings


def fingerprint(d: Diagnostic, seen: Sightings) -> str:
    """A digest of file, configuration, code and message, numbered among equal ones."""
    parts = (d.place.source, d.configuration or "", d.arch, d.code, d.message)
    text = "\0".join(parts)
    numbered = f"{text}\0{seen.count(hash(text))}"
    return hashlib.sha256(numbered.encode(errors="surrogatepass")).hexdigest()[:32]

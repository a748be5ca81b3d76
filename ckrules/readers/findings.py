"""Findings that are no rules: what is odd about a file, not about a kernel.

Each has a code, a severity and a sentence, as rules have; settings select and ignore them alike.
"""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of finding: its name, how grave it is, the fact, and whether it is on by itself."""

    code: str
    name: str
    severity: str
    summary: str
    default: bool = True


FINDINGS = {
    f.code: f
    for f in (
        Finding("CFG000", "unreadable", "error", "The text is a configuration that can be read."),
        Finding("CFG001", "duplicate-configuration", "warning",
                "A file says each configuration once."),
        Finding("CFG002", "label-of-several", "warning",
                "A file gives a name or number to one configuration only."),
        Finding("CFG003", "lossy-name-of-several", "warning",
                "No two configurations of a file share upstream's short Python name.", False),
        Finding("CFG004", "ignored-key", "warning",
                "Every key is one that the format's reader upstream uses."),
        Finding("CFG005", "sign-hides-line", "warning",
                "No instance of a .conf file is hidden by '#' or ';' somewhere in its line."),
        Finding("CFG006", "not-covered", "warning",
                "The rules cover the kernel that the text describes."),
        Finding("CFG007", "reading-of-tile", "note",
                ".tile(a, b, c) of the C++ macros has two readings; this is the one applied."),
        Finding("CFG008", "filled-in", "note",
                "The C++ macros leave fields out, which upstream's tools fill in.", False),
        Finding("SUP001", "unused-suppression", "warning",
                "Every suppression comment hides a finding and names a code that exists."),
        Finding("SUP002", "suppression-without-reason", "warning",
                "Every suppression comment gives its reason."),
        Finding("BASE001", "stale-baseline-entry", "warning",
                "Every entry of the baseline still matches a finding."),
    )
}  # fmt: skip

"""Findings beside the rules: what is odd about a file, not about a kernel.

Each has a code, a severity and a sentence, as rules have; settings select and ignore them alike.
"""

from __future__ import annotations

from ckrules.checking.finding_kind import FindingKind
from ckrules.checking.row_findings import ROWS
from ckrules.engine.rules import Severity

#: Those of rules, and one for what is only worth knowing.
SEVERITIES = (*(s.value for s in Severity), "note")


FINDINGS = {
    f.code: f
    for f in (
        FindingKind(
            "CFG000", "unreadable", "error",
            "The text is a configuration that can be read.",
            "What is wrong stands in the message; the exit code is 2.",
        ),
        FindingKind(
            "CFG001", "duplicate-configuration", "warning",
            "A file says each configuration once.",
            "Equal in every field, whatever is left out or spelt differently.",
        ),
        FindingKind(
            "CFG002", "label-of-several", "warning",
            "A file gives a name or number to one configuration only.",
            "The `id` of the dispatcher's JSON, the `name` of a registry.",
        ),
        FindingKind(
            "CFG003", "lossy-name-of-several", "warning",
            "No two configurations of a file share upstream's short Python name.",
            ("Upstream's Python objects leave layout, epilogue, waves, warp tile and vectors "
             "out of their names, so kernels overwrite each other. Off by itself: most files "
             "have such pairs."), default=False,
        ),
        FindingKind(
            "CFG004", "ignored-key", "warning",
            "Every key is one that the format's reader upstream uses.",
            "Upstream silently skips such keys; the message names the nearest key.",
        ),
        FindingKind(
            "CFG005", "sign-hides-line", "warning",
            "No instance of a .conf file is hidden by '#' or ';' somewhere in its line.",
            ("Upstream's generator skips every line with one of the two characters, not only "
             "what follows."),
        ),
        FindingKind(
            "CFG006", "not-covered", "warning",
            "The rules cover the kernel that the text describes.",
            "Another operator, layout, type or family: nothing is said about its legality.",
        ),
        FindingKind(
            "CFG007", "reading-of-tile", "note",
            ".tile(a, b, c) of the C++ macros has two readings; this is the one applied.",
            "See `.tile(a, b, c)` above; `--tile-reading` changes it.",
        ),
        FindingKind(
            "CFG008", "filled-in", "note",
            "The C++ macros leave fields out, which upstream's tools fill in.",
            "Off by itself; shows each value that was filled in.", default=False,
        ),
        FindingKind(
            "CFG009", "nothing-listed", "warning",
            "A file of ranges holds a kernel that its tool lists.",
            "The tool skips every combination; its own checks are a profile (`--profile`).",
        ),
        FindingKind(
            "CFG010", "name-says-less", "warning",
            "A kernel's name says every field.",
            ("Some tools leave fields out of their names, so that kernels share one; the "
             "message says what was taken for each."),
        ),
        FindingKind(
            "CFG011", "problem-of-other-kernels", "warning",
            "The kernel computes problems of the kind that `--problem` asks about.",
            ("A GEMM takes no convolution, and the other way round; no rule of problems looks "
             "at such a kernel."),
        ),
        FindingKind(
            "SUP001", "unused-suppression", "warning",
            "Every suppression comment hides a finding and names a code that exists.",
            "Remove the comment, or correct its code.",
        ),
        FindingKind(
            "SUP002", "suppression-without-reason", "warning",
            "Every suppression comment gives its reason.",
            "Write behind the bracket why the finding is right to stay.",
        ),
        FindingKind(
            "BASE001", "stale-baseline-entry", "warning",
            "Every entry of the baseline still matches a finding.",
            "`--prune-baseline` removes the entry.",
        ),
        *ROWS,
    )
}  # fmt: skip

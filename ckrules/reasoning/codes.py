"""The codes of lint, for those who need no solver."""

from __future__ import annotations

from collections.abc import Mapping

#: How severe each code is, what it means, and what it says of a book.
CODES: Mapping[str, tuple[str, str, str]] = {
    "LINT001": (
        "error", "rules contradict each other",
        "Together they leave nothing of some values, or of some variant, GPU and dtype.",
    ),
    "LINT002": ("warning", "one rule leaves nothing", "It rejects all that has some values."),
    "LINT003": ("warning", "rule never fires", "It rejects no candidate."),
    "LINT004": ("note", "rule implied by others", "What it rejects, the others reject as well."),
    "LINT005": ("warning", "guard cannot hold", "The rule applies to no candidate."),
    "LINT006": (
        "note", "divisor can be zero",
        "The condition around it is false there, which may not be what is meant.",
    ),
    "LINT007": ("warning", "field that no rule reads", "Its values change no verdict."),
}  # fmt: skip


def page(code: str) -> str:
    """What `ckrules explain` prints about a code.

    >>> print(page("LINT003"))
    # LINT003: rule never fires
    <BLANKLINE>
    It rejects no candidate.
    <BLANKLINE>
    - severity: warning
    - found by: ckrules lint
    <BLANKLINE>
    """
    severity, title, detail = CODES[code]
    return f"# {code}: {title}\n\n{detail}\n\n- severity: {severity}\n- found by: ckrules lint\n"

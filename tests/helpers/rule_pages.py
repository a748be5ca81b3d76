"""The pages of the rules, made once in a process."""

from __future__ import annotations

from functools import cache

from ckrules.output import rule_docs


@cache
def made() -> dict[str, str]:
    """Every page by its name; they take a dozen seconds."""
    return rule_docs.pages()

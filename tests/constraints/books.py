"""Every rule book: each operator, CK version and profile that exists."""

from __future__ import annotations

from ckrules.constraints import CK_VERSIONS, PROFILES, VARIANTS, book, operator_of
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import UsageError


def books() -> dict[str, RuleBook]:
    """The books by operator, version and profile, such as ``conv-2025.11-legal``."""
    found = {}
    for variant in VARIANTS:
        for ck in CK_VERSIONS:
            for profile in PROFILES:
                key = f"{operator_of(variant)}-{ck}-{profile}"
                if key not in found:
                    try:
                        found[key] = book(variant, ck=ck, profile=profile)
                    except UsageError:  # the operator is younger than these headers
                        continue
    return found


BOOKS = books()

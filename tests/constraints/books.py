"""Every rule book: each operator, CK version and profile that exists."""

from __future__ import annotations

from ckrules.constraints import CK_VERSIONS, book
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import family_of, variants
from ckrules.kernels.library import profiles
from ckrules.support.errors import UsageError


def books() -> dict[str, RuleBook]:
    """The books by operator, version and profile, such as ``conv-2025.11-legal``."""
    found = {}
    for variant in variants():
        for ck in CK_VERSIONS:
            for profile in profiles():
                key = f"{family_of(variant).name}-{ck}-{profile}"
                if key not in found:
                    try:
                        found[key] = book(variant, ck=ck, profile=profile)
                    except UsageError:  # the operator is younger than these headers
                        continue
    return found


BOOKS = books()

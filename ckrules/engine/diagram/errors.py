"""Errors of compiling a space."""

from __future__ import annotations

from ckrules.engine.errors import CkrulesError


class TooHardError(CkrulesError, RuntimeError):
    """A compiled form would be larger than the memory budget allows."""

"""Errors of compiling a space."""

from __future__ import annotations

from ckrules.support.errors import CkrulesError, UndecidedError


class BudgetExceededError(CkrulesError, RuntimeError):
    """A compiled form would be larger than the memory budget allows."""


class TooHardError(BudgetExceededError, UndecidedError):
    """The parts of a space took more work than a question may; none of them is tried again."""

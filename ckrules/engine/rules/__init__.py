"""Rules, rule books, messages and verdicts on many points."""

from ckrules.engine.rules.rule import (
    KINDS,
    Example,
    Examples,
    Kind,
    Rule,
    RuleDef,
    Severity,
    rule,
    version_key,
)
from ckrules.engine.rules.violation import Violation, violation

__all__ = [
    "KINDS", "Example", "Examples", "Kind", "Rule", "RuleDef", "Severity", "Violation", "rule",
    "version_key", "violation",
]  # fmt: skip

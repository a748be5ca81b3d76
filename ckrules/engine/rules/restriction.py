"""Restrictions: conditions of a tuner or a file, as rules that answers can name."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.printer import to_text
from ckrules.engine.rules.rule import Kind, Rule


def restriction(number: int, condition: BoolExpr, text: str = "", place: str = "") -> Rule:
    """A restriction as a rule: its number is the code, its text the name.

    Args:
        number: Its place among the restrictions, from 1.
        condition: What it demands.
        text: What the user wrote; by default the condition's text.
        place: Where that stands, as ``file:line:column``.

    >>> from ckrules.engine.expr.variables import Int
    >>> restriction(2, Int("tile_m", [16, 32]) <= 16).name
    'tile_m <= 16'
    """
    words = " ".join((text or to_text(condition)).split())
    sources = (place,) if place else ()
    return Rule(f"R{number}", words, Kind.PROFILE, condition, sources=sources, doc=words)

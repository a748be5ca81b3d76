"""Colours and weights of a terminal's text."""

from __future__ import annotations

BOLD, DIM, BLUE, GREEN = "\x1b[1m", "\x1b[2m", "\x1b[34m", "\x1b[32m"
TINTS = {"error": "\x1b[31m", "warning": "\x1b[33m", "note": "\x1b[36m"}
"""The colour of each severity."""
_RESET = "\x1b[0m"


def painted(text: str, style: str, color: bool = True) -> str:
    r"""The text in a style, unless it is empty or colours are not wanted.

    >>> painted("a", BOLD), painted("a", BOLD, color=False)
    ('\x1b[1ma\x1b[0m', 'a')
    """
    return f"{style}{text}{_RESET}" if color and text else text

"""Examples of docstrings as blocks of code: griffe takes ``>>>`` in running text for quotations."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fences the examples of every docstring that the site shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with each example, up to the next empty line, in a fence.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2").split("\\n")
    ['Adds.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    out: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not inside and line.lstrip().startswith(">>> "):
            inside = True
            out.append("```pycon")
        if inside and not line.strip():
            inside = False
            out.append("```")
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)

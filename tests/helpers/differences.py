"""Texts as their differences from near ones: what golden files hold in place of copies."""

from __future__ import annotations

import difflib
from collections.abc import Mapping


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Unified differences by name, without context; a text that only one side has is whole.

    With the old texts it says all of the new ones, so that equal differences are equal texts.

    >>> print(differences({"a": "1\\n2\\n", "b": "x\\n"}, {"a": "1\\n3\\n", "b": "x\\n"}), end="")
    --- a
    +++ a
    @@ -2 +2 @@
    -2
    +3
    """
    out: list[str] = []
    for name in {**old, **new}:
        sides = [texts.get(name, "").splitlines(keepends=True) for texts in (old, new)]
        labels = (name if name in texts else "/dev/null" for texts in (old, new))
        out += difflib.unified_diff(*sides, *labels, n=0)
    return "".join(s if s.endswith("\n") else f"{s}\n\\ No newline at end of file\n" for s in out)

"""The project's folders in the user's cache and among the user's data."""

from __future__ import annotations

import os
from pathlib import Path

_VARIABLE = "CKRULES_CACHE_DIR"
_DATA = "CKRULES_DATA_DIR"


def cache() -> Path:
    """The folder of what can be made again: compiled spaces, verdicts, fetched trees.

    That is ``ckrules`` in ``$CKRULES_CACHE_DIR``, else in ``$XDG_CACHE_HOME``, else in
    ``~/.cache``. ``scripts/toolchain.sh`` follows the same rule.
    """
    base = os.environ.get(_VARIABLE) or os.environ.get("XDG_CACHE_HOME")
    return Path(base or os.path.expanduser("~/.cache")) / "ckrules"


def data() -> Path:
    """The folder of what cannot be made again at once: the evidence of the user's trees.

    That is ``ckrules`` in ``$CKRULES_DATA_DIR``, else in ``$XDG_DATA_HOME``, else in
    ``~/.local/share``.
    """
    base = os.environ.get(_DATA) or os.environ.get("XDG_DATA_HOME")
    return Path(base or os.path.expanduser("~/.local/share")) / "ckrules"


def keeps_spaces() -> bool:
    """Whether compiled spaces are kept: not if ``CKRULES_CACHE_DIR`` is set to nothing."""
    return os.environ.get(_VARIABLE) != ""

"""Patterns of files as ``.gitignore`` has them, below the folder of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def below(path: str, root: Path) -> str:
    """A path as patterns see it: from the root of the settings, or its name alone outside."""
    found = os.path.relpath(os.path.abspath(path), os.path.abspath(root)).replace(os.sep, "/")
    return found.rsplit("/", 1)[-1] if found.startswith("../") else found


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path below the root is meant: itself, or a folder that it is in.

    The last pattern that matches decides: one with ``!`` takes files out again. The path of a
    folder ends in ``/``.

    Raises:
        UsageError: For a pattern that means nothing.

    >>> wanted = ["configs/**/*.json", "*.conf", "old/*", "!old/kept.json"]
    >>> [matches(p, wanted) for p in ("configs/fwd/a.json", "x/a.conf", "a.json")]
    [True, True, False]
    >>> matches("old/a.json", wanted), matches("old/kept.json", wanted)
    (True, False)
    """
    return _compiled(tuple(patterns)).match_file(path)


@lru_cache
def _compiled(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # slow to import, and most runs have no patterns

    try:
        return GitIgnoreSpec.from_lines(p.removeprefix("./") for p in patterns)
    except ValueError as error:
        raise UsageError(f"a pattern of files: {str(error).lower()}") from None

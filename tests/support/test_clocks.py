"""Durations and limits are of clocks that do not jump."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Moments that are stored, and ages of folders that killed processes left.
MOMENTS = {
    "ckrules/compiling/session.py", "ckrules/device/store.py", "ckrules/runtime/measured.py",
    "ckrules/runtime/cache.py", "ckrules/support/scratch.py",
}  # fmt: skip


def _asked(path: Path) -> Iterator[str]:
    """Names of clocks in a file that somebody may set."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in (("time", "time"), ("time", "time_ns")):
                yield node.attr
            if node.value.id == "datetime" and node.attr in ("now", "utcnow", "today"):
                yield node.attr
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (n.name for n in node.names if n.name in ("time", "time_ns"))


def test_the_time_of_day_is_asked_for_moments_alone() -> None:
    found = set()
    for folder in ("ckrules", "arch", "constraints", "codegen"):
        for path in (ROOT / folder).rglob("*.py"):
            if any(_asked(path)):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == MOMENTS

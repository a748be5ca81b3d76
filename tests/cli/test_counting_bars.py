"""Bars behind counts, which terminals get and streams do not."""

from __future__ import annotations

import pytest

from ckrules.cli import counts
from tests.cli.run import SMALL, run


def test_bars_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["count", *SMALL, "--by", "tile_h"]
    plain = run(*words).stdout
    assert "#" not in plain
    monkeypatch.setattr(counts, "is_terminal", lambda _: True)
    drawn = run(*words).stdout
    rows = [(line.split(), shown.split()) for line, shown in
            zip(plain.splitlines()[1:-1], drawn.splitlines()[1:-1], strict=True)]  # fmt: skip
    assert rows
    most = max(int(words[1]) for words, _ in rows)
    for bare, shown in rows:
        assert shown[:2] == bare
        assert len(shown[2]) == -(-int(bare[1]) * counts._BAR // most)
    assert drawn.splitlines()[-1].rstrip() == plain.splitlines()[-1]
    assert "#" not in run(*words, "--format", "csv").stdout


def test_what_leaves_nothing_is_named() -> None:
    """mx_gemm is of CK 2026.09."""
    for command in ("count", "enumerate"):
        found = run(command, "--variant", "mx_gemm", "--ck", "2025.11", "--arch", "gfx950")
        assert "nothing is left: `ckrules why`" in found.stderr
        assert found.exit_code == 0

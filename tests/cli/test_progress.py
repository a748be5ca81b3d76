"""The counter of long runs."""

from __future__ import annotations

import pytest

from ckrules.cli import terminal


def test_what_was_known_before_says_nothing_of_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda _: True)
    now = [0.0]
    with terminal.progress("kernels", 100) as bar:
        bar._bar.get_time = lambda: now[0]
        (task,) = bar._bar.tasks
        task._get_time = lambda: now[0]
        for _ in range(40):
            bar.advance(1, known=True)
        assert (task.completed, task.time_remaining) == (40, None)
        for _ in range(10):  # one each two minutes
            now[0] += 120
            bar.advance(1)
        assert task.completed == 50
        assert task.time_remaining == pytest.approx(50 * 120, rel=0.2)

"""The counter of long runs."""

from __future__ import annotations

import time

import pytest

from ckrules.cli import terminal
from tests.helpers.terminal import in_this_process


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


def test_the_time_left_follows_what_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten of a minute each, then one of ten minutes."""
    monkeypatch.setattr(terminal, "is_terminal", lambda _: True)
    now = [0.0]
    with terminal.progress("artifacts", 11, work=1200) as bar:
        bar._bar.get_time = lambda: now[0]
        (task,) = bar._bar.tasks
        task._get_time = lambda: now[0]
        for _ in range(10):
            now[0] += 60
            bar.advance(1, work=60)
        assert (task.completed, task.total, task.fields["count"]) == (600, 1200, "10/11")
        assert task.time_remaining == pytest.approx(600, rel=0.2)


@pytest.mark.parametrize(("seconds", "seen"), [(0.0, False), (1.0, True)])
def test_what_is_soon_done_shows_nothing(
    seconds: float, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.1)

    def work() -> None:
        with terminal.waiting("counting the kernels") as bar:
            bar.advance(3)
            time.sleep(seconds)

    assert ("counting the kernels" in in_this_process(monkeypatch, work)) is seen


def test_a_list_on_the_terminal_has_no_bar_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        with terminal.progress("points", 3, beside=True) as bar:
            bar.advance(3)

    assert in_this_process(monkeypatch, work) == ""

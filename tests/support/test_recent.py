"""A map of bounded size that threads share."""

from __future__ import annotations

from ckrules.support.recent import Recent


def test_entries_can_be_gone_through_while_others_ask() -> None:
    """As `Dispatcher.run` does with recorded times, while other threads choose kernels."""
    recent: Recent[int, str] = Recent(9)
    for n in range(4):
        recent[n] = str(n)
    for key, value in recent.items():
        assert recent.get(key) == value
        if key % 2:
            del recent[key]
    assert sorted(recent) == [0, 2]

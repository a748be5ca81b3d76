"""What processes do, as the system says it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from ckrules.support import usage
from tests.helpers.waiting import until

pytestmark = pytest.mark.skipif(not usage.KNOWN, reason="needs Linux's /proc")

LOOP = "while True: pass"
WAIT = "input()"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@contextmanager
def running(*words: str) -> Iterator[int]:
    """A process with its children in a session of its own; its number."""
    command = [sys.executable, "-c", *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


def test_a_child_belongs_to_family_and_session() -> None:
    with running(PARENT, LOOP) as pid:
        until(lambda: len(usage.session(pid)) == 2)
        family = usage.family(pid)
        assert family[0].pid == pid
        assert {p.pid for p in family} == {p.pid for p in usage.session(pid)}
        assert pid in {p.pid for p in usage.family(os.getpid())}
        until(lambda: sum(p.seconds for p in usage.family(pid)) > 0.2)
        until(lambda: usage.works(family[1].pid))
    assert usage.family(pid) == []
    assert not usage.works(pid)


def _waits(pid: int) -> bool:
    return not usage.works(pid)


def test_work_is_told_from_waiting() -> None:
    for program, busy in ((LOOP, True), (WAIT, False)):
        with running(program) as pid:
            work = usage.GroupUsage(1.0, 0.1)
            if not busy:  # it starts first
                until(partial(_waits, pid))
            work.look(usage.family(pid))
            for _ in range(5):
                time.sleep(0.1)
                work.look(usage.family(pid))
            assert (work.idle == 0) == busy


def test_what_was_not_looked_at_does_not_count() -> None:
    """Who looks may have been stopped, or have had no processor."""
    work = usage.GroupUsage(10.0, 0.1)
    time.sleep(1)
    work.look([])
    assert work.idle == pytest.approx(0.2)


def test_a_tick_more_or_less_is_no_work() -> None:
    """Whoever looks works too; what that costs is known more finely than ticks."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    work = usage.GroupUsage(0.5, 0.1)
    for ticks in (0, 1, 2, 0, 1):
        time.sleep(0.01)
        work.look([usage.RunningProcess(0, 0, 0, 5 + ticks * tick)])
    assert work.idle >= 0.04
    work.look([usage.RunningProcess(0, 0, 0, 5 + 4 * tick)])
    assert work.idle == 0

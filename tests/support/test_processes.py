"""Functions in processes of their own."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ckrules.support.processes import PipedProcess

THREADS = "OPENBLAS_NUM_THREADS"


def threads(pipe: Any) -> None:
    pipe.send(os.environ.get(THREADS))


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("3", "3")])
def test_sums_have_one_thread_unless_somebody_asks_for_more(
    given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    if given:
        monkeypatch.setenv(THREADS, given)
    process = PipedProcess(threads)
    assert process.pipe.recv() == expected
    process.join(10)

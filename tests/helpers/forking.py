"""What a forked child says of itself, within some seconds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any


def in_child(ask: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: None) -> Any:
    """What a call gives in a forked child, which is ended if it takes half a minute.

    Args:
        ask: The call.
        meanwhile: Called here while the child is there, before it asks.
    """
    ours, theirs = multiprocessing.Pipe()

    def answer() -> None:
        theirs.recv()
        theirs.send(ask())

    child = multiprocessing.get_context("fork").Process(target=answer)
    child.start()
    try:
        meanwhile()
        ours.send("go")
        assert ours.poll(30), "the forked child hangs"
        return ours.recv()
    finally:
        child.kill()
        child.join(60)

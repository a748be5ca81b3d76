"""Errors of ckrules leave the process in which they were raised."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import ckrules
from ckrules.engine.expr.variables import Int
from ckrules.pictures.drawing import NoMatplotlibError
from ckrules.readers.json_text import DocumentError
from ckrules.readers.source import SourceError
from ckrules.support.document import TomlFileError
from ckrules.support.errors import CkrulesError

M = Int("m", [16, 32])


def _raise(error: CkrulesError) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


@pytest.mark.parametrize(
    "work",
    [
        lambda: ckrules.parse("m >", {"m": M}),
        lambda: ckrules.Space([M]).where("m"),
        lambda: ckrules.Space([M]).where("n < 3"),
        lambda: ckrules.check("x", arch="gfx942"),
        lambda: ckrules.check({"variant": "forwrd"}),
        lambda: ckrules.kernel_space("forwrd"),
        _raise(TomlFileError("a.toml", 1, 2, "is wrong")),
        _raise(SourceError("is wrong", 1, 2)),
        _raise(DocumentError(("a", 1), "is wrong")),
        _raise(NoMatplotlibError()),
    ],
)
def test_errors_pickle(work: Callable[[], Any]) -> None:
    """A pool of processes broke where one was raised."""
    with pytest.raises(CkrulesError) as caught:
        work()
    error = caught.value
    found = pickle.loads(pickle.dumps(error))
    assert (type(found), str(found)) == (type(error), str(error)) != (CkrulesError, "")
    assert vars(found).keys() == vars(error).keys()

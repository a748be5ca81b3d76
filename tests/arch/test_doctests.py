"""The examples in the docstrings of ckrules.arch run as written."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ("", ".checks", ".document", ".loader", ".locate", ".model", ".registry")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"ckrules.arch{name}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0

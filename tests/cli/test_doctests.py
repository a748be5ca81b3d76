"""The examples in the docstrings of commands, readers and reports run as written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import ckrules.cli
import ckrules.readers
import ckrules.reports

PACKAGES = (ckrules.cli, ckrules.readers, ckrules.reports)
MODULES = ["ckrules", "ckrules.config", "ckrules.judge", "ckrules.selection"] + [
    m.name for p in PACKAGES for m in pkgutil.walk_packages(p.__path__, p.__name__ + ".")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0

"""The examples in the docstrings of ckrules.codegen and ckrules.build run as written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from ckrules import build, codegen

MODULES = [
    f"{package.__name__}.{info.name}"
    for package in (codegen, build)
    for info in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0

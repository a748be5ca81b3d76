"""The examples in the docstrings of ckrules.constraints.catalogs run as written."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ("", ".catalog", ".membership", ".reader", ".selections", ".stages")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"ckrules.constraints.catalogs{name}")
    assert doctest.testmod(module).failed == 0


def test_examples_of_upstreams_tables() -> None:
    from ckrules.constraints.conv import upstream

    assert doctest.testmod(upstream).failed == 0

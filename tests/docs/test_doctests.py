"""The examples in the docstrings of every module run as written."""

from __future__ import annotations

import doctest
import importlib
import linecache
import pkgutil

import pytest

import ckrules

FLAGS = doctest.ELLIPSIS


def _modules() -> list[str]:
    found = [m.name for m in pkgutil.walk_packages(ckrules.__path__, "ckrules.", onerror=_fail)]
    return ["ckrules", *sorted(n for n in found if not n.endswith(".__main__"))]


def _fail(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


MODULES = _modules()


def test_no_module_is_forgotten() -> None:
    assert {"ckrules.engine.expr", "ckrules.arch.model", "ckrules.constraints.conv.quantities"} <= {
        *MODULES
    }
    assert len(MODULES) > 50


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    linecache.clearcache()  # doctest asks of each file in it whether it has changed
    found = doctest.testmod(module, optionflags=FLAGS)
    assert found.failed == 0

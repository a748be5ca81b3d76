"""Plug-ins by file name: a new module in a package is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any


def submodules(path: Iterable[str]) -> list[str]:
    """The names of the modules in a package, sorted, none of them imported.

    Args:
        path: The package's ``__path__``.

    >>> from ckrules import support
    >>> "submodules" in submodules(support.__path__)
    True
    """
    return sorted(module.name for module in pkgutil.iter_modules(path))


def submodule(package: str, name: str) -> Any:
    """The module of a package, imported now and not before.

    >>> submodule("ckrules.support", "submodules").__name__
    'ckrules.support.submodules'
    """
    return importlib.import_module(f"{package}.{name}")

"""Plug-ins by file name: a new module in a package is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from importlib.util import find_spec
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


def package_with(name: str, kind: type) -> str | None:
    """The package with a module of that name: that of a class, or of one that it derives from.

    The module is not imported; none has it: None.

    >>> from ckrules.support.errors import UsageError
    >>> package_with("submodules", UsageError), package_with("no_such", UsageError)
    ('ckrules.support', None)
    """
    packages = (cls.__module__.rpartition(".")[0] for cls in kind.__mro__)
    return next((p for p in packages if p and find_spec(f"{p}.{name}")), None)

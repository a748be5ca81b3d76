"""The scripts and benchmarks of the repository as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load(name: str, folder: str = "scripts") -> ModuleType:
    """The script of that name; it is run once."""
    if name not in sys.modules:
        place = ROOT / folder
        if str(place) not in sys.path:  # as for a script that is run
            sys.path.append(str(place))
        spec = importlib.util.spec_from_file_location(name, place / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]

"""Problems of well-known networks, each with where its definition is.

A family keeps them in ``networks.toml`` of its folder: what its kernels are chosen and compared by
where nobody names a problem.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Network:
    """The problems of one network, each once."""

    name: str
    source: str
    """Where its definition is."""
    problems: tuple[str, ...]


@cache
def network_data(package: str) -> Mapping[str, Any]:
    """What ``networks.toml`` of a family's package says."""
    return tomllib.loads(files(package).joinpath("networks.toml").read_text(encoding="utf-8"))


def networks_of(package: str) -> list[Network]:
    """Every network that a family's package names.

    >>> networks_of("ckrules.constraints.conv")[0].name
    'ResNet-50 v1.5'
    """
    rows = network_data(package)["network"]
    return [Network(n["name"], n["source"], tuple(n["problems"])) for n in rows]

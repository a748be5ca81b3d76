"""Convolutions of well-known networks: what kernels are chosen by where nobody names a problem."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ckrules.constraints.conv.problem import Convolution, parse


@dataclass(frozen=True)
class Network:
    """The convolutions of one network, each shape once."""

    name: str
    source: str
    """Where its definition is."""
    problems: tuple[str, ...]


@cache
def _data() -> dict[str, Any]:
    text = files(__package__).joinpath("networks.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def networks() -> list[Network]:
    """Every network of the package.

    >>> networks()[0].name
    'ResNet-50 v1.5'
    """
    return [Network(n["name"], n["source"], tuple(n["problems"])) for n in _data()["network"]]


def usual(ndim: int) -> Sequence[Convolution]:
    """The few convolutions by which kernels are compared where no problem is given.

    >>> str(usual(2)[0])
    'N=32,G=1,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1'
    """
    return [p for p in map(parse, _data()["usual"]) if p.ndim == ndim]

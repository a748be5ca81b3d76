"""Convolutions of well-known networks: what kernels are chosen by where nobody names a problem."""

from __future__ import annotations

from collections.abc import Sequence

from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.kernels.networks import Network, network_data, networks_of


def networks() -> list[Network]:
    """Every network of the package.

    >>> networks()[0].name
    'ResNet-50 v1.5'
    """
    return networks_of(__package__)


def usual(ndim: int) -> Sequence[Convolution]:
    """The few convolutions by which kernels are compared where no problem is given.

    >>> str(usual(2)[0])
    'N=32,G=1,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1'
    """
    return [p for p in map(parse, network_data(__package__)["usual"]) if p.ndim == ndim]

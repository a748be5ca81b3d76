"""The same convolutions in PyTorch, where that is installed: a second opinion on the first.

PyTorch's own code for groups, strides, dilation and gradients has nothing in common with
`ckrules.device.reference`; asymmetric padding is done beforehand.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.engine.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.device.numbers import Floats
    from ckrules.device.problem import Problem
    from ckrules.device.tensors import Tensors


def available() -> bool:
    """Whether PyTorch can be imported."""
    return importlib.util.find_spec("torch") is not None


def compute(tensors: Tensors, a: Floats, b: Floats) -> Floats:
    """The result tensor for the two that ``tensors.sources`` names, summed in fp64.

    Raises:
        CkrulesError: If PyTorch is not installed.
    """
    if not available():
        raise CkrulesError("PyTorch is not installed")
    torch: Any = importlib.import_module("torch")
    p = tensors.problem
    given = {
        role: torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))
        for role, values in zip(tensors.sources, (a, b), strict=True)
    }
    for role in ("input", "weight"):
        if role not in given:
            given[role] = torch.zeros(tensors.shape(role), dtype=torch.float64, requires_grad=True)
    output = _forward(torch, p, given["input"], given["weight"])
    if tensors.result != "output":
        output.backward(given["output"].reshape(output.shape))
        output = given[tensors.result].grad
    found: Floats = output.detach().numpy().reshape(tensors.shape(tensors.result))
    return found


def _forward(torch: Any, p: Problem, x: Any, w: Any) -> Any:
    pads: list[int] = []
    for left, right in zip(reversed(p.left_pad), reversed(p.right_pad), strict=True):
        pads += [left, right]
    flat = x.reshape(p.batch, p.in_channels, *p.input)
    padded = torch.nn.functional.pad(flat, pads)
    function = getattr(torch.nn.functional, f"conv{p.ndim}d")
    weight = w.reshape(p.out_channels, p.in_channels // p.groups, *p.filter)
    return function(padded, weight, stride=p.stride, dilation=p.dilation, groups=p.groups)

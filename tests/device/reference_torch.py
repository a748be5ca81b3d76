"""The same convolutions in PyTorch, where that is installed: a second opinion on the first.

PyTorch's own code for groups, strides, dilation and gradients has nothing in common with
`ckrules.constraints.conv.device.reference`; asymmetric padding is done beforehand.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np

from ckrules.constraints.conv.device.tensors import ConvTensors
from ckrules.constraints.conv.problem import Convolution


def available() -> bool:
    """Whether PyTorch can be imported."""
    return importlib.util.find_spec("torch") is not None


def compute(tensors: ConvTensors, data: Mapping[str, Any]) -> Any:
    """The result tensor, summed in fp64."""
    torch: Any = importlib.import_module("torch")
    p = tensors.problem
    given = {
        role: torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))
        for role, values in data.items()
    }
    for role in ("input", "weight"):
        if role not in given:
            given[role] = torch.zeros(tensors.shape(role), dtype=torch.float64, requires_grad=True)
    output = _forward(torch, p, given["input"], given["weight"])
    if tensors.result != "output":
        output.backward(given["output"].reshape(output.shape))
        output = given[tensors.result].grad
    return output.detach().numpy().reshape(tensors.shape(tensors.result))


def _forward(torch: Any, p: Convolution, x: Any, w: Any) -> Any:
    pads: list[int] = []
    for left, right in zip(reversed(p.left_pad), reversed(p.right_pad), strict=True):
        pads += [left, right]
    flat = x.reshape(p.batch, p.in_channels, *p.input)
    padded = torch.nn.functional.pad(flat, pads)
    function = getattr(torch.nn.functional, f"conv{p.ndim}d")
    weight = w.reshape(p.out_channels, p.in_channels // p.groups, *p.filter)
    return function(padded, weight, stride=p.stride, dilation=p.dilation, groups=p.groups)

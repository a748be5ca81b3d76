"""Convolutions written as the plain loops of their definition."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ckrules.constraints.conv.device.tensors import ConvTensors


def compute(tensors: ConvTensors, data: Mapping[str, Any]) -> Any:
    """The result tensor, one product at a time."""
    p = tensors.problem
    given = {name: values.astype(np.float64) for name, values in data.items()}
    given[tensors.result] = np.zeros(tensors.shape(tensors.result))
    x, w, y = (given[role] for role in ("input", "weight", "output"))
    c, k = p.in_channels // p.groups, p.out_channels // p.groups
    channels = itertools.product(range(p.batch), range(p.groups), range(k), range(c))
    for n, g, i, j in channels:
        for out in itertools.product(*map(range, p.output)):
            for tap in itertools.product(*map(range, p.filter)):
                at = tuple(
                    o * s + t * d - left
                    for o, s, t, d, left in zip(
                        out, p.stride, tap, p.dilation, p.left_pad, strict=True
                    )
                )
                if not all(0 <= q < size for q, size in zip(at, p.input, strict=True)):
                    continue
                if tensors.result == "output":
                    y[(n, g, i, *out)] += x[(n, g, j, *at)] * w[(g, i, j, *tap)]
                elif tensors.result == "input":
                    x[(n, g, j, *at)] += y[(n, g, i, *out)] * w[(g, i, j, *tap)]
                else:
                    w[(g, i, j, *tap)] += y[(n, g, i, *out)] * x[(n, g, j, *at)]
    return given[tensors.result]

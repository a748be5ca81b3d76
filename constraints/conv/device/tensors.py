"""Tensors of a convolution: shapes, orders in memory, and the result as the kernel's GEMM sees it.

Canonical are input (N, G, C, axes), weight (G, K, C, axes) and output (N, G, K, axes) with the
channels of one group. In memory channels come last (NHWGC, GKYXC, NHWGK).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.conv.device import products, reference
from ckrules.constraints.conv.problem import Convolution
from ckrules.constraints.tile_gemm.device.divisions import divisions
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor

Mask = NDArray[np.bool_]
Arrays = Mapping[str, NDArray[Any]]

NAMES = ("input", "weight", "output")

RESULTS = {"bwd_data": "input", "bwd_weight": "weight"}
"""The tensor that the directions compute that are not forward."""


@dataclass(frozen=True)
class ConvTensors:
    """Input, weight and output of a problem for one kernel."""

    problem: Convolution
    config: Point

    @property
    def result(self) -> str:
        """The name of the tensor that is computed."""
        return RESULTS.get(str(self.config["variant"]), "output")

    @cached_property
    def all(self) -> tuple[Tensor, ...]:
        """Input, weight and output."""
        return tuple(
            Tensor(
                name,
                "out" if name == self.result else "in",
                self.shape(name),
                str(self.config["dtype"]),
                self.order(name),
            )
            for name in NAMES
        )

    def shape(self, name: str) -> tuple[int, ...]:
        """The canonical shape of a tensor."""
        p = self.problem
        c, k = p.in_channels // p.groups, p.out_channels // p.groups
        if name == "weight":
            return (p.groups, k, c, *p.filter)
        if name == "input":
            return (p.batch, p.groups, c, *p.input)
        return (p.batch, p.groups, k, *p.output)

    def order(self, name: str) -> tuple[int, ...]:
        """The canonical axes in the order of memory, slowest first."""
        spatial = tuple(range(3, self.problem.ndim + 3))
        return (0, 1, *spatial, 2) if name == "weight" else (0, *spatial, 1, 2)

    def key(self) -> str:
        """Direction, type and sizes; how often the sum is split does not matter."""
        return f"{self.result} of {self.problem.with_split(1)} in {self.config['dtype']}"

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """The result by the definition of the direction, not rounded."""
        kind = reference.precision(self.problem, str(self.config["dtype"]))
        given = {name: values.astype(kind) for name, values in data.items()}
        if self.result == "output":
            found = reference.forward(self.problem, given["input"], given["weight"])
        elif self.result == "input":
            found = reference.backward_data(self.problem, given["weight"], given["output"])
        else:
            found = reference.backward_weight(self.problem, given["input"], given["output"])
        return {self.result: found}

    def depth(self, name: str) -> int:
        """The K of the direction's own GEMM; upstream's example takes forward's for all."""
        return self.problem.gemm(str(self.config["variant"]))[2]

    def parts(self, name: str) -> int:
        """The parts of split-K, which only backward weight has."""
        return self.problem.split_k if self.result == "weight" else 1

    def axes(self, name: str, mask: Mask) -> tuple[list[ResultAxis], Mask]:
        """The implicit GEMM's group, M and N."""
        if name == "weight":
            view = np.moveaxis(mask, 2, -1)
            view = view.reshape(*view.shape[:2], -1)
        else:
            view = np.moveaxis(np.moveaxis(mask, 1, 0), 2, -1)
            view = view.reshape(view.shape[0], -1, view.shape[-1])
        g, m, n = view.shape
        rows, columns = divisions(self.config, "m", m), divisions(self.config, "n", n)
        if name == "weight":
            taps = math.prod(self.problem.filter)
            label = np.arange(n) // (n // taps)
            columns.append(Division("range", label, "filter tap", ordered=False))
        else:
            label = np.arange(m) // (m // self.problem.batch)
            rows.append(Division("image", label, "image", ordered=False))
        groups = [Division("group", np.arange(g), "group", ordered=False)]
        return [
            ResultAxis("groups", g, groups),
            ResultAxis("M", m, rows),
            ResultAxis("N", n, columns),
        ], view

    def products(self, name: str, data: Arrays, at: tuple[int, ...]) -> NDArray[np.float64]:
        """The terms of one element's sum in the order of the GEMM's K."""
        return products.products(self.problem, name, data, at)

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """The parts of split-K, the K tiles and the waves along K."""
        at = np.arange(length)
        tile, waves = int(self.config["tile_k"]), int(self.config["wave_k"])
        if self.parts(name) > 1:
            part = math.ceil(length / (self.parts(name) * tile)) * tile
            yield "split-K part", at // part
        yield "K tile", at // tile
        if waves > 1:
            yield "wave along K", at % tile // (tile // waves)

"""The time of convolution kernels: the GEMMs that a convolution is, and the bytes it moves."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.arch import DTYPES
from ckrules.constraints.conv.networks import usual
from ckrules.constraints.tile_gemm.device import terms
from ckrules.constraints.tile_gemm.device import timing as gemm
from ckrules.constraints.tile_gemm.device.timing import GemmWork
from ckrules.kernels.timing import PRINTED_RANGE, once
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.constraints.conv.problem import Convolution
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate, Floats

_TILE = ("tile_m", "tile_n", "tile_k")


class ConvTiming:
    """Estimates for the three directions, merged groups and split-K included."""

    quantities = (
        *terms.QUANTITIES, "variant", "num_wave_groups", "num_groups_to_merge", "two_stage",
    )  # fmt: skip
    features = gemm.FEATURES
    situation = (*gemm.SITUATION, "taps", "stride", "reuse", "padded", "row", "channels")
    columns = (*_TILE, "pipeline")
    printed_range = PRINTED_RANGE
    apart = ("variant", "arch", "dtype")

    def estimate(
        self, kernels: Mapping[str, Any], problem: Convolution, gpu: Gpu, product: GpuProduct
    ) -> Estimate:
        """See `ckrules.kernels.timing.Timing.estimate`."""
        done, own = work(kernels, problem), partial(_situation, problem)
        return gemm.estimate(kernels, done, gpu, product, situation=own)

    def compiled(
        self, kernels: Mapping[str, Any], gpu: Gpu, product: GpuProduct
    ) -> Mapping[str, Floats]:
        """See `ckrules.kernels.timing.Timing.compiled`."""
        size = _bytes(kernels)
        found = terms.compiled(kernels, gpu, product, terms.Elements.alike(size))
        two = _numbers(kernels, "two_stage")
        each = np.full(two.shape, float(size))
        return {**found, "bytes_a": each, "bytes_b": each, "bytes_c": each,
                "ds": np.zeros_like(two), "two_stage": two}  # fmt: skip

    def usual(self, values: Mapping[str, Any]) -> Sequence[Convolution]:
        """A few convolutions of well-known networks; of two dimensions where kernels have these."""
        dims = values["ndim"]
        return usual(2 if 2 in dims else max(dims, default=2))

    def measured(self, row: Mapping[str, str], gpu: str) -> Point | None:
        """The configuration that a row's tile and pipeline mean.

        >>> row = {"tile_m": "64", "tile_n": "128", "tile_k": "64", "pipeline": "compv3"}
        >>> found = ConvTiming().measured(row, "gfx950")
        >>> found["wave_m"], found["warp_tile_n"]
        (2, 32)
        """
        if any(not row.get(c) for c in self.columns):
            return None
        tiles, kernel, pipelines = _measured()
        word = "x".join(row[c].strip() for c in _TILE)
        pipeline = row["pipeline"].strip()
        if word not in tiles or pipeline not in pipelines:
            known = f"{', '.join(tiles)} with {', '.join(pipelines)}"
            raise UsageError(f"no measured kernel {word} {pipeline}: known are {known}")
        return {
            **kernel,
            **tiles[word],
            "arch": gpu,
            "pipeline": pipeline,
            "double_smem_buffer": pipeline == "compv4",
        }


TIMING = ConvTiming()


def work(kernels: Mapping[str, Any], problem: Convolution) -> GemmWork:
    """The GEMMs of a convolution as each kernel computes them.

    Kernels that merge groups compute every pair of the merged ones and keep the diagonal; a sum
    that is split adds up in memory.
    """
    variant = terms.numbers(kernels).only("variant")
    each = once(kernels, "elements", lambda: terms.Elements.alike(_bytes(kernels)))
    size = each.a
    m, n, k = (float(v) for v in problem.gemm(variant))
    merged = _numbers(kernels, "num_groups_to_merge")
    split = float(problem.split_k)
    image = problem.batch * problem.in_channels * math.prod(problem.input)
    output = problem.batch * problem.out_channels * math.prod(problem.output)
    weight = problem.out_channels * problem.in_channels // problem.groups
    weight *= math.prod(problem.filter)
    read, written = {
        "forward": (image + weight, output),
        "bwd_data": (output + weight, image),
        "bwd_weight": (image + output, weight),
    }[variant]
    two = _numbers(kernels, "two_stage")
    # Two stages write sums in fp32, read them and write the result.
    stored = written * (size * split + two * 8.0)
    batch = np.ceil(problem.groups / merged) * split
    return GemmWork(
        m * merged, n * merged, math.ceil(k / split), batch, float(read * size), stored,
        float(problem.flops), each,
        (m, n, math.ceil(k / split), problem.groups * split, size * (read + written * split)),
    )  # fmt: skip


def _situation(problem: Convolution) -> dict[str, float]:
    """What models learn of a convolution beside its GEMM."""
    taps, strides = math.prod(problem.filter), math.prod(problem.stride)
    return {
        "taps": math.log2(taps),
        "stride": math.log2(strides),
        # Each element of the image is read for so many outputs.
        "reuse": math.log2(taps * math.prod(problem.output) / math.prod(problem.input)),
        "padded": float(any(problem.left_pad) or any(problem.right_pad)),
        "row": math.log2(problem.output[-1]),
        "channels": float(gemm.evenness(problem.in_channels // problem.groups)),
    }


def _bytes(kernels: Mapping[str, Any]) -> int:
    return DTYPES[terms.numbers(kernels).only("dtype")] // 8


def _numbers(kernels: Mapping[str, Any], name: str) -> Floats:
    column = kernels[name]
    return np.asarray(np.asarray(column.values, dtype=np.float64)[column.codes])


@cache
def _measured() -> tuple[dict[str, dict[str, int]], dict[str, Any], list[str]]:
    """Tiles with what goes with them, the fields that all have, and the pipelines."""
    text = files(__package__).joinpath("measured.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    tiles = {}
    for line in data["tiles"]:
        words = line.split()
        fields = {}
        for stem, word in zip(("tile", "wave", "warp_tile"), words, strict=True):
            numbers = zip("mnk", map(int, word.split("x")), strict=True)
            fields.update({f"{stem}_{d}": v for d, v in numbers})
        tiles[words[0]] = fields
    return tiles, data["kernel"], data["pipelines"]

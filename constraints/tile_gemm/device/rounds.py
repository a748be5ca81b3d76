"""Blocks that come in rounds, and how long these take: what every estimate of a time shares.

A round is as many blocks as the GPU holds at once. In it every compute unit works through the steps
of its blocks; what comes before and after the steps of one block, others of the compute unit hide
where blocks are staggered. The whole takes no less than the memory needs for the tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ckrules.arch.performance import GpuProduct
    from ckrules.constraints.tile_gemm.device.terms import Constants, Terms
    from ckrules.kernels.timing import Floats


class BlockRounds:
    """The time of kernels whose blocks have such terms.

    Args:
        t: What a step takes, and what comes before and after.
        blocks: Blocks of each kernel.
        steps: Steps of a block.
        moved: Microseconds that the memory needs for the tensors.
        c: What no data sheet says.
    """

    def __init__(
        self,
        t: Terms,
        blocks: Floats,
        steps: Floats,
        moved: Floats,
        product: GpuProduct,
        c: Constants,
    ) -> None:
        self.t, self.blocks, self.steps, self.moved = t, blocks, steps, moved
        self.product, self.c, self.clock = product, c, float(product.clock_mhz)
        # C++ has the same (``ckrules_timing.hpp``).
        self.steps_by = self.step_bounds()
        self.step = self.slowest() * t.slower
        self.total = c.launch + np.maximum(self.busy() / self.clock, moved)

    def step_bounds(self) -> dict[str, Floats]:
        """Clocks of one block's step by what could limit it, the compute unit being its own."""
        t = self.t
        # What fewer waves than SIMDs leave idle, other blocks of the compute unit may use.
        shared = np.minimum(t.idle, np.maximum(self._at_once(), 1))
        found = {"matrix rate": t.matrix / shared, "LDS": t.lds, "L2": t.l2, "loads": t.loads}
        return {**found, "vector units": t.vector / shared} if t.vector.any() else found

    def slowest(self) -> Floats:
        """Clocks of one block's step: what is done in it is done at the same time."""
        return np.asarray(np.maximum.reduce(list(self.steps_by.values())))

    def _at_once(self) -> Floats:
        each = np.ceil(self.blocks / self.product.compute_units)
        return np.asarray(np.minimum(self.t.resident, each))

    def rounds(self, each: Callable[[Floats], Floats]) -> Floats:
        """Clocks of all rounds, from those of one with so many blocks on a compute unit."""
        units, resident = self.product.compute_units, self.t.resident
        full = np.floor(self.blocks / (units * resident))
        rest = np.ceil((self.blocks - full * units * resident) / units)
        return np.asarray(full * each(resident) + np.where(rest > 0, each(rest), 0.0))

    def loop(self, held: Floats | float, step: Floats, wait: Floats) -> Floats:
        """Clocks of one round's loops."""
        # Blocks that share a compute unit hide each other's latency.
        own = np.where(self.t.overlaps > 0, 0.0, wait / np.maximum(held, 1))
        return np.asarray(self.steps * np.maximum(held * step + own, wait))

    def ends(self, held: Floats | float) -> Floats:
        """Clocks before and after one round's loops."""
        return np.asarray(self.t.first + held * self.t.last)

    def busy(self) -> Floats:
        """Clocks from the first load to the last store."""
        step, wait, last = self.step, self.t.wait, self.t.last
        if not self.c.staggered:
            return self.rounds(lambda held: self.loop(held, step, wait) + self.ends(held))
        alone = self.loop(1.0, step, wait) + self.ends(1.0)
        shared = self.rounds(lambda held: np.maximum(held * (self.steps * step + last), alone))
        return shared + self.ends(1.0)

    @cached_property
    def limits(self) -> dict[str, Floats]:
        """Microseconds by what could limit a kernel."""
        t, zero = self.t, np.zeros_like(self.step)
        found = {name: self._loops(value * t.slower, zero) for name, value in self.steps_by.items()}
        found["latency"] = self._loops(zero, t.wait)
        found["memory"] = self.moved
        found["start and end"] = self.rounds(self.ends) / self.clock
        return found

    def bounds(self) -> Mapping[str, Floats]:
        """See `ckrules.kernels.timing.Explained.bounds`."""
        return self.limits

    def _loops(self, step: Floats, wait: Floats) -> Floats:
        return self.rounds(lambda held: self.loop(held, step, wait)) / self.clock

    def figures_of(self, flops: float, useful: Floats, peak: float) -> dict[str, Floats]:
        """What `rank --explain` prints.

        Args:
            flops: Operations of the problem.
            useful: The share of the multiplications that it asks for.
            peak: Matrix operations of a compute unit in a clock at most.
        """
        units = self.product.compute_units
        tflops = flops / self.total * 1e-6
        return {
            "blocks": self.blocks,
            "blocks_per_cu": self.t.resident,
            "rounds": np.ceil(self.blocks / (units * self.t.resident)),
            "useful": useful,
            "busy": self.blocks / (np.ceil(self.blocks / units) * units),
            "tflops": tflops,
            "of_peak": tflops * 1e6 / (units * self.product.clock_mhz * peak),
        }

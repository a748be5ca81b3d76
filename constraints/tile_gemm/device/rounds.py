"""Blocks that come in rounds, and how long these take: what every estimate of a time shares.

A round is as many blocks as the GPU holds at once. In it every compute unit works through the steps
of its blocks; what comes before and after the steps of one block, others of the compute unit hide
where blocks are staggered. The whole takes no less than the memory needs for the tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ckrules.arch.performance import GpuProduct
    from ckrules.constraints.tile_gemm.device.terms import Constants, Terms
    from ckrules.kernels.timing import Floats

    Held = Floats | float


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
        self.total = c.launch + np.maximum(self.busy() / self.clock, moved)

    def step_bounds(self, held: Held) -> dict[str, Floats]:
        """Clocks that one of so many blocks of a compute unit adds to their step, by its parts."""
        t, shared = self.t, self._shared(held)
        found = {"matrix rate": t.matrix / shared, "LDS": t.lds, "L2": t.l2, "loads": t.loads}
        return {**found, "vector units": t.vector / shared} if t.vector.any() else found

    def slowest(self, held: Held) -> Floats:
        """Clocks of one block's step: what is done in it is done at the same time."""
        units, others = self._longest
        return np.maximum(units / self._shared(held), others)

    @cached_property
    def _longest(self) -> tuple[Floats, Floats]:
        t = self.t
        return np.maximum(t.matrix, t.vector), np.maximum(np.maximum(t.lds, t.l2), t.loads)

    def _shared(self, held: Held) -> Floats:
        # What fewer waves than SIMDs leave idle, other blocks of the compute unit may use.
        return np.minimum(self.t.idle, np.maximum(held, 1))

    def step(self, held: Held) -> Floats:
        """Clocks of one block's step where a compute unit has so many."""
        return self.slowest(held) * self.t.slower

    def rounds(self, each: Callable[[Floats], Floats]) -> Floats:
        """Clocks of all rounds, from those of one with so many blocks on a compute unit."""
        units, resident = self.product.compute_units, self.t.resident
        full = np.floor(self.blocks / (units * resident))
        rest = np.ceil((self.blocks - full * units * resident) / units)
        return np.asarray(full * each(resident) + np.where(rest > 0, each(rest), 0.0))

    def loop(self, held: Held, step: Floats, wait: Floats) -> Floats:
        """Clocks of one round's loops."""
        # Blocks that share a compute unit hide each other's latency.
        own = np.where(self.t.overlaps > 0, 0.0, wait / np.maximum(held, 1))
        return np.asarray(self.steps * np.maximum(held * step + own, wait))

    def ends(self, held: Held) -> Floats:
        """Clocks before and after one round's loops."""
        return np.asarray(self.t.first + held * self.t.last)

    def busy(self) -> Floats:
        """Clocks from the first load to the last store; no block is faster beside others."""
        wait, last = self.t.wait, self.t.last
        alone = self.loop(1.0, self.step(1.0), wait)
        if not self.c.staggered:
            return self.rounds(
                lambda held: (
                    np.maximum(self.loop(held, self.step(held), wait), alone) + self.ends(held)
                )
            )
        alone += self.ends(1.0)
        shared = self.rounds(
            lambda held: np.maximum(held * (self.steps * self.step(held) + last), alone)
        )
        return shared + self.ends(1.0)

    @cached_property
    def limits(self) -> dict[str, Floats]:
        """Microseconds by what could limit a kernel."""
        zero = np.zeros_like(self.total)
        names = self.step_bounds(1.0)
        found = {name: self._loops(partial(self._part, name), zero) for name in names}
        found["latency"] = self._loops(lambda held: zero, self.t.wait)
        found["memory"] = self.moved
        found["start and end"] = self.rounds(self.ends) / self.clock
        return found

    def bounds(self) -> Mapping[str, Floats]:
        """See `ckrules.kernels.timing.Explained.bounds`."""
        return self.limits

    def _part(self, name: str, held: Held) -> Floats:
        return np.asarray(self.step_bounds(held)[name] * self.t.slower)

    def _loops(self, step: Callable[[Held], Floats], wait: Floats) -> Floats:
        return self.rounds(lambda held: self.loop(held, step(held), wait)) / self.clock

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

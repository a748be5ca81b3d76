"""Tensors of a depthwise convolution: NGCHW, GKCYX and NGKHW, and results as images of channels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.conv.device.tensors import ConvTensors, Mask
from ckrules.kernels.parts import Division, ResultAxis


class DepthwiseTensors(ConvTensors):
    """Input, weight and output of a problem for one depthwise kernel."""

    def order(self, name: str) -> tuple[int, ...]:
        """The canonical order."""
        return tuple(range(self.problem.ndim + 3))

    def axes(self, name: str, mask: Mask) -> tuple[list[ResultAxis], Mask]:
        """Images, channels, and the rows and columns of an image."""
        view = mask[:, :, 0]
        images, channels, *sizes = view.shape
        axes = [
            ResultAxis(
                "images", images, [Division("image", np.arange(images), "image", ordered=False)]
            ),
            ResultAxis(
                "channels",
                channels,
                [Division("group", np.arange(channels), "channel", ordered=False)],
            ),
        ]
        for letter, size in zip("hw", sizes, strict=True):
            at, upper = np.arange(size), letter.upper()
            tile, sub = int(self.config[f"tile_{letter}"]), int(self.config[f"sub_{letter}"])
            found = [
                Division("tile", at // tile, f"{upper} tile"),
                Division("warp tile", at // sub, "sub-tile", f" along {upper}"),
            ]
            if letter == "w":
                lane = at % int(self.config["out_vec"])
                found.append(Division("lane", lane, "element", " of each vector", ordered=False))
            axes.append(ResultAxis(upper, size, found))
        return axes, view

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """None: a lane sums over the filter by itself."""
        yield from ()

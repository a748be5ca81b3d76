"""The convolutions on which a depthwise kernel is validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.problem import Convolution


def smoke(config: Mapping[str, Any]) -> list[Convolution]:
    """The built-in problems for a configuration, which fixes most sizes itself.

    Several tiles and a part of one along both sides, then one tile and half a one: kernels whose
    blocks compute tiles of several images take no more (PROB034).

    >>> config = {"filter": 3, "nbatch": 1, "tile_h": 8, "tile_w": 8, "stride_h": 1, "stride_w": 1,
    ...           "pad_h": 1, "pad_w": 1}
    >>> [p.input for p in smoke(config)]
    [(19, 19), (14, 16), (8, 8), (4, 4)]
    """
    taps = int(config["filter"])
    strides, pads = (
        tuple(int(config[f"{stem}_{axis}"]) for axis in "hw") for stem in ("stride", "pad")
    )
    batch = int(config["nbatch"])
    tile = tuple(int(config[f"tile_{axis}"]) for axis in "hw")
    whole, half = (
        tuple(
            max(1, (side // parts - 1) * step + taps - 2 * pad)
            for side, step, pad in zip(tile, strides, pads, strict=True)
        )
        for parts in (1, 2)
    )
    sets = (
        (batch * 8, 16, (2 * tile[0] * strides[0] + taps, 2 * tile[1] * strides[1] + taps)),
        (batch * 3, 7, (tile[0] * strides[0] + taps + 3, tile[1] * strides[1] + taps + 5)),
        (batch * 5, 8, whole),
        (batch * 2, 5, half),
    )
    return [
        Convolution(
            batch=n,
            groups=groups,
            in_channels=groups,
            out_channels=groups,
            input=image,
            filter=(taps, taps),
            stride=strides,
            dilation=(1, 1),
            left_pad=pads,
            right_pad=pads,
        )
        for n, groups, image in sets
    ]

"""The convolutions on which a kernel is validated: a built-in set for each direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.device.short_k import short_sums
from ckrules.constraints.conv.problem import Convolution, parse

_SIZES = {
    1: (
        "N=2,C=64,K=64,W=130,X=3,pad=1",
        "N=3,G=2,C=48,K=80,W=77,X=5,stride=2,pad=2",
        "N=1,C=24,K=40,W=61,X=3,dilation=2,pad=1,right_pad=2",
        "N=2,C=64,K=128,W=128,X=1",
        "N=2,C=7,K=5,W=33,X=3,pad=1",
        "N=4,G=8,C=8,K=64,W=66,X=3,pad=1",
    ),
    2: (
        "N=2,C=64,K=64,H=14,W=14,Y=3,X=3,pad=1",
        "N=3,G=2,C=48,K=80,H=17,W=19,Y=3,X=3,stride=2,pad=1",
        "N=1,C=24,K=40,H=15,W=13,Y=3,X=2,stride=1x2,dilation=2x1,pad=2x0,right_pad=1x1",
        "N=2,C=64,K=128,H=12,W=12,Y=1,X=1",
        "N=2,C=7,K=5,H=11,W=9,Y=3,X=3,pad=1",
        "N=4,G=8,C=8,K=64,H=16,W=16,Y=3,X=3,pad=1",
    ),
    3: (
        "N=1,C=64,K=64,D=5,H=8,W=8,Z=3,Y=3,X=3,pad=1",
        "N=2,G=2,C=48,K=80,D=5,H=7,W=9,Z=3,Y=3,X=3,stride=2,pad=1",
        "N=1,C=24,K=40,D=4,H=9,W=7,Z=2,Y=3,X=2,dilation=1x2x1,pad=1x0x1,right_pad=0x2x1",
        "N=2,C=64,K=128,D=4,H=6,W=6,Z=1,Y=1,X=1",
        "N=1,C=7,K=5,D=4,H=5,W=6,Z=3,Y=3,X=3,pad=1",
        "N=2,G=8,C=8,K=64,D=4,H=5,W=6,Z=3,Y=3,X=3,pad=1",
    ),
}
_SPLITS = (1, 2, 5)
_IMAGES = {1: "W=35,X=3,pad=1", 2: "H=7,W=9,Y=3,X=3,pad=1", 3: "D=3,H=5,W=6,Z=3,Y=3,X=3,pad=1"}


def smoke(config: Mapping[str, Any]) -> list[Convolution]:
    """The built-in problems for a configuration.

    Sizes that are not a multiple of any tile exercise padding; odd channel counts have to be
    refused or padded; backward weight is split in three ways. Kernels that merge groups get
    problems with enough of them. The last ones have short sums (`short_sums`).

    >>> [str(p) for p in smoke({"variant": "bwd_weight", "ndim": 1})][:3]  # doctest: +ELLIPSIS
    ['N=2,G=1,C=64,K=64,W=130,X=3,pad=1', ...,pad=1,split_k=2', ...,pad=1,split_k=5']
    """
    ndim = int(config["ndim"])
    found = [parse(text) for text in _SIZES[ndim]]
    merged = int(config.get("num_groups_to_merge", 1))
    if merged > 1:  # these need groups to merge, and some of them one channel in each
        found += [
            parse(f"N=2,G={2 * merged},C={2 * merged * c},K={32 * merged},{_IMAGES[ndim]}")
            for c in (1, 16)
        ]
    if config.get("specialization") == "filter3x3":  # these take one input channel a group
        found.append(parse(f"N=2,G=2,C=2,K=128,{_IMAGES[ndim]}"))
    if config["variant"] == "bwd_weight":
        found = [p.with_split(s) for p in found for s in _SPLITS]
    return found + short_sums(config)

"""Which problems are run: a built-in set for each variant, and files of convolution shapes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ckrules.device.problem import AXES, FILTER, IMAGE, Problem, from_mapping, parse
from ckrules.device.sums import short_sums
from ckrules.engine.errors import CkrulesError, UsageError

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
_IMAGES = {
    1: "W=35,X=3,pad=1",
    2: "H=7,W=9,Y=3,X=3,pad=1",
    3: "D=3,H=5,W=6,Z=3,Y=3,X=3,pad=1",
}


def smoke(config: Mapping[str, Any]) -> list[Problem]:
    """The built-in problems for a configuration.

    Sizes that are no multiple of any tile exercise padding; odd channel counts have to be
    refused or padded; backward weight is split in three ways. Kernels that merge groups get
    problems with enough of them, and a depthwise kernel fixes most sizes itself. The last ones
    have short sums (`ckrules.device.sums`).

    >>> [str(p) for p in smoke({"variant": "bwd_weight", "ndim": 1})][:3]  # doctest: +ELLIPSIS
    ['N=2,G=1,C=64,K=64,W=130,X=3,pad=1', ...,pad=1,split_k=2', ...,pad=1,split_k=5']
    """
    if config["variant"] == "forward_depthwise":
        return list(_depthwise(config))
    ndim = int(config["ndim"])
    found = [parse(text) for text in _SIZES[ndim]]
    merged = int(config.get("num_groups_to_merge", 1))
    if merged > 1:  # these need groups to merge, and some of them one channel in each
        found += [
            parse(f"N=2,G={2 * merged},C={2 * merged * c},K={32 * merged},{_IMAGES[ndim]}")
            for c in (1, 16)
        ]
    if config["variant"] == "bwd_weight":
        found = [p.with_split(s) for p in found for s in _SPLITS]
    return found + short_sums(config)


def _depthwise(config: Mapping[str, Any]) -> Iterator[Problem]:
    taps = int(config["filter"])
    strides, pads = (
        tuple(int(config[f"{stem}_{axis}"]) for axis in "hw") for stem in ("stride", "pad")
    )
    batch = int(config["nbatch"])
    tile = tuple(int(config[f"tile_{axis}"]) for axis in "hw")
    for n, groups, image in (
        (batch * 8, 16, (2 * tile[0] * strides[0] + taps, 2 * tile[1] * strides[1] + taps)),
        (batch * 3, 7, (tile[0] * strides[0] + taps + 3, tile[1] * strides[1] + taps + 5)),
    ):
        yield Problem(
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


def read_problems(path: Path) -> list[Problem]:
    """The problems of a CSV file with upstream's columns, or with those that `parse` knows.

    A depth (``Di``, ``Z``) of 1 or nothing makes a problem two-dimensional, as upstream's rule
    is, and the columns of that axis are ignored; a two-dimensional one is never taken for
    one-dimensional. Columns of other names are ignored if the file has the sizes.

    Raises:
        UsageError: With file and line of the first fault.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return list(_rows(path, csv.reader(_code(stream))))
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file in UTF-8") from None
    except csv.Error as error:
        raise UsageError(f"{path}: {error}") from None


def _code(stream: Any) -> Iterator[str]:
    """The lines with comments made empty, so that line numbers stay."""
    for line in stream:
        yield "\n" if line.startswith("#") else line


def _rows(path: Path, reader: Any) -> Iterator[Problem]:
    header: list[str] = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = [cell.strip() for cell in cells]
            for key in ("N", "C", "K"):
                if key not in header:
                    place = f"{path}:{reader.line_num}"
                    raise UsageError(f"{place}: no column {key}: expected N, C, K, Hi, Wi, Y, X, …")
            continue
        try:
            yield from_mapping(_sizes(dict(zip(header, cells, strict=False))))
        except CkrulesError as error:
            raise UsageError(f"{path}:{reader.line_num}: {error}") from None


def _sizes(row: Mapping[str, str]) -> dict[str, str]:
    """The cells that say sizes."""
    cells = {k: v.strip() for k, v in row.items() if v.strip()}
    for short, long in zip("DHW", IMAGE, strict=True):
        if short in cells:
            cells.setdefault(long, cells.pop(short))
    drop = ""
    if cells.get("Di", "1") == "1" and cells.get("Z", "1") == "1":
        drop = "d"
    if "Hi" not in cells and "Y" not in cells:
        drop = "dh"
    for axis in drop:
        i = AXES.index(axis)
        cells.pop(IMAGE[i], None)
        cells.pop(FILTER[i], None)
        for stem in ("stride", "dilation", "pad", "left_pad", "right_pad"):
            cells.pop(f"{stem}_{axis}", None)
    ndim = 3 - len(drop)
    wanted = {"N", "G", "C", "K", "split_k", "k_batch", *IMAGE[3 - ndim :], *FILTER[3 - ndim :]}
    for stem in ("stride", "dilation", "pad", "left_pad", "right_pad"):
        wanted |= {stem, *(f"{stem}_{a}" for a in AXES[3 - ndim :])}
    return {k: v for k, v in cells.items() if k in wanted}

"""Convolution problems: their sizes, and the one line of text that says them.

Channels are totals over the groups, as upstream's ``ConvProblemC`` and its benchmark files have
them. Axes are ordered slowest first: width; height, width; depth, height, width.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ckrules.kernels.problem_text import size as read_size
from ckrules.kernels.problem_text import sizes_of, values_by_name
from ckrules.support.errors import UsageError, unknown

Axes = tuple[int, ...]

#: Letters of the axes in suffixes, slowest first, and of image, filter and output in upstream's
#: files.
AXES, IMAGE, FILTER = "dhw", ("Di", "Hi", "Wi"), ("Z", "Y", "X")
OUTPUT = ("Do", "Ho", "Wo")
_STEMS = ("stride", "dilation", "pad", "left_pad", "right_pad")

_LISTS = {
    "stride": ("stride", 1),
    "dilation": ("dilation", 1),
    "left_pad": ("left_pad", 0),
    "right_pad": ("right_pad", 0),
}
_ALIASES = {
    "D": "Di",
    "H": "Hi",
    "W": "Wi",
    "n": "N",
    "g": "G",
    "c": "C",
    "k": "K",
    "k_batch": "split_k",
    "kbatch": "split_k",
    "groups": "G",
    "batch": "N",
    "x": "X",
    "y": "Y",
    "z": "Z",
}


@dataclass(frozen=True, slots=True)
class Convolution:
    """One grouped convolution of any direction; ``split_k`` counts for backward weight only."""

    batch: int
    groups: int
    in_channels: int
    out_channels: int
    input: Axes
    filter: Axes
    stride: Axes
    dilation: Axes
    left_pad: Axes
    right_pad: Axes
    split_k: int = 1

    @property
    def ndim(self) -> int:
        """Spatial dimensions.

        >>> parse("N=1,C=8,K=8,W=9,X=3").ndim
        1
        """
        return len(self.input)

    @property
    def output(self) -> Axes:
        """Spatial sizes of the output.

        >>> parse("N=1,C=8,K=8,H=7,W=7,Y=3,X=3,stride=2,pad=1").output
        (4, 4)
        """
        return tuple(
            (i + left + right - (f - 1) * d - 1) // s + 1
            for i, f, s, d, left, right in zip(
                self.input,
                self.filter,
                self.stride,
                self.dilation,
                self.left_pad,
                self.right_pad,
                strict=True,
            )
        )

    @property
    def flops(self) -> int:
        """Operations of the convolution, a multiplication and an addition counted as two.

        >>> parse("N=1,G=2,C=8,K=4,W=5,X=3").flops
        288
        """
        points = self.batch * math.prod(self.output) * math.prod(self.filter)
        return 2 * points * self.out_channels * (self.in_channels // self.groups)

    def gemm(self, variant: str) -> tuple[int, int, int]:
        """M, N and K of the implicit GEMM of one group.

        >>> parse("N=2,G=2,C=8,K=4,W=5,X=3").gemm("bwd_weight")
        (2, 12, 6)
        """
        c, k = self.in_channels // self.groups, self.out_channels // self.groups
        taps = math.prod(self.filter)
        if variant == "bwd_weight":
            return k, c * taps, self.batch * math.prod(self.output)
        if variant == "bwd_data":
            return self.batch * math.prod(self.input), c, k * taps
        return self.batch * math.prod(self.output), k, c * taps

    def with_split(self, split_k: int) -> Convolution:
        """The problem with its sum split into so many parts."""
        return replace(self, split_k=split_k)

    def __str__(self) -> str:
        return format_problem(self)


def format_problem(p: Convolution) -> str:
    """The problem as one word; what has its usual value is left out.

    >>> text = "N=2,G=1,C=8,K=16,H=14,W=15,Y=3,X=3,stride=2x1,pad=1,right_pad=0x1,split_k=4"
    >>> format_problem(parse(text)) == text
    True
    """
    n = p.ndim
    parts = [f"N={p.batch}", f"G={p.groups}", f"C={p.in_channels}", f"K={p.out_channels}"]
    parts += [f"{a.upper()}={v}" for a, v in zip(AXES[3 - n :], p.input, strict=True)]
    parts += [f"{a}={v}" for a, v in zip(FILTER[3 - n :], p.filter, strict=True)]
    for name, values, default in (
        ("stride", p.stride, (1,) * n),
        ("dilation", p.dilation, (1,) * n),
        ("pad", p.left_pad, (0,) * n),
        ("right_pad", p.right_pad, p.left_pad),
    ):
        if values != default:
            short = values[:1] if len(set(values)) == 1 else values
            parts.append(f"{name}={'x'.join(map(str, short))}")
    if p.split_k != 1:
        parts.append(f"split_k={p.split_k}")
    return ",".join(parts)


def parse(text: str) -> Convolution:
    """The problem that a text says, such as ``N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1``.

    ``G`` is 1, strides and dilations are 1, padding is 0 and ``split_k`` 1 where they are left
    out. ``stride``, ``dilation``, ``pad``, ``left_pad`` and ``right_pad`` take one number for all
    axes or one for each (``stride=2x1``), or an axis at a time (``stride_h=2``). ``Ho`` and
    other sizes of the output follow from the others, and must agree with them.

    >>> parse("N=1,C=8,K=8,Hi=7,Wi=7,Y=3,X=3,pad_h=1").left_pad
    (1, 0)
    >>> parse("N=1,C=8,G=3,K=9,W=7,X=3")
    Traceback (most recent call last):
    ...
    ckrules.support.errors.UsageError: C = 8 is not a multiple of G = 3

    Raises:
        UsageError: For what is not a problem, with the reason.
    """
    return from_mapping(sizes_of(text))


def from_mapping(given: Mapping[str, Any]) -> Convolution:
    """`parse` for names and values that are already apart, such as a JSON object.

    Raises:
        UsageError: For what is not a problem, with the reason.
    """
    values = values_by_name(given, _ALIASES)
    ndim = 3 if "Di" in values or "Z" in values else 2 if "Hi" in values or "Y" in values else 1
    images, filters = IMAGE[3 - ndim :], FILTER[3 - ndim :]
    _known(values, ndim)
    sizes = [_number(values, key) for key in (*("N", "C", "K"), *images, *filters)]
    groups = _number(values, "G", 1)
    lists = {key: _axes(values, key, ndim, default) for key, default in _LISTS.values()}
    problem = Convolution(
        batch=sizes[0],
        groups=groups,
        in_channels=sizes[1],
        out_channels=sizes[2],
        input=tuple(sizes[3 : 3 + ndim]),
        filter=tuple(sizes[3 + ndim :]),
        split_k=_number(values, "split_k", 1),
        **lists,
    )
    _check(problem)
    for name, computed in zip(OUTPUT[3 - ndim :], problem.output, strict=True):
        if (said := _number(values, name, computed)) != computed:
            raise UsageError(f"{name} = {said}, expected {computed} from the other sizes")
    return problem


def from_row(cells: Mapping[str, str]) -> Convolution:
    """The problem of a table's row, with upstream's columns or those that `parse` knows.

    A depth (``Di``, ``Z``) of 1 or nothing makes a problem two-dimensional, as upstream's rule
    is, and the columns of that axis are ignored; a two-dimensional one is never taken for
    one-dimensional. Columns of other names are ignored.

    >>> str(from_row({"N": "1", "C": "8", "K": "8", "Di": "1", "Hi": "7", "Wi": "7", "Z": "1",
    ...               "Y": "3", "X": "3", "pad_d": "0", "latency_ms": "0.2"}))
    'N=1,G=1,C=8,K=8,H=7,W=7,Y=3,X=3'

    Raises:
        UsageError: For what is not a problem, with the reason.
    """
    given = values_by_name({k: v.strip() for k, v in cells.items() if v.strip()}, _ALIASES)
    if "Hi" not in given and "Y" not in given:
        ndim = 1
    else:
        ndim = 2 if given.get("Di", "1") == given.get("Z", "1") == "1" else 3
    known = _names(ndim)
    return from_mapping({k: v for k, v in given.items() if k in known})


def _names(ndim: int) -> set[str]:
    names = {"N", "G", "C", "K", "split_k", *_STEMS}
    names |= {name for each in (IMAGE, FILTER, OUTPUT) for name in each[3 - ndim :]}
    return names | {f"{stem}_{a}" for stem in _STEMS for a in AXES[3 - ndim :]}


def _known(values: Mapping[str, Any], ndim: int) -> None:
    known = _names(ndim)
    for key in values:
        if key not in known:
            raise unknown("size of a problem", key, sorted(known))


def _number(values: Mapping[str, Any], key: str, default: int | None = None) -> int:
    if key not in values:
        if default is None:
            raise UsageError(f"the problem has no {key}")
        return default
    return read_size(key, values[key])


def _axes(values: Mapping[str, Any], stem: str, ndim: int, default: int) -> Axes:
    """The numbers of ``stem`` for each axis; ``pad`` says both sides."""
    found = [default] * ndim
    for name in ("pad", stem) if stem.endswith("_pad") else (stem,):
        if name in values:
            words = str(values[name]).split("x")
            if len(words) not in (1, ndim):
                raise UsageError(f"{name} = {values[name]!r} has not 1 or {ndim} numbers")
            numbers = [read_size(name, w, least=default) for w in words]
            found = numbers * ndim if len(numbers) == 1 else numbers
        for i, axis in enumerate(AXES[3 - ndim :]):
            if f"{name}_{axis}" in values:
                found[i] = read_size(f"{name}_{axis}", values[f"{name}_{axis}"], least=default)
    return tuple(found)


def _check_channels(p: Convolution) -> None:
    for name, channels in (("C", p.in_channels), ("K", p.out_channels)):
        if channels % p.groups:
            raise UsageError(f"{name} = {channels} is not a multiple of G = {p.groups}")


def _check(p: Convolution) -> None:
    _check_channels(p)
    for axis, size in zip(AXES[3 - p.ndim :], p.output, strict=True):
        if size < 1:
            raise UsageError(f"the filter is larger than the padded image along {axis}")


def row(p: Convolution, variant: str) -> dict[str, int]:
    """The sizes with upstream's names; axes that a problem lacks have size 1, as in its files.

    >>> sizes = row(parse("N=1,C=8,K=8,H=7,W=7,Y=3,X=3,stride=2,pad=1"), "forward")
    >>> sizes["Di"], sizes["Ho"], sizes["stride_d"], sizes["pad_h"], sizes["gemm_k"]
    (1, 4, 1, 1, 72)
    """
    gap = 3 - p.ndim
    sizes = {"ndim_spatial": p.ndim}
    sizes |= {"N": p.batch, "G": p.groups, "C": p.in_channels, "K": p.out_channels}
    lists: list[tuple[tuple[str, ...], Axes, int]] = [(IMAGE, p.input, 1), (FILTER, p.filter, 1)]
    for stem, values, default in (
        ("stride", p.stride, 1),
        ("pad", p.left_pad, 0),
        ("right_pad", p.right_pad, 0),
        ("dilation", p.dilation, 1),
    ):
        lists.append((tuple(f"{stem}_{a}" for a in AXES), values, default))
    for names, values, default in lists:
        sizes.update(zip(names, (default,) * gap + values, strict=True))
    sizes["split_k"] = p.split_k
    sizes.update(zip(OUTPUT, (1,) * gap + p.output, strict=True))
    sizes.update(zip(("gemm_m", "gemm_n", "gemm_k"), p.gemm(variant), strict=True))
    return {**sizes, "flops": p.flops}


def pack(p: Convolution) -> bytes:
    """A problem as ``ckrules_convolution`` of ``runtime/ckrules_conv.h`` lays it out.

    >>> len(pack(parse("N=2,G=2,C=8,K=4,W=5,X=3")))
    184

    Raises:
        UsageError: If the axes do not fit together, or a size is too large for its member.
    """
    axes = (p.input, p.filter, p.stride, p.dilation, p.left_pad, p.right_pad)
    if not 1 <= p.ndim <= 3 or any(len(each) != p.ndim for each in axes):
        raise UsageError("a convolution has 1, 2 or 3 spatial dimensions, the same everywhere")
    read_size("G", p.groups)
    _check_channels(p)
    channels = (p.out_channels // p.groups, p.in_channels // p.groups)
    lists = (n for each in axes for n in (*each, *(0,) * (3 - p.ndim)))
    try:
        return struct.pack("=2i22q", p.ndim, p.split_k, p.groups, p.batch, *channels, *lists)
    except struct.error:
        raise UsageError(f"{p}: a size is too large") from None

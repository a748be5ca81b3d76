"""Where a result is wrong, in the words of the kernel: which tile, wave, image or group.

The result is seen as the implicit GEMM's (group, M, N). Along each axis the wrong coordinates are
compared with the ways in which the kernel divides that axis; the coarsest that says exactly which
coordinates are wrong gives the words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.device.kslices import blame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.numbers import Floats
    from ckrules.device.tensors import Tensors
    from ckrules.device.tolerance import Comparison

Mask = Any  # NDArray[np.bool_], of which mypy knows too little

_DENSE = 0.4
"""Least part of a region that is wrong; with fewer the region explains nothing."""

_MOST = 0.75
"""With more of an axis wrong, and no division that says which, the whole axis is meant."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is wrong and where."""

    kind: str
    """One of ``KINDS``."""
    text: str
    first: tuple[int, ...] = ()
    """The first wrong element: its indices in the tensor's canonical order."""


KINDS = (
    *("not written", "zeros", "nan", "k slice", "scaled"),
    *("tile", "wave", "warp tile", "lane", "image", "group", "range"),
    *("everywhere", "scattered"),
)
"""What a pattern can be; the first five say what the wrong values are, the others only where."""


@dataclass(frozen=True)
class _Division:
    """One way to divide an axis: a label for every coordinate."""

    kind: str
    labels: NDArray[np.int64]
    count: int
    say: Callable[[Sequence[int], int], str]


@dataclass(frozen=True)
class _Axis:
    name: str
    size: int
    divisions: list[_Division] = field(default_factory=list)

    def divide(self, kind: str, labels: Any, say: Callable[[Sequence[int], int], str]) -> None:
        """Adds a division if it has two parts or more."""
        found = np.asarray(labels, np.int64)
        count = int(found.max()) + 1
        if count > 1:
            self.divisions.append(_Division(kind, found, count, say))

    def explain(self, wrong: NDArray[np.bool_]) -> tuple[str, str] | None:
        """Kind and words for a set of coordinates; None if all, or nearly all, are wrong."""
        if wrong.all():
            return None
        for division in self.divisions:
            labels = np.unique(division.labels[wrong])
            if len(labels) < division.count and (np.isin(division.labels, labels) == wrong).all():
                return division.kind, division.say([int(i) for i in labels], division.count)
        places = np.flatnonzero(wrong)
        lo, hi = int(places[0]), int(places[-1])
        if hi - lo + 1 == len(places):
            span = f"{lo}" if lo == hi else f"{lo}–{hi}"
            return "range", f"{self.name} {span} of {self.size}"
        if len(places) > _MOST * self.size:
            return None
        return "scattered", f"{len(places)} of {self.size} {self.name}"


def classify(
    tensors: Tensors,
    config: Mapping[str, Any],
    comparison: Comparison,
    found: Floats,
    reference: Floats,
    sources: tuple[Floats, Floats],
    unwritten: NDArray[np.bool_] | None = None,
) -> Pattern:
    """What the wrong elements of a result have in common.

    Args:
        tensors: Problem, direction and type.
        config: The kernel's configuration.
        comparison: Of ``found`` and ``reference``, with at least one wrong element.
        found: The kernel's result.
        reference: What it should be.
        sources: The two tensors that were read, as ``tensors.sources`` names them.
        unwritten: True where the result still has the bits it was filled with beforehand.
    """
    mask = comparison.mask
    first = tuple(int(i) for i in np.argwhere(mask)[0])
    kind, place = locate(tensors, config, mask)
    what = _values(found[mask], reference[mask], None if unwritten is None else unwritten[mask])
    if what is None:
        slices = blame(tensors, config, comparison, found, reference, sources)
        what = ("k slice", slices) if slices else _scaled(found[mask], reference[mask])
    if what is None:
        return Pattern(kind, place, first)
    return Pattern(what[0], f"{what[1]}: {place}", first)


def locate(tensors: Tensors, config: Mapping[str, Any], mask: Mask) -> tuple[str, str]:
    """Kind and words for the place of the wrong elements."""
    axes, view = _view(tensors, config, mask)
    words, kinds = [], []
    size = 1
    for i, axis in enumerate(axes):
        wrong = view.any(axis=tuple(j for j in range(view.ndim) if j != i))
        size *= int(wrong.sum())
        found = axis.explain(wrong)
        if found is not None:
            kinds.append(found[0])
            words.append(found[1])
    count = int(mask.sum())
    share = count / size
    if share < _DENSE:
        return "scattered", f"scattered: {count:,} of {mask.size:,} elements"
    if not words:
        percent = min(99, round(100 * share))
        whole = "everywhere" if share == 1 else f"everywhere ({percent} % of the elements)"
        return "everywhere", whole
    kind = next((k for k in KINDS if k in kinds), "scattered")
    return kind, ", ".join(words)


def _values(found: Floats, reference: Floats, unwritten: Mask) -> tuple[str, str] | None:
    if unwritten is not None and unwritten.all():
        return "not written", "not written"
    if not np.isfinite(found).all():
        bad = int((~np.isfinite(found)).sum())
        part = "" if bad == found.size else f" in {bad:,} of {found.size:,} wrong elements"
        what = "NaN" if np.isnan(found).any() else "infinity"
        return "nan", f"{what}{part}"
    if (found == 0).all() and (reference != 0).any():
        return "zeros", "all zeros"
    return None


def _scaled(found: Floats, reference: Floats) -> tuple[str, str] | None:
    """A common factor, such as 2 for a sum that was added twice."""
    large = np.abs(reference) > 0.25 * np.abs(reference).max()
    if large.sum() < 4:
        return None
    ratios = found[large] / reference[large]
    factor = float(np.median(ratios))
    if abs(factor) < 1e-3 or float(np.abs(ratios - factor).max()) > 0.02 * abs(factor):
        return None
    return "scaled", f"{factor:.3g} times the reference"


def _view(tensors: Tensors, config: Mapping[str, Any], mask: Mask) -> tuple[list[_Axis], Mask]:
    if tensors.variant == "forward_depthwise":
        return _depthwise_axes(config, mask), mask[:, :, 0]
    if tensors.result == "weight":
        view = np.moveaxis(mask, 2, -1)
        view = view.reshape(*view.shape[:2], -1)
    else:
        view = np.moveaxis(np.moveaxis(mask, 1, 0), 2, -1)
        view = view.reshape(view.shape[0], -1, view.shape[-1])
    groups, m, n = (_Axis(*pair) for pair in zip(("groups", "M", "N"), view.shape, strict=True))
    groups.divide("group", range(groups.size), _listed("group"))
    for axis, letter in ((m, "m"), (n, "n")):
        _gemm_divisions(axis, letter, config)
    if tensors.result != "weight":
        image = m.size // tensors.problem.batch
        m.divide("image", np.arange(m.size) // image, _listed("image"))
    else:
        taps = math.prod(tensors.problem.filter)
        n.divide("range", np.arange(n.size) // (n.size // taps), _listed("filter tap"))
    return [groups, m, n], view


def _gemm_divisions(axis: _Axis, letter: str, config: Mapping[str, Any]) -> None:
    at = np.arange(axis.size)
    upper = letter.upper()
    tile, waves, warp_tile = (
        max(1, int(config[f"{stem}_{letter}"])) for stem in ("tile", "wave", "warp_tile")
    )
    axis.divide("tile", at // tile, _counted(f"{upper} tile"))
    inside = at % tile // warp_tile
    axis.divide("wave", inside % waves, _listed("wave", f" along {upper}"))
    axis.divide("warp tile", inside, _counted("warp tile", f" along {upper}"))
    axis.divide("warp tile", at // warp_tile, _counted("warp tile", f" along {upper}"))
    axis.divide("lane", at % warp_tile, _listed("row", f" of each warp tile along {upper}"))


def _depthwise_axes(config: Mapping[str, Any], mask: Mask) -> list[_Axis]:
    sizes = (mask.shape[0], mask.shape[1], *mask.shape[3:])
    axes = [_Axis(*p) for p in zip(("images", "channels", "H", "W"), sizes, strict=True)]
    axes[0].divide("image", np.arange(axes[0].size), _listed("image"))
    axes[1].divide("group", np.arange(axes[1].size), _listed("channel"))
    for axis, letter in ((axes[2], "h"), (axes[3], "w")):
        at = np.arange(axis.size)
        axis.divide("tile", at // int(config[f"tile_{letter}"]), _counted(f"{axis.name} tile"))
        axis.divide(
            "warp tile",
            at // int(config[f"sub_{letter}"]),
            _counted("sub-tile", f" along {axis.name}"),
        )
    lanes = int(config["out_vec"])
    axes[3].divide("lane", np.arange(axes[3].size) % lanes, _listed("element", " of each vector"))
    return axes


def _counted(what: str, tail: str = "") -> Callable[[Sequence[int], int], str]:
    """Words for parts that come one after the other: the last, every second, or their numbers."""

    def say(labels: Sequence[int], count: int) -> str:
        if list(labels) == [count - 1]:
            return f"last {what}{tail}"
        if list(labels) == [0]:
            return f"first {what}{tail}"
        for start in (0, 1):
            if count > 3 and list(labels) == list(range(start, count, 2)):
                return f"every second {what}{tail}"
        return f"{_numbers(what, labels)} of {count}{tail}"

    return say


def _listed(what: str, tail: str = "") -> Callable[[Sequence[int], int], str]:
    """Words for parts that are told apart by number only."""
    return lambda labels, count: f"{_numbers(what, labels)} of {count}{tail}"


def _numbers(what: str, labels: Sequence[int]) -> str:
    shown = ", ".join(map(str, labels[:6])) + (", …" if len(labels) > 6 else "")
    return f"{what}{'s' * (len(labels) > 1)} {shown}"

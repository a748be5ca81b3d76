"""Which part of the sum is missing: the error of some elements, taken apart by slices of K.

For a few wrong elements the products of the sum are made one by one. If the kernel left out some
slices of K, or added them twice, the error of every such element is the sum of its own products in
these slices, and least squares finds which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ckrules.device.dtypes import Floats
    from ckrules.device.tensors import Expected
    from ckrules.device.tolerance import Comparison
    from ckrules.kernels.parts import Tensors

_MOST_SLICES = 160
_SAMPLES = 5
"""Elements that are looked at for each slice."""
_CELLS = 8_000_000
"""Most products that are made."""


def blame(
    tensors: Tensors, expected: Expected, comparison: Comparison, found: Floats
) -> str | None:
    """Words for the slices of K that explain the wrong elements, or None.

    The arguments are those of `ckrules.device.patterns.classify`.
    """
    name, reference = expected.name, expected.values
    places = np.argwhere(comparison.mask)
    depth = tensors.depth(name)
    divided = [int(labels.max()) + 1 for _, labels in tensors.slices(name, depth)]
    if not divided:
        return None
    slices = min(max(divided), _MOST_SLICES)
    count = min(len(places), max(16, _SAMPLES * slices), max(8, _CELLS // depth))
    chosen = places[np.linspace(0, len(places) - 1, count).astype(int)]
    rows = [tensors.products(name, expected.data, tuple(map(int, at))) for at in chosen]
    length = Counter(map(len, rows)).most_common(1)[0][0]
    keep = [i for i, row in enumerate(rows) if len(row) == length]
    matrix = np.stack([rows[i] for i in keep])
    at = tuple(chosen[keep].T)
    error = reference[at].astype(np.float64) - found[at]
    slack = comparison.tolerance.atol + comparison.tolerance.rtol * np.abs(reference[at])
    for what, labels in tensors.slices(name, length):
        words = _fit(what, labels, matrix, error, slack)
        if words:
            return words
    return None


def _fit(what: str, labels: Any, matrix: Any, error: Any, slack: Any) -> str | None:
    count = int(labels.max()) + 1 if len(labels) else 0
    if not 1 < count <= _MOST_SLICES or len(error) < min(2 * count, 8):
        return None
    sums = np.stack([matrix[:, labels == i].sum(axis=1) for i in range(count)], axis=1)
    for weights in _candidates(sums, error):
        if weights.any() and (np.abs(error - sums @ weights) <= 2 * slack).mean() > 0.9:
            return _words(what, weights, count)
    return None


def _candidates(sums: Any, error: Any) -> Iterator[Any]:
    """How often each slice may be missing: least squares, then each slice alone."""
    if len(error) >= 2 * sums.shape[1]:
        solved = np.linalg.lstsq(sums, error, rcond=None)[0]
        whole = np.rint(solved)
        if np.abs(whole).max() <= 1 and len(np.unique(whole)) > 1:
            yield whole
    fit = np.abs(error[:, None] - sums).sum(axis=0)
    yield np.eye(sums.shape[1])[int(fit.argmin())]


def _words(what: str, weights: Any, count: int) -> str:
    said = []
    for sign, verb in ((1, "missing"), (-1, "added twice")):
        slices = np.flatnonzero(weights == sign)
        if len(slices):
            name = "last" if list(slices) == [count - 1] else "first"
            if list(slices) in ([0], [count - 1]):
                said.append(f"{name} {what} {verb}")
            else:
                shown = ", ".join(map(str, slices[:6])) + (", …" if len(slices) > 6 else "")
                said.append(f"{what}{'s' * (len(slices) > 1)} {shown} of {count} {verb}")
    return " and ".join(said)

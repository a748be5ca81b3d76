"""Ensembles of regression trees as plain arrays, read from LightGBM's own text.

`read` takes what `ckrules train` writes and nothing else: numerical splits, few leaves, one
output. Whatever it returns can be walked: every node and leaf is reached exactly once, and every
number is finite. `ckrules.ranking.forest` evaluates the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAVES = 16
"""The most leaves that a tree may have: those of a tree fit into the bits of a word."""
TREES = 512
"""The most trees of an ensemble."""
LARGEST_SUM = 256.0
"""What the largest leaves of an ensemble may add up to; predictions are logarithms to base 2."""
DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8
"""The bits of a node's decision: where missing values go, and which values count as missing."""

_NODES = LEAVES - 1
_DECISIONS = (0, 2, 4, 6, 8, 10)
_HEADER = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "objective": "huber"}
_END = "\nend of trees\n"


class TreeError(ValueError):
    """A text that is not an ensemble that can be evaluated; says where and what was expected."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaves are added up; a row of each array is a tree.

    Args:
        text: LightGBM's text that says the same.
        leaves: How many leaves each tree has; it has one node less, of which the first is its root.
        feature: The feature that each node looks at.
        threshold: Values up to it go left.
        decision: `DEFAULT_LEFT`, `MISSING_ZERO` and `MISSING_NAN` of each node.
        left: The node that follows on the left; a leaf is its number's complement.
        right: The same on the right.
        value: What each leaf adds.
    """

    text: str
    leaves: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    decision: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.leaves)


def read(text: str, features: int) -> Ensemble:
    """The trees of LightGBM's text over so many features.

    Raises:
        TreeError: If it is none, or not all of it can be evaluated.
    """
    trees, end, _ = text.partition(_END)
    if not end:
        raise TreeError("LightGBM's text has no line 'end of trees'")
    head, *blocks = trees.split("\nTree=")
    _check_head(head, features, len(blocks))
    found = _empty(text, len(blocks))
    for i, block in enumerate(blocks):
        try:
            _fill(found, i, block, features)
        except TreeError as error:
            raise TreeError(f"tree {i}: {error}") from None
    _check_shape(found)
    largest = float(np.abs(found.value).max(axis=1).sum())
    if largest > LARGEST_SUM:
        raise TreeError(f"leaves add up to {largest:.4g}, expected at most {LARGEST_SUM:g}")
    return found


def _empty(text: str, trees: int) -> Ensemble:
    nodes, leaves = (trees, _NODES), (trees, LEAVES)
    whole = np.int64
    return Ensemble(
        text, np.ones(trees, whole), np.full(nodes, -1, whole), np.zeros(nodes),
        np.zeros(nodes, whole), np.zeros(nodes, whole), np.zeros(nodes, whole), np.zeros(leaves),
    )  # fmt: skip


def _check_head(head: str, features: int, trees: int) -> None:
    lines = head.splitlines()
    if lines[:1] != ["tree"]:
        raise TreeError("not LightGBM's text: its first line is not 'tree'")
    given = _fields(lines)
    for name, wanted in {**_HEADER, "max_feature_idx": str(features - 1)}.items():
        if given.get(name) != wanted:
            raise TreeError(f"{name} is {_said(given.get(name))}, expected {wanted}")
    if "average_output" in lines:
        raise TreeError("its trees are averaged, expected trees that are added up")
    if not 1 <= trees <= TREES:
        raise TreeError(f"{trees} trees, expected 1 to {TREES}")
    if (counted := len(given.get("tree_sizes", "").split())) != trees:
        raise TreeError(f"{trees} trees, but tree_sizes has {counted}")


def _fill(into: Ensemble, i: int, block: str, features: int) -> None:
    """Reads a tree into a row of the arrays."""
    number, *lines = block.splitlines()
    if number != str(i):
        raise TreeError(f"its number is {_said(number)}, expected {i}")
    given = _fields(lines)
    (leaves,) = _whole(given, "num_leaves", 1, 1, LEAVES)
    for name, wanted in (("num_cat", "0"), ("is_linear", "0")):
        if given.get(name, "0") != wanted:
            raise TreeError(f"{name} is {_said(given[name])}, expected {wanted}")
    nodes = leaves - 1
    into.leaves[i] = leaves
    into.value[i, :leaves] = _finite(given, "leaf_value", leaves)
    if not nodes:  # such a tree has no lines of nodes
        return
    into.feature[i, :nodes] = _whole(given, "split_feature", nodes, 0, features - 1)
    into.threshold[i, :nodes] = _finite(given, "threshold", nodes)
    into.left[i, :nodes] = _whole(given, "left_child", nodes, -leaves, nodes - 1)
    into.right[i, :nodes] = _whole(given, "right_child", nodes, -leaves, nodes - 1)
    decisions = _whole(given, "decision_type", nodes, 0, 255)
    if other := set(decisions).difference(_DECISIONS):
        kind = min(other)
        what = "a split of categories" if kind & 1 else "unknown"
        raise TreeError(f"decision_type {kind} is {what}, expected one of {_DECISIONS}")
    into.decision[i, :nodes] = decisions


def _check_shape(found: Ensemble) -> None:
    """Complains unless every node and leaf hangs from one node, and nodes from earlier ones."""
    nodes = (found.leaves - 1)[:, None]
    place = np.arange(_NODES)
    used = place < nodes
    reached = np.zeros((len(found), _NODES + LEAVES), dtype=np.int64)
    for name, child in (("left_child", found.left), ("right_child", found.right)):
        # LightGBM numbers nodes as it splits: so no walk comes back to where it was.
        wrong = used & (child >= 0) & (child <= place)
        if wrong.any():
            i, n = np.argwhere(wrong)[0]
            raise TreeError(
                f"tree {i}: {name} of node {n} is {child[i, n]}, expected a later node or a leaf"
            )
        rows, _ = np.nonzero(used)
        np.add.at(reached, (rows, np.where(child >= 0, child, _NODES + ~child)[used]), 1)
    if (reached > 1).any():
        i, n = np.argwhere(reached > 1)[0]
        what = f"node {n}" if n < _NODES else f"leaf {n - _NODES}"
        raise TreeError(f"tree {i}: {what} is reached {reached[i, n]} times, expected once")


def _fields(lines: Sequence[str]) -> dict[str, str]:
    return {name: value for name, equals, value in (x.partition("=") for x in lines) if equals}


def _whole(given: Mapping[str, str], name: str, count: int, low: int, high: int) -> list[int]:
    found = _numbers(given, name, count, int)
    if any(not low <= v <= high for v in found):
        value = next(v for v in found if not low <= v <= high)
        raise TreeError(f"{name} has {_said(str(value))}, expected {low} to {high}")
    return found


def _finite(given: Mapping[str, str], name: str, count: int) -> list[float]:
    found = _numbers(given, name, count, float)
    if not np.isfinite(found).all():
        raise TreeError(f"{name} has a number that is not finite")
    return found


def _numbers(
    given: Mapping[str, str], name: str, count: int, kind: Callable[[str], Any]
) -> list[Any]:
    if name not in given:
        raise TreeError(f"no line {name}=")
    words = given[name].split()
    if len(words) != count:
        raise TreeError(f"{name} has {len(words)} numbers, expected {count}")
    try:
        return [kind(w) for w in words]
    except ValueError:
        raise TreeError(f"{name} has what is not a number") from None


def _said(word: str | None) -> str:
    return "missing" if word is None else repr(word[:30])

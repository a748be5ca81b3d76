"""What tells configurations apart, in few columns: groups of fields joined, defaults left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels import library
from ckrules.output.columns import Column
from ckrules.output.points.table import cell
from ckrules.support.visible import visible

FEATURES = "features"
NOTHING = "-"
"""What a cell shows that has nothing to say."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What a shortened table of one family's points needs to know.

    Args:
        defaults: The values that the fields of a row have where nothing else is said.
        groups: By field, the group that it is shown in: see `Domain.group`.
    """

    defaults: Callable[[Mapping[str, Any]], Mapping[str, Value]]
    groups: Mapping[str, str]


def brief_of(variant: str) -> Brief:
    """What is known of the fields of a variant's kernels."""
    fields = library.book(variant).fields
    return Brief(
        lambda row: library.defaults(variant, row.get("ndim")),
        {name: domain_of(field).group for name, field in fields.items()},
    )


def short(chunk: Mapping[str, Column], brief: Brief) -> dict[str, list[str]]:
    """The columns as texts, those of a group and of features joined."""
    rows = [dict(zip(chunk, row, strict=True))
            for row in zip(*(c.rows() for c in chunk.values()), strict=True)]  # fmt: skip
    defaults = [brief.defaults(row) for row in rows]
    features = [n for n in chunk if any(n in d for d in defaults)]
    out: dict[str, list[str]] = {}
    for name, column in chunk.items():
        group = brief.groups.get(name)
        if name in features or group in out:
            continue
        if not group:
            out[name] = column.texts(cell)
            continue
        parts = [chunk[n].texts(cell) for n in chunk if brief.groups.get(n) == group]
        out[group] = ["x".join(sizes) for sizes in zip(*parts, strict=True)]
    if features:
        own = ({n: row[n] for n in features} for row in rows)
        out[FEATURES] = [_features(v, d) for v, d in zip(own, defaults, strict=True)]
    return out


def _features(values: Mapping[str, Any], defaults: Mapping[str, Value]) -> str:
    """The fields that are not at their default.

    >>> _features({"two_stage": True, "pad_m": False, "streamk": "off"},
    ...           {"two_stage": False, "pad_m": True, "streamk": "off"})
    'two_stage no-pad_m'
    """
    words = []
    for name, value in values.items():
        if name in defaults and value == defaults[name]:
            continue
        if isinstance(value, bool):
            words.append(name if value else f"no-{name}")
        else:
            words.append(visible(f"{name}={value}"))
    return " ".join(words) or NOTHING

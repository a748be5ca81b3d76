"""Models of times as tables of C++: what ``ckrules_model.hpp`` predicts with.

A family's kernels can have models there if all numbers that its trees look at are computed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.compiling import speeds
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.learned import TimeModel
from ckrules.ranking.ranker import Ranker
from ckrules.support.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.parts import Point
    from ckrules.ranking.trees import Ensemble

_HEADER = Path(__file__).parent / "data" / "ckrules_model.hpp"
#: What no problem changes of a kernel, of the numbers that trees look at.
FIXED = (
    *("resident", "tile_reuse", "tile_aspect", "tile_k", "tile", "waves", "of_wave", "warp_tile"),
    *("rate", "lds", "vgprs", "vector", "interwave", "default_epilogue"),
    *("compv3", "compv4", "compv5"),
)


@cache
def enumerators() -> tuple[str, ...]:
    """The numbers that C++ computes, in its order."""
    _, _, rest = _HEADER.read_text(encoding="utf-8").partition("enum ckrules_number\n{")
    words = (word.strip() for word in rest.partition("}")[0].split(","))
    return tuple(word for word in words if word.startswith("OF_"))


def enumerator(name: str) -> str:
    """What C++ calls a number.

    >>> enumerator("share of L2")
    'OF_SHARE_OF_L2'
    """
    return f"OF_{name.replace(' ', '_').upper()}"


@dataclass
class Models:
    """The models of a library's kernels: definitions, and for each kernel the name of its own.

    Args:
        model: The model; None for the package's own where there is one, False for none.
    """

    model: TimeModel | bool | None = None
    texts: list[str] = field(default_factory=list)
    """Definitions of C++, each once."""
    speaks: int = 0
    """Of so many kernels a model speaks."""
    silent: dict[str, int] = field(default_factory=dict)
    """Why the model that was given does not speak of others, and of how many."""
    _known: dict[int, str | None] = field(default_factory=dict)
    _parts: set[str] = field(default_factory=set)

    def name(self, place: int, kernel: ManifestEntry) -> str:
        """The address of what a model says of a kernel; ``nullptr`` where none speaks of it."""
        variant = str(kernel.config["variant"])
        if self.model is False:
            return "nullptr"
        usual = family_of(variant).defaults(variant, kernel.config.get("ndim"))
        point = {**usual, **kernel.config, "arch": kernel.arch}
        try:
            table = KernelTable.of_points([point], Books(kernel.ck))
            model = Ranker(self.model).model_of(table)
        except CkrulesError as error:
            # nothing is known of the speeds of such kernels, or the model given is of others
            return self._silent(str(error))
        if model is None:
            return "nullptr"
        if (told := self._told(model, table)) is None:
            return self._silent("the model looks at numbers that C++ does not compute")
        text = f"&{told}, {int(model.measured(table)[0])}, {self._speaking(told, model, table)}"
        text += f", {{{_fixed(table)}}}"
        self.texts.append(f"static const ckrules_learned learned_{place} = {{{text}}};")
        self.speaks += 1
        return f"&learned_{place}"

    def _silent(self, why: str) -> str:
        if isinstance(self.model, TimeModel):
            self.silent[why] = self.silent.get(why, 0) + 1
        return "nullptr"

    def _speaking(self, told: str, model: TimeModel, table: KernelTable) -> str:
        """The ensembles that speak of a kernel, and how many they are."""
        for name, which in model.speaking(table).items():
            if which[0]:
                part, ensembles = f"{told}_{name}", getattr(model, name)
                if part not in self._parts:
                    self._parts.add(part)
                    self.texts += _trees(part, ensembles)
                return f"{part}, {len(ensembles)}"
        return "nullptr, 0"

    def _told(self, model: TimeModel, table: KernelTable) -> str | None:
        """The name of a model's definition, which is made when it is first needed."""
        if id(model) not in self._known:
            name = f"model_{len(self._known)}"
            lines = _model(name, model, table)
            self.texts += lines or []
            self._known[id(model)] = name if lines else None
        return self._known[id(model)]


def _fixed(table: KernelTable) -> str:
    """A kernel's numbers that no problem changes, in their places; NaN in the others."""
    values = {name: column.used() for name, column in table.columns.items()}
    known = table.estimate(table.timing.usual({"ndim": (2,), **values})[0]).features
    found = {enumerator(n): float(known[n][0]) for n in FIXED}
    return ", ".join(_number(found.get(each, nan)) for each in enumerators())


def _model(name: str, model: TimeModel, table: KernelTable) -> list[str] | None:
    """The definitions of a model; None where C++ cannot compute what it looks at."""
    order = [enumerator(n) for n in (*model.features, *model.situation)]
    variant = str(model.card["about"]["variant"])
    reference = [_reference(p, variant, table) for p in model.kernels[: model.reference]]
    if not all(reference) or not set(order) <= set(enumerators()):
        return None
    definition = ", ".join(
        [
            f"{name}_reference", str(len(reference)), f"{name}_numbers",
            str(len(model.features)), str(len(model.situation)),
            f"{name}_level", str(len(model.level)),
        ]
    )  # fmt: skip
    return [
        *_trees(f"{name}_level", model.level),
        _array("ckrules_reference", f"{name}_reference", [str(r) for r in reference]),
        _array("ckrules_number", f"{name}_numbers", order),
        f"static const ckrules_model {name} = {{{definition}}};",
    ]


def _reference(point: Point, variant: str, table: KernelTable) -> str | None:
    columns = KernelTable.of_points([point], table.books, table.product.name).columns
    row = speeds.numbers(table.timing, columns, table.gpu, table.product)
    part = family_of(variant).library
    return f"{{{row}, {float(part.kernel(point).merged)!r}}}" if row and part else None


def _trees(name: str, ensembles: Sequence[Ensemble]) -> list[str]:
    lines = []
    for i, e in enumerate(ensembles):
        nodes = [
            f"{{{_number(e.threshold[t, n])}, {e.feature[t, n]}, {e.decision[t, n]}, "
            f"{e.left[t, n]}, {e.right[t, n]}}}"
            for t, leaves in enumerate(e.leaves)
            for n in range(leaves - 1)
        ]
        leaves = [_number(v) for t, count in enumerate(e.leaves) for v in e.value[t, :count]]
        lines += [
            # One more, since an array of C++ has at least one element.
            _array("ckrules_node", f"{name}_{i}_nodes", [*nodes, "{0.0, 0, 0, -1, -1}"]),
            _array("double", f"{name}_{i}_leaves", leaves),
            _array("unsigned char", f"{name}_{i}_sizes", [str(n) for n in e.leaves]),
        ]
    rows = [
        f"{{{name}_{i}_nodes, {name}_{i}_leaves, {name}_{i}_sizes, {len(e)}}}"
        for i, e in enumerate(ensembles)
    ]
    return [*lines, _array("ckrules_trees", name, rows)]


def _array(kind: str, name: str, values: Sequence[str]) -> str:
    rows = ",\n".join(values)
    return f"static const {kind} {name}[] = {{\n{rows}}};"


def _number(value: float | np.floating[Any]) -> str:
    return repr(float(value)) if isfinite(value) else "NAN"

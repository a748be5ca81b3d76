"""Models of times, learned from measurements on top of estimates.

A model has two parts. One says how a kernel's time compares with that of the model's reference
kernels on the same problem, which is all that a ranking needs; the other how long the reference
kernels take. Both read numbers without units (`ckrules.kernels.timing.Estimate`), so that they
carry to tiles and problems that were not measured. Each part is several gradient-boosted
ensembles (LightGBM), trained on different problems; their spread is the uncertainty.

A file of a model is gzipped JSON: a card, the reference kernels, and LightGBM's own text.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.ranking.kernels import KernelTable
from ckrules.support import opening
from ckrules.support.errors import UsageError
from ckrules.support.files import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate

    Floats = NDArray[np.float64]

FORMAT = 1
_LARGEST = 1 << 27
_ROWS_A_THREAD = 256
#: The feature that this module adds: the estimate against that of the reference kernels.
AGAINST = "against reference"


class NoLightGBMError(UsageError):
    """LightGBM is not installed, so that no model can be read or trained."""

    def __init__(self) -> None:
        super().__init__("models of times need LightGBM: pip install 'ckrules[rank]'")


def lightgbm() -> Any:
    """The package LightGBM.

    Raises:
        NoLightGBMError: If it is not installed.
    """
    try:
        import lightgbm as found
    except ImportError:
        raise NoLightGBMError from None
    return found


@dataclass(frozen=True)
class Prediction:
    """Predicted microseconds of each kernel, with the range that two of three fall into."""

    microseconds: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class TimeModel:
    """A model of the times of one variant and dtype on one GPU.

    Args:
        card: What it was trained on and how good it is, for people and for `covers`.
        reference: The kernels that times are compared with.
        features: Names of the numbers of a kernel and problem, in order; those of the problem
            alone come last.
        situation: Names of the numbers of the problem alone.
        relative: LightGBM's text of each ensemble for kernels.
        level: The same for the reference kernels' time.
    """

    card: Mapping[str, Any]
    reference: Sequence[Point]
    features: Sequence[str]
    situation: Sequence[str]
    relative: Sequence[str]
    level: Sequence[str]
    _tables: dict[tuple[str, str], KernelTable] = field(default_factory=dict, compare=False)

    def why_not(self, table: KernelTable) -> str | None:
        """Why it says nothing of these kernels; None: it does."""
        about = self.card["about"]
        for name, have in (
            ("arch", [table.gpu.name]),
            ("variant", table.columns["variant"].used()),
            ("dtype", table.columns["dtype"].used()),
        ):
            if other := [v for v in have if v != about[name]]:
                return f"it was trained on {name} = {about[name]}, not {', '.join(map(str, other))}"
        return None

    def measured(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels are like those measured: their pipeline was, and tiles of such sizes."""
        return self._like(table, self.card["about"]["values"])

    def carries(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels are like those measured but for the pipeline.

        What was learned of tiles and problems holds for another pipeline, too, better than the
        estimate alone (docs/ranking.md has the figures of pipelines that were left out).
        """
        values = self.card["about"]["values"]
        return self._like(table, {n: v for n, v in values.items() if n != "pipeline"})

    def _like(self, table: KernelTable, values: Mapping[str, Any]) -> NDArray[np.bool_]:
        inside = np.ones(len(table), dtype=np.bool_)
        for name, known in values.items():
            column = table.columns[name]
            inside &= np.asarray([v in known for v in column.values])[column.codes]
        for name, (low, high) in self.card["about"]["ranges"].items():
            column = table.columns[name]
            inside &= np.asarray([low <= v <= high for v in column.values])[column.codes]
        return inside

    def predict(self, table: KernelTable, problem: Any, estimate: Estimate) -> Prediction:
        """The times of kernels on a problem.

        Kernels unlike any measured have their estimate, set against the reference kernels'; those
        of another pipeline what was learned of the rest, and the range of an estimate.
        """
        base = self.base(table, problem)
        inside = self.carries(table)
        outside = ~self.measured(table)
        relative = np.log2(estimate.microseconds) - base
        spread = np.zeros(len(table))
        if inside.any():
            x = matrix(estimate, base, self.features, self.situation)[inside]
            threads = _threads(len(x))
            parts = np.stack([b.predict(x, num_threads=threads) for b in self._relative])
            relative[inside], spread[inside] = parts.mean(axis=0), parts.std(axis=0)
        s = np.asarray([[estimate.situation[n] for n in self.situation]])
        levels = np.asarray([b.predict(s, num_threads=1)[0] for b in self._level])
        level = base + levels.mean()
        errors = self.card["errors"]
        error = np.where(outside, errors["outside"], np.hypot(spread, errors["relative"]))
        error = np.hypot(error, errors["level"])
        middle = level + relative
        return Prediction(2.0**middle, 2.0 ** (middle - error), 2.0 ** (middle + error))

    def base(self, table: KernelTable, problem: Any) -> float:
        """The estimate of the reference kernels: the mean of its logarithms to base 2."""
        key = (table.gpu.name, table.product.name)
        if key not in self._tables:
            self._tables[key] = KernelTable.of_points(
                self.reference, table.books, table.product.name
            )
        estimate = self._tables[key].estimate(problem)
        return float(np.log2(estimate.microseconds).mean())

    @cached_property
    def _relative(self) -> list[Any]:
        return [lightgbm().Booster(model_str=text) for text in self.relative]

    @cached_property
    def _level(self) -> list[Any]:
        return [lightgbm().Booster(model_str=text) for text in self.level]

    def save(self, path: Path) -> None:
        """Writes the model; the same model gives the same bytes."""
        content = {
            "format": FORMAT,
            "card": self.card,
            "reference": [dict(p) for p in self.reference],
            "features": list(self.features),
            "situation": list(self.situation),
            "relative": list(self.relative),
            "level": list(self.level),
        }
        text = json.dumps(content, indent=0, sort_keys=True).encode()
        replace(path, gzip.compress(text, 9, mtime=0))


def _threads(rows: int) -> int:
    """Threads to predict so many rows with; few rows are done before a second one has started.

    The numbers are the same however many threads there are.
    """
    if rows < _ROWS_A_THREAD:
        return 1
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return max(1, min(free, rows // _ROWS_A_THREAD))


def matrix(
    estimate: Estimate, base: float, features: Sequence[str], situation: Sequence[str]
) -> Floats:
    """The numbers that `TimeModel.relative` reads: a row for each kernel."""
    against = np.log2(estimate.microseconds) - base
    columns = [against if n == AGAINST else estimate.features[n] for n in features]
    columns += [np.full(len(against), estimate.situation[n]) for n in situation]
    return np.stack(columns, axis=1)


def load(path: Path | str) -> TimeModel:
    """The model of a file.

    Raises:
        UsageError: If it is none, or of another version of this program.
    """
    try:
        raw = opening.read(path, _LARGEST)
        content = json.loads(gzip.decompress(raw))
        if content["format"] != FORMAT:
            raise UsageError(f"{path}: a model of format {content['format']}, expected {FORMAT}")
        keys = ("card", "reference", "features", "situation", "relative", "level")
        return TimeModel(*(content[k] for k in keys))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        what = getattr(error, "strerror", None) or "not a model that `ckrules train` wrote"
        raise UsageError(f"{path}: {what}") from None

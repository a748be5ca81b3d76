"""Trees evaluated by numpy: what LightGBM says, also of values that are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.kernels.books import Books
from ckrules.ranking.forest import ZERO, Forest, goes_right
from ckrules.ranking.learned import matrix
from ckrules.ranking.measurements import read
from ckrules.ranking.model_file import load
from ckrules.ranking.training import Samples
from ckrules.ranking.trees import read as trees
from tests.ranking.contents import MODEL, content

pytestmark = pytest.mark.whole

DATA = Path(__file__).parents[1] / "data" / "measured.csv"
GOLDEN = Path(__file__).parents[1] / "golden" / "model_predictions.json"
ODD = (np.nan, 0.0, -0.0, 1e-35, -1e-35, 1e-36, np.inf, -np.inf, 1e300, 5e-324)


def measured() -> Any:
    """The numbers of measured kernels on measured problems."""
    books = Books("2026.06")
    samples = Samples.of(read(DATA, books), books)
    model = load(MODEL)
    return np.vstack([
        matrix(e, model.base(t, m.problem), model.features, model.situation)
        for m, t, e in zip(samples.measured, samples.tables, samples.estimates, strict=True)
    ])  # fmt: skip


def drawn(columns: int, rows: int = 400) -> Any:
    """Random numbers, some of which are odd, and thresholds' neighbours."""
    rng = np.random.default_rng(3)
    found = rng.normal(0, 4, (rows, columns))
    found = np.where(rng.random(found.shape) < 0.3, np.round(found), found)
    return np.where(rng.random(found.shape) < 0.1, rng.choice(ODD, found.shape), found)


def on_thresholds(text: str, columns: int) -> Any:
    """Rows of just the thresholds, and of what is next to them."""
    e = trees(text, columns)
    rng = np.random.default_rng(5)
    found = np.zeros((300, columns))
    for f in range(columns):
        at = e.threshold[e.feature == f]
        if len(at):
            near = np.nextafter(at, np.inf)
            found[:, f] = rng.choice(np.concatenate([at, near]), 300)
    return found


def test_the_packages_model_is_evaluated_as_lightgbm_does() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = content()
    situation = len(model["situation"])
    columns = len(model["features"]) + situation
    rows = measured()
    for part, width in (("relative", columns), ("carried", columns), ("level", situation)):
        for text in model[part]:
            booster, forest = lightgbm.Booster(model_str=text), Forest(trees(text, width))
            for x in (
                rows[:, -width:],
                drawn(width),
                on_thresholds(text, width),
                rows[:1, -width:],
            ):
                wanted = booster.predict(x, num_threads=1)
                assert np.allclose(forest.predict(x), wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("use_missing", [False, True])
def test_missing_values_go_where_lightgbm_sends_them(
    use_missing: bool, zero_as_missing: bool
) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(11)
    x = drawn(6, 3000)
    x[np.abs(x) > 1e20] = 3.0
    y = np.nansum(x[:, :3], axis=1) + np.isnan(x[:, 1]) * 5 + (x[:, 2] == 0) * 3 + rng.random(3000)
    settings = {
        "objective": "huber", "num_leaves": 15, "verbosity": -1, "num_threads": 1,
        "use_missing": use_missing, "zero_as_missing": zero_as_missing,
    }  # fmt: skip
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y), 40)
    text = booster.model_to_string()
    kinds = {int(v) & 12 for v in trees(text, 6).decision.ravel()}
    assert (4 in kinds) == (use_missing and zero_as_missing)
    assert (8 in kinds) == (use_missing and not zero_as_missing)
    for asked in (drawn(6), on_thresholds(text, 6)):
        wanted = booster.predict(asked, num_threads=1)
        assert np.allclose(Forest(trees(text, 6)).predict(asked), wanted, rtol=1e-12, atol=1e-15)


def test_trees_of_one_leaf() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    x = np.ones((30, 2))
    booster = lightgbm.train(
        {"objective": "huber", "verbosity": -1}, lightgbm.Dataset(x, x[:, 0] * 3), 3
    )
    forest = Forest(trees(booster.model_to_string(), 2))
    assert np.array_equal(forest.predict(x), booster.predict(x))


def test_predictions_are_those_that_were_written_down() -> None:
    """Where LightGBM is missing, too: what it said is in a file."""
    kept = json.loads(GOLDEN.read_text())
    rows = np.asarray([[np.nan if v is None else v for v in row] for row in kept["rows"]])
    model = content()
    for part in ("relative", "carried", "level"):
        width = len(model["situation"]) if part == "level" else rows.shape[1]
        for text, wanted in zip(model[part], kept[part], strict=True):
            found = Forest(trees(text, width)).predict(rows[:, -width:])
            assert np.allclose(found, wanted, rtol=1e-12, atol=0)


def test_a_row_is_predicted_as_it_is_among_others() -> None:
    text = content()["relative"][0]
    forest, rows = Forest(trees(text, 52)), drawn(52, 5000)
    found = forest.predict(rows)
    assert np.array_equal(forest.predict(rows[4500:4501]), found[4500:4501])
    assert forest.predict(rows[:0]).shape == (0,)


def test_the_rule_of_a_node() -> None:
    """LightGBM's NumericalDecision, value by value."""
    at, near = np.asarray([1.0]), np.asarray([ZERO, -ZERO, 2 * ZERO])
    for decision, wanted in ((0, [False] * 3), (4, [True, True, False]), (6, [False] * 3)):
        assert goes_right(near, at, np.asarray([decision])).tolist() == wanted
    nan = np.asarray([np.nan])
    below = np.asarray([-1.0])
    for decision, right in ((0, True), (2, True), (4, True), (6, False), (8, True), (10, False)):
        assert goes_right(nan, below, np.asarray([decision])).tolist() == [right]


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("lightgbm", "scipy", "sklearn"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
from ckrules.cli import main
code = main(sys.argv[1:])
assert not {"lightgbm", "sklearn"} & {m.split(".")[0] for m in sys.modules}
sys.exit(code)
"""


def _without(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False
    )


def test_the_packages_model_speaks_without_lightgbm(tmp_path: Path) -> None:
    kernels = ("--variant", "forward", "--arch", "gfx950", "--dtype", "bf16", "--ck", "2026.06")
    problem = ("--problem", "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1")
    for command in (
        ("rank", *problem, *kernels, "--catalog", "default", "-n", "2"),
        ("rank", *problem, *kernels, "--catalog", "default", "-n", "2", "--model", str(MODEL)),
        ("search", *problem, *kernels, "-n", "2", "--kernels", "2000", "--where",
         "pipeline == 'compv3' & tile_m == 64 & tile_n == 64"),
    ):  # fmt: skip
        done = _without(*command)
        assert done.returncode == 0, done.stderr
        assert "learned from measurements" in done.stderr
    done = _without("evaluate", "--measurements", str(DATA))
    assert done.returncode == 0, done.stderr
    assert "the package's model" in done.stderr
    done = _without("train", "--measurements", str(DATA), "-o", str(tmp_path / "m.gz"))
    assert done.returncode == 2
    assert "training models of times needs LightGBM" in done.stderr.replace("\n", " ")

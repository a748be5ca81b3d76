"""What a model was trained on: its card knows of any part of it, and figures say so."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.ranking.fingerprints import ROWS, hashes
from ckrules.ranking.learned import TimeModel
from ckrules.ranking.measurements import read
from ckrules.ranking.model_file import load, save
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.remembered import remembered
from ckrules.ranking.training import Samples, train
from tests.cli.run import run
from tests.ranking.contents import MODEL

DATA = Path(__file__).parents[1] / "data" / "measured.csv"
BOOKS = Books("2026.06")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return Samples.of(read(DATA, BOOKS), BOOKS)


@pytest.fixture(scope="module")
def half(samples: Samples) -> tuple[TimeModel, set[str]]:
    """A model of every other problem."""
    pytest.importorskip("lightgbm")
    kept = {m.label for i, m in enumerate(samples.measured) if i % 2 or i == 4}
    return train(samples.only(lambda m: m.label in kept), BOOKS, members=1), kept


def test_a_model_knows_its_problems(
    samples: Samples, half: tuple[TimeModel, set[str]], tmp_path: Path
) -> None:
    model, labels = half
    assert len(hashes(model.card[ROWS])) > 100
    found = remembered(samples, Ranker(model))
    assert (found.problems, found.trained_on) == (18, len(labels))
    for asked in (samples.measured[:1], samples.measured[1:4], samples.measured[::-1]):
        part = samples.only(lambda m, asked=asked: any(m is a for a in asked))  # type: ignore[misc]
        wanted = sum(m.label in labels for m in asked)
        assert remembered(part, Ranker(model)).trained_on == wanted
    save(model, tmp_path / "m.gz")
    assert remembered(samples, Ranker(load(tmp_path / "m.gz"))) == found
    assert "ckrules evaluate --folds 5" in found.said()


def test_other_times_are_new(samples: Samples, half: tuple[TimeModel, set[str]]) -> None:
    model, _ = half
    longer = [replace(m, microseconds=[t * 1.01 for t in m.microseconds]) for m in samples.measured]
    found = remembered(replace(samples, measured=longer), Ranker(model))
    assert (found.trained_on, found.said()) == (0, "")
    assert remembered(samples, Ranker(False)).trained_on == 0


def test_kernels_that_were_left_out_are_new(samples: Samples) -> None:
    pytest.importorskip("lightgbm")
    model = train(samples, BOOKS, members=1, left_out=lambda p: p["tile_m"] == 128)
    kept = [i for i, p in enumerate(samples.measured[0].points) if p["tile_m"] == 128]
    (first,) = samples.only(lambda m: m is samples.measured[0]).measured
    rest = replace(
        first,
        points=[first.points[i] for i in kept],
        microseconds=[first.microseconds[i] for i in kept],
    )
    assert remembered(Samples.of([rest], BOOKS), Ranker(model)).trained_on == 0
    assert remembered(Samples.of([first], BOOKS), Ranker(model)).trained_on == 1


def test_a_card_without_rows_says_nothing(samples: Samples) -> None:
    model = load(MODEL)
    older = replace(model, card={k: v for k, v in model.card.items() if k != ROWS})
    found = remembered(samples, Ranker(older))
    assert found.trained_on is None
    assert "its card does not say" in found.said()


def test_the_books_of_another_release_make_no_difference() -> None:
    books = Books("2025.11")
    samples = Samples.of(read(DATA, books), books)
    assert remembered(samples, Ranker(load(MODEL))).trained_on == 18


def test_evaluate_and_plot_say_it(tmp_path: Path) -> None:
    said = "of 18 problems the model was trained on 18; on others picks have a mean of 99.12 %"
    found = run("evaluate", "--measurements", str(DATA))
    assert said in found.stdout
    assert "10th percentile of 97.1 % (cross-validation, 5 folds)" in found.stdout
    as_json = json.loads(run("evaluate", "--measurements", str(DATA), "--format", "json").stdout)
    assert as_json["trained_on"] == as_json["problems"] == 18
    assert as_json["cross_validated"]["folds"] == 5
    plain = run("evaluate", "--measurements", str(DATA), "--model", "none")
    assert "trained" not in plain.stdout

    rows = list(csv.DictReader(DATA.open()))
    for row in rows:
        row["latency_us"] = str(float(row["latency_us"]) * 1.5)
    other = tmp_path / "other.csv"
    with other.open("w") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    assert "trained" not in run("evaluate", "--measurements", str(other)).stdout

    pytest.importorskip("matplotlib")
    for kind in ("predicted", "efficiency", "roofline"):
        picture = tmp_path / f"{kind}.svg"
        found = run("plot", kind, "--measurements", str(DATA), "-o", str(picture))
        assert said in found.stderr.replace("\n", " ")
        assert "the model was trained on 18" in picture.read_text()
    found = run("plot", "predicted", "--measurements", str(other), "-o", str(tmp_path / "o.svg"))
    assert "trained" not in found.stderr

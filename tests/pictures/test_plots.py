"""`ckrules plot`: pictures of measurements."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ckrules.kernels.books import Books
from ckrules.pictures import measured as plots
from ckrules.ranking.measurements import read
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.remembered import Remembered
from ckrules.ranking.training import Samples
from tests.cli.run import run

pytestmark = pytest.mark.whole

DATA = Path(__file__).parents[1] / "data" / "measured.csv"
WORDS = ("--measurements", str(DATA), "--ck", "2026.06", "--model", "none")


@pytest.fixture(scope="module")
def samples() -> Samples:
    books = Books("2026.06")
    return Samples.of(read(DATA, books), books)


def test_what_pictures_show(samples: Samples) -> None:
    ranker = Ranker(False)
    against = plots.predicted(samples, ranker)
    assert list(against.groups) == ["compv3", "compv4", "compv5"]
    assert sum(len(x) for x, _ in against.groups.values()) == sum(
        len(m.points) for m in samples.measured
    )
    assert sorted(us for x, _ in against.groups.values() for us in x) == sorted(
        us for m in samples.measured for us in m.microseconds
    )
    ((sizes, values),) = plots.efficiency(samples, ranker).groups.values()
    assert len(sizes) == len(values) == len(samples)
    assert np.mean(values) == pytest.approx(samples.estimated().mean)


def test_one_time_is_one(samples: Samples) -> None:
    first = samples.only(lambda m: m is samples.measured[0])
    m = first.measured[0]
    one = replace(m, points=m.points[:1], microseconds=m.microseconds[:1])
    alone = Samples.of([one], Books("2026.06"))
    assert plots.predicted(alone, Ranker(False)).title.startswith("1 time, half of them")
    said = Remembered(1, 1, None).said()
    assert said.startswith("of 1 problem the model was trained on 1; ")


def test_no_kernel_is_above_the_roof(samples: Samples) -> None:
    found = plots.roofline(samples, Ranker(False))
    ((roof_x, roof_y),) = found.lines.values()
    product = samples.tables[0].product
    assert roof_y[0] == pytest.approx(roof_x[0] * product.memory_gbs / 1e3)
    assert f"{roof_y[-1]:,.0f} TFLOPS" in found.title
    best, picked = found.groups.values()
    assert (best[1] >= picked[1]).all()
    assert (best[1] <= np.interp(best[0], roof_x, roof_y)).all()
    m = samples.measured[0]
    moved = 2 * (
        m.problem.batch * m.problem.in_channels * np.prod(m.problem.input)
        + m.problem.out_channels * m.problem.in_channels * np.prod(m.problem.filter)
        + m.problem.batch * m.problem.out_channels * np.prod(m.problem.output)
    )
    assert best[0][0] == pytest.approx(m.problem.flops / moved)


@pytest.mark.parametrize("kind", list(plots.KINDS))
@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_files(kind: str, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"{n}.{suffix}" for n in "ab"]
    for file in files:
        done = run("plot", kind, *WORDS, "-o", str(file))
        assert (done.exit_code, done.stdout) == (0, ""), done.stderr
        assert done.stderr.startswith(f"{file}: ")
    data = files[0].read_bytes()
    assert data == files[1].read_bytes()
    check_form(data, suffix)


def check_form(data: bytes, suffix: str) -> None:
    """The file is what its name says, and needs nothing from elsewhere."""
    if suffix == "png":
        assert data.startswith(b"\x89PNG\r\n")
    else:
        text = data.decode()
        assert ("<!DOCTYPE html>" in text) == (suffix == "html")
        picture = text[text.index("<svg") : text.index("</svg>") + 6]
        assert ET.fromstring(picture).tag.endswith("svg")
        assert "src=" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("predictd", *WORDS, "-o", "x.png"), "did you mean"),
        (("predicted", *WORDS, "-o", "x.pngg"), "did you mean .png?"),
        (("predicted", *WORDS, "-o", "x"), "give it a suffix (.png, .svg, .html)"),
        (("predicted", *WORDS), "--output"),
        (("predicted", "--measurements", "none.csv", "-o", "x.png"), "none.csv: No such file"),
        (("predicted", *WORDS, "-o", "nowhere/x.png"), "nowhere/x.png: cannot write"),
    ],
)
def test_what_cannot_be_drawn(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run("plot", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and the file that was there stays."""
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    file = tmp_path / "x.svg"
    file.write_text("before")
    done = run("plot", "roofline", *WORDS, "-o", str(file))
    assert (done.exit_code, done.stderr) == (
        2, "error: pictures need matplotlib: pip install 'ckrules[plot]'\n"
    )  # fmt: skip
    assert file.read_text() == "before"


def test_no_measurements(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("N,C,K,Hi,Wi,Y,X,kernel,latency_us\n")
    done = run("plot", "predicted", "--measurements", str(file), "-o", str(tmp_path / "x.png"))
    assert (done.exit_code, "no measurements" in done.stderr) == (2, True)
    assert not (tmp_path / "x.png").exists()

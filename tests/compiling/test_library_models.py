"""Models of one's own in the dispatcher library: trained, given to a build, and equal to Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.compiling import library
from ckrules.compiling.folder import manifests
from ckrules.compiling.models import Models
from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from ckrules.ranking.learned import TimeModel
from ckrules.ranking.measurements import MeasuredProblem
from ckrules.ranking.model_file import load, save
from ckrules.ranking.training import Samples, train
from ckrules.runtime import Source
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.compiling.test_library_choice import SOURCES, Both, drawn
from tests.helpers.toolchain import require_toolchain
from tests.runtime import doubles

pytestmark = pytest.mark.whole

BOOKS = Books("2025.11")
MANY = [f"M={m},N={n},K={k}" for m in (48, 512, 4096) for n in (64, 1536) for k in (256, 2048)]


def trained(points: list[dict[str, Any]], texts: list[str]) -> TimeModel:
    """A model of times that nobody measured: the estimates, and what follows from the tile."""
    parse = problems_of(points[0]["variant"]).parse
    asked = [MeasuredProblem(t, parse(t), points, [1.0] * len(points)) for t in texts]
    made = []
    for each, estimate in zip(asked, Samples.of(asked, BOOKS).estimates, strict=True):
        more = [1 + np.log2(p["tile_m"] / p["tile_k"]) ** 2 / 40 for p in points]
        made.append(MeasuredProblem(each.label, each.problem, points, estimate.microseconds * more))
    return train(Samples.of(made, BOOKS), BOOKS, members=2)


def equal(both: Both, texts: list[str]) -> set[Source]:
    """The sources of times of each kernel on each problem, which are those of Python."""
    seen, parse = set(), problems_of(both.variant).parse
    chooser = both.python._chooser
    for problem in map(parse, texts):
        for kernel in both.python._kernels:
            status, c = both.select(problem, kernel.name)
            assert (status == 0) == bool(kernel.takes(problem)), both.why()
            if status == 0:
                (time,) = chooser._predicted([kernel], problem, BOOKS.ck)
                assert c.source == SOURCES[time.source]
                assert c.microseconds == pytest.approx(time.microseconds, rel=1e-9)
                seen.add(time.source)
    return seen


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("variant", "fields", "texts"),
    [
        ("standard", {"dtype": "fp16_i4"}, [*MANY, "M=640,N=128,K=1000,k_batch=4"]),
        pytest.param(
            *("multi_d", {"dtype": "bf16", "num_d": 2, "elementwise_op": "add"}, MANY),
            marks=pytest.mark.certify,
        ),
        ("grouped", {"dtype": "fp16"}, [*MANY, "M=640+16,N=1280+64,K=1024"]),
    ],
)
def test_models_of_products(
    tmp_path: Path, variant: str, fields: dict[str, Any], texts: list[str]
) -> None:
    """`make test` asks of products with splits and of groups, `make certify` of more outputs."""
    require_toolchain()
    layout = "rcrr" if variant == "multi_d" else "rcr"
    points = drawn(variant, "gfx942", 18, layout=layout, dtype_c="fp16", **fields)
    few = {p["pipeline"] for p in points[:9]}
    save(trained([p for p in points if p["pipeline"] in few][:9], MANY), tmp_path / "m.gz")
    both = Both(tmp_path / "built", variant, points, model=load(tmp_path / "m.gz"))
    assert equal(both, texts) == {Source.MODEL, Source.ESTIMATE}
    found = [both.agree(problems_of(variant).parse(text)) for text in texts]
    assert Source.MODEL in found
    if variant == "standard":  # padded problems are predicted by the model, too
        for text in ("M=33,N=57,K=1000", "M=33,N=56,K=1001"):
            both.agree(problems_of(variant).parse(text))


def test_a_model_of_other_kernels(tmp_path: Path) -> None:
    """The library says of which kernels it does not speak, and refuses one that speaks of none."""
    points = drawn("standard", "gfx942", 9, layout="rcr", dtype="fp16", dtype_c="fp16")
    model = trained(points, MANY)
    other = {**points[0], "dtype": "bf16", "dtype_c": "bf16"}
    rows, _ = library.chosen(manifests(doubles.folder(tmp_path, a=points[0], b=other)))
    models = Models(model)
    text = dict(library.headers(rows, (), models))["ckrules_listed.cpp"]
    assert text.count("static const ckrules_learned ") == models.speaks == 1
    (note,) = library._of_model(models)
    assert note.startswith("1 kernel without it: the model does not speak of these kernels: it was")
    (tmp_path / "none").mkdir()
    doubles.folder(tmp_path / "none", b=other)
    with pytest.raises(UsageError, match=r"the model speaks of no kernel: .* dtype = fp16"):
        library.build(tmp_path / "none", model=model)


def test_what_the_command_says_of_models(tmp_path: Path) -> None:
    doubles.folder(tmp_path, a=doubles.GEMM)
    (tmp_path / "m.gz").write_bytes(b"nothing")
    done = run("build", str(tmp_path), "--model", str(tmp_path / "m.gz"))
    assert (done.exit_code, done.stderr) == (
        2, "error: --model is for the library: --library makes one\n")  # fmt: skip
    done = run("build", str(tmp_path), "--library", "--model", str(tmp_path / "m.gz"))
    assert done.exit_code == 2
    assert "not a model that `ckrules train` wrote: not packed by gzip" in done.stderr

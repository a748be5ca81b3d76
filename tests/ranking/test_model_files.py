"""Files of models as strangers may write them: one line says where and what, or they are right."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ckrules.kernels.books import Books
from ckrules.ranking.learned import AGAINST, RANGES, VALUES
from ckrules.ranking.measurements import read
from ckrules.ranking.model_file import UNPACKED, load, save
from ckrules.ranking.training import Samples
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.fuzz.conftest import PROFILE
from tests.ranking.contents import MODEL, content, packed

pytestmark = pytest.mark.whole

DATA = Path(__file__).parents[1] / "data" / "measured.csv"
BOOKS = Books("2026.06")
ASKED = (
    "rank", "--problem", "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1", "--variant", "forward",
    "--arch", "gfx950", "--dtype", "bf16", "--catalog", "default", "-n", "1",
)  # fmt: skip


def tree(name: str, value: str | Callable[[list[str]], list[str]], part: str = "relative") -> Any:
    """A change of a line of the first tree of the first ensemble."""

    def change(model: dict[str, Any]) -> None:
        text = model[part][0]
        start = text.index(f"\n{name}=", text.index("\nTree=0")) + len(name) + 2
        end = text.index("\n", start)
        line = value if isinstance(value, str) else " ".join(value(text[start:end].split()))
        model[part][0] = text[:start] + line + text[end:]

    return change


def put(*path: Any, value: Any) -> Any:
    """A change of one value of the content."""

    def change(model: dict[str, Any]) -> None:
        at: Any = model
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


def gone(*path: Any) -> Any:
    def change(model: dict[str, Any]) -> None:
        at: Any = model
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]

    return change


def first(value: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [value, *words[1:]]


#: What is changed, and what is said of it.
HOSTILE: dict[str, tuple[Any, str]] = {
    "child far out of range": (
        tree("left_child", first("9999")), "relative[0]: tree 0: left_child has '9999', expected"),
    "child out of range": (
        tree("right_child", first("14")), "right_child has '14', expected -15 to 13"),
    "leaf out of range": (tree("left_child", first("-16")), "left_child has '-16'"),
    "a walk in a circle": (
        tree("left_child", first("0")), "left_child of node 0 is 0, expected a later node"),
    "a leaf that is reached twice": (
        tree("right_child", lambda w: [*w[:-1], "-1"]), "leaf 0 is reached 2 times"),
    "a child that is not a number": (tree("left_child", first("x")), "what is not a number"),
    "a child of many digits": (tree("left_child", first("9" * 5000)), "what is not a number"),
    "unknown feature": (tree("split_feature", first("52")), "'52', expected 0 to 51"),
    "negative feature": (tree("split_feature", first("-1")), "split_feature has '-1'"),
    "fewer leaves than none": (tree("num_leaves", "-1"), "num_leaves has '-1', expected 1 to 16"),
    "more leaves": (tree("num_leaves", "16"), "leaf_value has 15 numbers, expected 16"),
    "very many leaves": (tree("num_leaves", "2000000000"), "expected 1 to 16"),
    "categories": (tree("decision_type", first("1")), "decision_type 1 is a split of categories"),
    "unknown decision": (tree("decision_type", first("14")), "decision_type 14 is unknown"),
    "threshold nan": (tree("threshold", first("nan")), "threshold has a number that is not finite"),
    "threshold inf": (tree("threshold", first("inf")), "threshold has a number that is not"),
    "leaf inf": (tree("leaf_value", first("1e999")), "leaf_value has a number that is not finite"),
    "leaf far off": (tree("leaf_value", first("1e300")), "leaves add up to 1e+300"),
    "categories counted": (tree("num_cat", "1"), "num_cat is '1', expected 0"),
    "linear trees": (tree("is_linear", "1"), "is_linear is '1', expected 0"),
    "no text": (put("relative", 0, value=""), "relative[0]: LightGBM's text has no line"),
    "other text": (put("relative", 0, value="tree\nxyz"), "has no line 'end of trees'"),
    "a number for a text": (put("level", 0, value=7), "level[0] is 7, expected a text"),
    "no trees": (put("relative", value=[]), "relative is a list of 0, expected a list of 1 to 16"),
    "many ensembles": (put("level", value=["x"] * 17), "level is a list of 17"),
    "card a list": (put("card", value=[1]), "card is a list of 1, expected an object"),
    "no card": (gone("card"), "card is missing"),
    "no about": (gone("card", "about"), "card.about is missing"),
    "no errors": (gone("card", "errors"), "card.errors is missing"),
    "unknown variant": (put("card", "about", "variant", value="sideways"), "sideways"),
    "problems": (put("card", "about", "problems", value=-1), "card.about.problems is -1"),
    "another feature": (put("features", 3, value="nonsense"), "features has 'nonsense'"),
    "a feature twice": (put("features", 3, value=AGAINST), f"features has '{AGAINST}' twice"),
    "one feature fewer": (gone("features", 3), "max_feature_idx is '51', expected 50"),
    "kernels": (put("kernels", value=[{"a": 1}]), "kernels[0].arch is missing"),
    "no kernels": (put("kernels", value=[]), "kernels is a list of 0"),
    "a kernel of words": (put("kernels", 2, "tile_m", value="x"), "kernels[2]: tile_m"),
    "a kernel with a tile of 0": (put("kernels", 2, "tile_m", value=0), "kernels[2]: tile_m"),
    "no reference": (put("reference", value=0), "reference is 0, expected 1 to 30"),
    "more than all": (put("reference", value=31), "reference is 31, expected 1 to 30"),
    "a reference of words": (put("reference", value="x"), "reference is 'x', expected a whole"),
    "errors nan": (put("card", "errors", "level", value=float("nan")), "NaN, which is not a"),
    "errors far off": (
        put("card", "errors", "level", value=1e308), "card.errors.level is 1e+308, expected a"),
    "errors below 0": (put("card", "errors", "outside", value=-1.0), "card.errors.outside is -1.0"),
    "errors 0": (put("card", "errors", "relative", value=0), "card.errors.relative is 0, expected"),
    "no errors of others": (gone("card", "errors", "carried"), "card.errors.carried is missing"),
    "nothing for other kernels": (gone("carried"), "carried is missing"),
    "errors of words": (put("card", "errors", "level", value="x"), "card.errors.level is 'x'"),
    "figures": (put("card", "figures", "mean", value=200), "card.figures.mean is 200"),
    "rows of words": (put("card", "rows", value="x!"), "rows is not a fingerprint: not base64"),
    "half a row": (put("card", "rows", value="AAAA"), "a fingerprint: not 8 bytes for each row"),
    "rows a number": (put("card", "rows", value=3), "card.rows is 3, expected a text"),
    "a version of it": (put("format", value=1), "format is 1, expected 3"),
    "unknown release": (put("card", "ck", value="1999.01"), "1999.01"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_models_that_nobody_trained(tmp_path: Path, name: str) -> None:
    change, said = HOSTILE[name]
    model = content()
    change(model)
    file = tmp_path / "m.gz"
    file.write_bytes(packed(model))
    with pytest.raises(UsageError) as caught:
        load(file)
    text = str(caught.value)
    assert said in text
    assert text.startswith(f"{file}: not a model that `ckrules train` wrote: ")
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "JSON at line 1, column 1"),
        (b"not gzip", "not packed by gzip"),
        (b"\x1f\x8b\x08\x00broken", "not packed by gzip"),
        (gzip.compress(b"x" * 1000)[:-9], "not packed by gzip"),
        (gzip.compress(b"x" * 100)[:20] + b"zzzzzzzzzz", "not packed by gzip"),
        (gzip.compress(b"{"), "JSON at line 1, column 2"),
        (gzip.compress(b"\xff\xfe\xfd"), "not text in UTF-8"),
        (gzip.compress(b"[]"), "it is a list of 0, expected an object"),
        (gzip.compress(b"[" * 200_000), "nested too deep"),
        (gzip.compress(b'{"a":' * 200_000), "nested too deep"),
        (gzip.compress(b'{"format": ' + b"1" * 5000 + b"}"), "a number that is too long"),
        (gzip.compress(b"{}"), "format is missing, expected 3"),
    ],
    ids=range(12),  # gzip writes the time of day into its bytes
)
def test_files_that_are_no_models(tmp_path: Path, raw: bytes, said: str) -> None:
    file = tmp_path / "m.gz"
    file.write_bytes(raw)
    with pytest.raises(UsageError, match=re.escape(said)):
        load(file)


def test_what_is_unpacked_has_a_limit(tmp_path: Path) -> None:
    """A file that unpacks to gigabytes is refused soon, in little memory."""
    file = tmp_path / "m.gz"
    packer = zlib.compressobj(1, wbits=31)
    part = b" " * (1 << 20)
    file.write_bytes(b"".join(packer.compress(part) for _ in range(1500)) + packer.flush())
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({1 << 30},) * 2)\n"
    code = f"{limit}from ckrules.ranking.model_file import load\nload({str(file)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"more than {UNPACKED >> 20} MB when it is unpacked" in done.stderr.splitlines()[-1]


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "m.gz"
    for name in ("child far out of range", "fewer leaves than none", "card a list", "errors nan"):
        model = content()
        HOSTILE[name][0](model)
        file.write_bytes(packed(model))
        found = run(*ASKED, "--model", str(file))
        assert found.exit_code == 2
        assert "not a model that `ckrules train` wrote" in found.stderr.replace("\n", " ")
    file.write_bytes(MODEL.read_bytes())
    assert run(*ASKED, "--model", str(file)).exit_code == 0


def test_the_names_are_those_of_estimates() -> None:
    """What models may ask for is what the families' estimates have, in their order."""
    from ckrules.kernels.families import problems_of
    from ckrules.kernels.library import book
    from ckrules.kernels.timing import Timing
    from ckrules.ranking.kernels import KernelTable, timing

    for variant, arch, text in (
        ("forward", "gfx950", "N=2,C=8,K=8,H=9,W=9,Y=1,X=1"),
        ("standard", "gfx942", "M=64,N=64,K=64"),
        ("rowcol_quant", "gfx942", "M=64,N=128,K=128"),
    ):
        import ckrules

        known: Timing = timing(variant)
        space = ckrules.kernel_space(variant, arch, ck="2026.06")
        point = {**next(iter(space.sample(1, seed=1))), "arch": arch}
        table = KernelTable.of_points([point], BOOKS)
        estimate = table.estimate(problems_of(variant).parse(text))
        rare = "share of vector units"
        wanted = [n for n in known.features if n != rare]
        assert [n for n in estimate.features if n != rare] == wanted
        assert list(estimate.situation) == list(known.situation)
        assert set(book(variant).fields) | set(known.quantities) >= set(RANGES)
        assert "pipeline" in VALUES


# -- whatever is changed, the rest holds ---------------------------------------------------------

SPOTS = st.integers(0, 2**31)
WORDS = st.sampled_from(
    ["-1", "0", "1", "14", "15", "-15", "-16", "1e300", "nan", "inf", "", "x", "2147483648", "1_0"]
)
OTHERS = st.sampled_from([None, True, -1, 0, 1e308, "", "x", [], {}, [1], {"a": 1}, "pipeline"])


def test_where_a_model_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "none" / "m.gz"
    with pytest.raises(UsageError, match=r"none/m\.gz: cannot write: No such file or directory"):
        save(load(MODEL), file)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values below."""
    if isinstance(value, dict):
        inner = [p for k, v in value.items() for p in _leaves(v, (*path, k))]
    elif isinstance(value, list):
        inner = [p for k, v in enumerate(value) for p in _leaves(v, (*path, k))]
    else:
        inner = []
    return [path, *inner] if path else inner


@pytest.fixture(scope="module")
def samples() -> Samples:
    """Measurements for models to be asked about."""
    return Samples.of(read(DATA, BOOKS), BOOKS)


@PROFILE
@given(
    st.one_of(
        st.tuples(st.just("value"), SPOTS, OTHERS),
        st.tuples(st.just("gone"), SPOTS, st.none()),
        st.tuples(st.just("word"), SPOTS, WORDS),
        st.tuples(st.just("byte"), SPOTS, st.integers(0, 255)),
    )
)
@example(("word", 0, "-1"))
def test_a_changed_model_is_refused_or_predicts(
    tmp_path_factory: pytest.TempPathFactory, samples: Samples, change: tuple[str, int, Any]
) -> None:
    kind, spot, other = change
    model = content()
    if kind in ("value", "gone"):
        paths = _leaves(model)
        path = paths[spot % len(paths)]
        (put(*path, value=other) if kind == "value" else gone(*path))(model)
    else:
        part = ("relative", "carried", "level")[spot % 3]
        text = model[part][spot % 5]
        at = spot % text.index("end of trees")
        if kind == "word":
            at, end = text.rfind(" ", 0, at) + 1, text.find(" ", at)
            model[part][spot % 5] = text[:at] + other + text[end:]
        else:
            model[part][spot % 5] = text[:at] + chr(other) + text[at + 1 :]
    file = tmp_path_factory.getbasetemp() / "changed.gz"
    file.write_bytes(packed(model))
    try:
        found = load(file)
    except UsageError:
        return
    for t, m, e in list(zip(samples.tables, samples.measured, samples.estimates, strict=True))[:2]:
        p = found.predict(t, m.problem, e)
        assert (p.low > 0).all()
        assert (p.low <= p.microseconds).all()
        assert (p.microseconds <= p.high).all()
        assert np.isfinite(p.high).all()

"""Files of every kind, mutated: each ends in a report or in one line of error, never otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.arch.loader import read_gpu
from ckrules.checking.baseline import Baseline
from ckrules.checking.checker import Checker
from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.edits import edited
from ckrules.checking.settings import KEYS, SettingsResolver
from ckrules.readers import formats
from ckrules.support.errors import CkrulesError
from tests.cli.run import ILLEGAL, legal
from tests.fuzz.conftest import PROFILE
from tests.readers.test_formats import DATA, FILES

pytestmark = pytest.mark.whole

VALID = {name: (DATA / name).read_bytes() for name in FILES}
PARTS = (
    b"", b"\x00", b"\xff", b'"', b"'", b"{", b"}", b"[", b"]", b"(", b")", b",", b":", b"=",
    b"\n", b"\r\n",
    b"#",
    b"\\", b"\\ud800", b"1e999", b"NaN", b"-1", b"9" * 30, b"9" * 5000,
    b"[" * 400, b"{" * 400,
    b"<", b">",
    b"\xef\xbb\xbf", "\u2028".encode(), b"null", b"true", b"0x",
    b'"name"', b'"config"', b'"kernels"',
    b"# ckrules: ignore[TILE001] x", ILLEGAL.encode(),
)  # fmt: skip
GPU = (Path(__file__).parents[1] / "arch" / "data" / "minimal.toml").read_bytes()
SETTINGS = b"""arch = "gfx942"
select = ["ALL"]
ignore = ["CFG001", "TILE"]
include = ["*.json", "!a.json"]
baseline = "b.json"
tile-reading = "gmn"
required-version = ">=0.1"
[per-file-ignores]
"a.json#/kernels/3" = ["TILE001"]
[severity]
CFG001 = "error"
"""
BASELINE = json.dumps(
    {"version": 1, "entries": [
        {"file": "a.json", "configuration": "x on gfx942", "code": "TILE001", "count": 2},
        {"file": "b.json", "configuration": "", "code": "CFG001", "count": 1},
    ]}
).encode()  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, valid: bytes) -> bytes:
    """The bytes with some parts cut out, doubled, moved or written over."""
    data = valid
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from((0, 0, 1, 2, 7, 40, 1000))))
        new = draw(st.sampled_from(PARTS) | st.binary(max_size=4) | st.just(data[start:end] * 2))
        data = data[:start] + new + data[end:]
    return data


def looked_at(d: Diagnostic) -> dict[str, Any]:
    """Everything that a diagnostic says."""
    return {**d.to_dict(), "related": [str(at) for at, _ in d.related], "help": d.help}


def checked(path: Path, data: bytes, form: str | None, folder: Path | None = None) -> None:
    """Reads and judges the bytes, looks at all that is said, and makes the safe repairs."""
    path.write_bytes(data)
    resolver = SettingsResolver({"arch": "gfx942"}, isolated=folder is None)
    checker = Checker(resolver, input_format=form)
    for verdict in checker.verdicts([str(path)]):
        assert verdict.problems() or verdict.readable or verdict.diagnostics is not None
        for d in (*verdict.diagnostics, *verdict.problems()):
            assert looked_at(d)["code"]
            assert d.place.source
    for _, edits in checker.edits([str(path)]):
        assert edited(data, edits)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.mark.parametrize("name", VALID)
def test_mutated_samples(name: str, folder: Path) -> None:
    @PROFILE
    @given(data=mutated(VALID[name]), form=st.sampled_from((None, FILES[name])))
    def check(data: bytes, form: str | None) -> None:
        checked(folder / Path(name).name, data, form)

    check()
    assert (folder / Path(name).name).exists()


FIELDS = [*legal(), "layout", "pad_m", "streamk", "name", "config", "kernels", "instances", "id",
          "signature", "algorithm",
          "warp_m", "wave", "vector_sizes", "tile_mm", "ü", ""]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 300) | st.floats() | st.integers()
    | st.sampled_from(["forward", "fp16", "compv1", "gfx942", "nhwgc", "2x2x1"])
    | st.just(ILLEGAL)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.parametrize("form", ["json", "jsonl", "dispatcher", "registry", None])
def test_documents_of_known_words(form: str | None, folder: Path) -> None:
    changes = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)

    @PROFILE
    @given(entries=st.lists(changes, min_size=1, max_size=3), around=changes)
    def check(entries: list[dict[str, Any]], around: dict[str, Any]) -> None:
        made = [{**legal(), **e} for e in entries]
        if form == "registry":
            made = [{"signature": e, "algorithm": e, **e} for e in made]
        text = json.dumps({**around, "kernels": made})
        if form == "jsonl":
            text = "\n".join(json.dumps(e) for e in made)
        checked(folder / "words", text.encode(), form)

    check()
    assert (folder / "words").exists()


@PROFILE
@given(data=mutated(SETTINGS))
def test_settings(folder: Path, data: bytes) -> None:
    path = folder / "ckrules.toml"
    path.write_bytes(data)
    said = "fine"
    try:
        found = SettingsResolver({}, config=path, environment={}).of(folder)
        assert set(found.values) == set(KEYS)
        assert list(found.lines())
        Checker(SettingsResolver({}, config=path, environment={})).context(Path("."))
    except CkrulesError as error:
        said = str(error)
    assert said


@PROFILE
@given(data=mutated(BASELINE))
def test_baselines(folder: Path, data: bytes) -> None:
    path = folder / "base.json"
    path.write_bytes(data)
    said = str(path)
    try:
        found = Baseline.load(path)
        path.write_text(found.written(), encoding="utf-8")
        assert Baseline.load(path).entries == found.entries
    except CkrulesError as error:
        said = str(error)
    assert said.startswith(str(path))


@PROFILE
@given(data=mutated(GPU))
def test_gpu_files(data: bytes) -> None:
    said = "gpu.toml"
    try:
        assert read_gpu("gpu.toml", data).name
    except CkrulesError as error:
        said = str(error)
    assert "gpu.toml" in said


def test_every_format_has_a_sample() -> None:
    assert set(FILES.values()) == set(formats())

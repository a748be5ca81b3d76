"""The schemas take what ``check`` reads, and refuse fields and values that it refuses."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator as Validator

from ckrules.checking.json_schemas import WHAT, settings, spaces
from ckrules.checking.json_schemas import configurations as of_configurations
from ckrules.kernels.books import Books
from ckrules.readers.space_file import read_space
from ckrules.support.errors import UsageError
from tests.cli.run import legal, run, write
from tests.readers.test_space_forms import CACHE, T1

OWN = {
    "variables": [{"name": "m", "values": [16, 32]}, {"name": "mode", "values": ["a", "b"]}],
    "constraints": ["m > 16 or mode == 'a'"],
}
DATA = Path(__file__).parent.parent / "data" / "formats"


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("ck", ["2025.11", "2026.06"])
def test_they_are_schemas(what: str, ck: str) -> None:
    schema = json.loads(run("schema", what, "--ck", ck).stdout)
    Validator.check_schema(schema)
    assert schema["$schema"].startswith("https://json-schema.org/")


@pytest.fixture(scope="module")
def configurations() -> Validator:
    return Validator(of_configurations(Books()))


@pytest.mark.parametrize("name", ["own.json", "own.toml", "own.jsonl"])
def test_files_that_check_reads(name: str, configurations: Validator) -> None:
    text = (DATA / name).read_text()
    if name.endswith("toml"):
        documents = [tomllib.loads(text)]
    else:
        lines = text.splitlines() if name.endswith("jsonl") else [text]
        documents = [json.loads(x) for x in lines if x.strip()]
    assert documents
    for document in documents:
        assert list(configurations.iter_errors(document)) == []


@pytest.mark.parametrize("variant", ["forward", "bwd_weight"])
def test_every_value_of_a_sample(variant: str, configurations: Validator) -> None:
    result = run("sample", "--variant", variant, "-n", "50", "--seed", "3", "--format", "jsonl")
    for line in result.stdout.splitlines():
        assert list(configurations.iter_errors(json.loads(line))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"tile_x": 3},
        {"pipeline": "compv33"},
        {"tile_m": 0},
        {"tile_m": "64"},
        {"pad_m": 1},
        {"variant": "sideways"},
    ],
)
def test_what_both_refuse(change: dict[str, Any], configurations: Validator) -> None:
    config = legal() | change
    assert list(configurations.iter_errors(config))
    assert "error: " in run("check", json.dumps(config)).stderr


def test_settings() -> None:
    schema = Validator(settings())
    right = {"arch": "gfx942", "ignore": ["OP004"], "severity": {"VEC001": "note"}}
    assert list(schema.iter_errors(right)) == []
    for wrong in ({"archs": "gfx942"}, {"ignore": "OP004"}, {"severity": {"VEC001": "loud"}}):
        assert list(schema.iter_errors(wrong))


SPACES = Validator(spaces())


def _described(folder: Path, value: Any) -> bool:
    """Whether `ckrules count` reads a file."""
    try:
        read_space(write(folder, "space.json", value))
    except UsageError:
        return False
    return True


@pytest.mark.parametrize(
    "path", sorted((DATA.parent / "spaces").glob("*.json")), ids=lambda p: p.stem
)
def test_files_of_tuners(path: Path) -> None:
    assert list(SPACES.iter_errors(json.loads(path.read_text()))) == []


@pytest.mark.parametrize("value", [T1, CACHE, {"a": [1], "b": ["x", "y"]}, OWN])
def test_forms_of_spaces(value: Any, tmp_path: Path) -> None:
    """Both take them, and both refuse each with a list or object taken for another thing."""
    assert _described(tmp_path, value)
    assert SPACES.is_valid(value)
    for broken in _broken(value):
        assert not _described(tmp_path, broken)
        assert not SPACES.is_valid(broken), broken


def _broken(value: Any) -> Iterator[Any]:
    """The value with each part of a known form replaced by a number."""
    known = {
        *("variables", "constraints", "values", "name", "ConfigurationSpace", "Values", "Name"),
        *("TuningParameters", "Conditions", "Expression", "tune_params", "cache", "a", "b"),
    }
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in known:
                yield {**value, key: 7}
            yield from ({**value, key: b} for b in _broken(inner))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from ([*value[:i], b, *value[i + 1 :]] for b in _broken(inner))


@pytest.mark.parametrize(
    "value",
    [
        *([], {}, 3, {"variables": []}, {"a": [None]}, {"a": [[1]]}, {"constraints": []}),
        {"variables": [], "constraints": []},
        {"ConfigurationSpace": {"TuningParameters": []}},
        {"tune_params": {}},
    ],
)
def test_what_describes_no_space(value: Any, tmp_path: Path) -> None:
    assert not _described(tmp_path, value)
    assert not SPACES.is_valid(value)

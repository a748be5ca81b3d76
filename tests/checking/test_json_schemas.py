"""The schemas take what ``check`` reads, and refuse fields and values that it refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator as Validator

from ckrules.checking.json_schemas import SCHEMAS
from ckrules.kernels.books import Books
from tests.cli.run import legal, run

DATA = Path(__file__).parent.parent / "data" / "formats"


@pytest.mark.parametrize("what", SCHEMAS)
@pytest.mark.parametrize("ck", ["2025.11", "2026.06"])
def test_they_are_schemas(what: str, ck: str) -> None:
    schema = json.loads(run("schema", what, "--ck", ck).stdout)
    Validator.check_schema(schema)
    assert schema["$schema"].startswith("https://json-schema.org/")


@pytest.fixture(scope="module")
def configurations() -> Validator:
    return Validator(SCHEMAS["configurations"](Books()))


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
    schema = Validator(SCHEMAS["settings"](Books()))
    right = {"arch": "gfx942", "ignore": ["OP004"], "severity": {"VEC001": "note"}}
    assert list(schema.iter_errors(right)) == []
    for wrong in ({"archs": "gfx942"}, {"ignore": "OP004"}, {"severity": {"VEC001": "loud"}}):
        assert list(schema.iter_errors(wrong))

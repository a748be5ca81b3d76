"""Spaces as tuners write them: T1, Kernel Tuner's parameters and caches, plain dictionaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.engine.expr.variables import variable
from ckrules.readers.space_file import read_space
from ckrules.readers.value_list import value_list
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.json_values import places
from tests.cli.run import write

T1: dict[str, Any] = {
    "General": {"BenchmarkName": "gemm"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "MWG", "Type": "int", "Values": "[16, 32, 64]", "Default": 16},
            {"Name": "MDIM", "Type": "int", "Values": "[2**i for i in range(3, 6)]"},
            {"Name": "STRIDE", "Type": "int", "Values": "list(range(0, 2))"},
            {"Name": "MODE", "Type": "string", "Values": "['fast', 'small']"},
            {"Name": "SCALE", "Type": "float", "Values": [0.5, 1.0]},
        ],
        "Conditions": [
            {"Expression": "MWG % MDIM == 0 and MWG >= MDIM", "Parameters": ["MWG", "MDIM"]},
            {"Expression": "MODE == 'fast' or STRIDE == 0", "Parameters": ["MODE", "STRIDE"]},
        ],
    },
}
CACHE: dict[str, Any] = {
    "device_name": "gfx942",
    "kernel_name": "vector_add",
    "problem_size": 1024,
    "tune_params_keys": ["block_size_x", "unroll"],
    "tune_params": {"block_size_x": [32, 64, 128], "unroll": [1, 2]},
    "objective": "time",
    "cache": {
        "32,1": {"block_size_x": 32, "unroll": 1, "time": 0.5},
        "64,1": {"block_size_x": 64, "unroll": 1, "time": 0.25},
        "64,2": {"block_size_x": 64, "unroll": 2, "time": "CompilationFailedConfig"},
        "128,2": {"block_size_x": 128, "unroll": 2, "time": 0.125},
    },
}
MEASURED = [(32, 1), (64, 1), (128, 2)]


def test_t1(tmp_path: Path) -> None:
    space = read_space(write(tmp_path, "t1.json", T1))
    expected = [
        (m, d, s, mode, scale)
        for m in (16, 32, 64)
        for d in (8, 16, 32)
        for s in (0, 1)
        for mode in ("fast", "small")
        for scale in (0.5, 1.0)
        if m % d == 0 and m >= d and (mode == "fast" or s == 0)
    ]
    assert sorted(space.to_tuples()) == sorted(expected)
    broken = space.violations({"MWG": 16, "MDIM": 32, "STRIDE": 0, "MODE": "fast", "SCALE": 0.5})
    assert [v.rule.name for v in broken] == ["MWG % MDIM == 0 and MWG >= MDIM"]
    assert broken[0].rule.sources[0].startswith(f"{tmp_path}/t1.json:")


def test_a_cache_is_the_configurations_that_were_measured(tmp_path: Path) -> None:
    path = write(tmp_path, "cache.json", CACHE)
    assert sorted(read_space(path).to_tuples()) == MEASURED
    assert read_space(path).domains["block_size_x"] == (32, 64, 128)
    text = json.dumps(CACHE, indent=0)
    for cut in (text.rstrip("}\n"), text.rstrip("}\n") + "}", text.rstrip("}\n") + "},\n"):
        stopped = write(tmp_path, "open.json", cut + ("" if cut.endswith((",\n", "}")) else "}"))
        assert sorted(read_space(stopped).to_tuples()) == MEASURED


def test_parameters_with_and_without_restrictions(tmp_path: Path) -> None:
    plain = {"a": [1, 2, 4], "b": [1, 2]}
    assert read_space(write(tmp_path, "a.json", plain)).count() == 6
    both = {"tune_params": plain, "restrictions": ["a * b <= 4"]}
    assert read_space(write(tmp_path, "b.json", both)).count() == 5
    assert read_space(write(tmp_path, "c.json", {"tune_params": plain})).count() == 6


def _t1(**changes: Any) -> dict[str, Any]:
    inner = {**T1["ConfigurationSpace"], **changes}
    return {"ConfigurationSpace": {k: v for k, v in inner.items() if v is not None}}


ONE = {"Name": "M", "Type": "int", "Values": "[1, 2]"}


@pytest.mark.parametrize(
    ("content", "place", "said"),
    [
        (_t1(TuningParameters=None), "2:", "no list 'TuningParameters'"),
        (_t1(TuningParameters=[ONE, 3], Conditions=[]), "9:", "a tuning parameter is an object"),
        (_t1(TuningParameters=[{**ONE, "Values": "open('x')"}]), "7:", "is not a list of values"),
        (_t1(TuningParameters=[{**ONE, "Values": "9"}]), "7:", "is not a list of values"),
        (_t1(TuningParameters=[{"Values": "[1]"}]), "4:", "a variable needs a name"),
        (_t1(TuningParameters=[ONE], Conditions=[{"Expression": "N > 1"}]), "12:", "unknown"),
        (_t1(TuningParameters=[ONE], Conditions=[{"Expression": 7}]), "12:", "is not a string"),
        ({"tune_params": {"a": [1]}, "restrictions": ["a > 0", "a >"]}, "9:", "not an expression"),
        ({"tune_params": {"a": [1], "b": 3}}, "6:", "variable b has no list of values"),
        ({"tune_params": {"a": [1]}, "cache": {"2": {"a": 2, "time": 1}}}, "9:", "a = 2 is not"),
        ({"tune_params": {"a": [1]}, "cache": {"2": {"time": 1}}}, "8:", "has no a"),
        ({"a": [1, None]}, "2:", "values are numbers, words or Booleans"),
        (
            {"variables": [{"name": "a", "values": [1]}], "constraints": ["a > 0", "b"]},
            "12:",
            "unknown",
        ),
        ([1, 2], "1:1", "expected an object"),
        ('{"a": [1], "a": [2]}', "1:17", "duplicate key 'a'"),
        ('{"tune_params": {"a": [1], "a": [2]}}', "1:33", "duplicate key 'a'"),
        ('{"a": [1, 2}', "1:12", "not JSON"),
        (
            {"variables": [{"name": "a", "values": [1]}], "constraints": ["a not in a"]},
            "11:", "a list of values is needed after `in`",
        ),
        ('{"variables": [], "constraints": []}', "1:1", "the space has no variables"),
    ],
)  # fmt: skip
def test_faults_have_their_place(tmp_path: Path, content: Any, place: str, said: str) -> None:
    path = write(tmp_path, "a.json", content)
    with pytest.raises(UsageError) as caught:
        read_space(path)
    assert str(caught.value).startswith(f"{path}:{place}")
    assert said in str(caught.value)


def test_long_numbers_are_exact(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", {"a": [0.5, 12345678901234567890], "b": [2**40 - 1]})
    assert read_space(path).domains == {"a": (0.5, 12345678901234567890), "b": (2**40 - 1,)}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[1, 2.5, -3]", [1, 2.5, -3]),
        ("range(1, 4)", [1, 2, 3]),
        ("list(range(8, 0, -4))", [8, 4]),
        ("[32*i for i in range(1, 4)]", [32, 64, 96]),
        ("[2**x for x in list(range(3))]", [1, 2, 4]),
        ("('a', \"b\")", ["a", "b"]),
        ("[True, False]", [True, False]),
    ],
)
def test_lists_in_text(text: str, values: list[Any]) -> None:
    assert value_list(text) == values == list(eval(text))


@pytest.mark.parametrize(
    "text",
    ["9", "x", "__import__('os')", "[i for i in range(10**9)]", "[9**9**9]", "[1]*9", "[", "f'{1}'",
     "[x.y for x in [1]]", "list(range(0, 9, 0))", "[1//0]", "(lambda: [1])()", "[-'a']"],
)  # fmt: skip
def test_texts_that_are_no_lists(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a list of values|more than 100,000 values"):
        value_list(text)


@pytest.mark.parametrize(
    "text",
    [
        "[[[1 for k in range(9999)] for j in range(9999)] for i in range(9999)]",
        "[[j for j in range(99999)] for i in range(30)]",
        "[list(range(99999)) for i in range(30)]",
        "[[[[] for k in range(99)] for j in range(99)] for i in range(9999)]",
    ],
)
def test_the_work_for_a_list_is_bounded(text: str) -> None:
    """Comprehensions within comprehensions share the steps of their text."""
    with pytest.raises(UsageError, match="takes more than 1,000,000 steps"):
        value_list(text)


def test_the_longest_lists_are_read() -> None:
    assert value_list("[2 * i + 1 for i in range(100000)]") == list(range(1, 200_001, 2))


def test_a_value_listed_twice_is_found_in_one_pass() -> None:
    values = [i % 99_999 for i in range(100_000)]
    with pytest.raises(CkrulesError, match="lists 0 twice"):
        variable("a", values)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1]))
def test_every_value_has_its_place(value: Any, indent: int | None) -> None:
    raw = json.dumps(value, indent=indent)
    found = places(raw)

    def check(inner: Any, path: tuple[Any, ...]) -> int:
        assert json.JSONDecoder().raw_decode(raw, found[path])[0] == inner
        below = inner.items() if isinstance(inner, dict) else ()
        below = enumerate(inner) if isinstance(inner, list) else below
        return 1 + sum(check(v, (*path, k)) for k, v in below)

    assert check(value, ()) == len(found)

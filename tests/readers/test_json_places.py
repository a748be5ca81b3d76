"""Places of keys and values in JSON: those of the object itself, never of one inside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.readers.json_text import Item, items, key_places
from ckrules.readers.source import LocatedText, SourceError
from tests.cli.run import legal, run, write

WORDS = ["a", "b", 'q"', "\\", "ü", "kernels", "}", "a:", ""]
plain = st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS)
nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(WORDS), nested, max_size=5)


@given(value=objects, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_every_key_is_found_with_its_value(
    value: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    raw = "[7, " + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + ' , {"a": 0}]'
    found = key_places(raw, 4)
    assert list(found) == list(value)
    for key, (spot,) in found.items():
        assert json.loads(raw[spot.key : spot.key_end]) == key
        assert json.loads(raw[spot.value : spot.end]) == value[key]


@given(raw=st.text(alphabet='{}[]",:1 a\\\n', max_size=40))
def test_text_that_is_no_json_ends_the_search(raw: str) -> None:
    for spots in key_places("{" + raw, 0).values():
        for spot in spots:
            assert 0 < spot.key < spot.key_end <= spot.value < spot.end <= len(raw) + 1


def dispatcher(**changes: Any) -> dict[str, Any]:
    """An instance of the dispatcher whose comment has a key of the instance's own."""
    kernel = legal(arch=None, num_wave_groups=2)
    spelt = {k.replace("wave_", "warp_") if k in ("wave_m", "wave_n", "wave_k") else k: v
             for k, v in kernel.items()}  # fmt: skip
    return {"comment": {"num_wave_groups": 2}, **spelt, **changes}


def test_a_repair_changes_the_value_and_not_one_of_that_name_inside(tmp_path: Path) -> None:
    document = {"arch": "gfx942", "instances": [dispatcher()]}
    path = write(tmp_path, "a.json", document)
    result = run("check", "--isolated", "--fix", path)
    assert result.exit_code == 0, result.output
    (after,) = json.loads(Path(path).read_text())["instances"]
    assert after["comment"] == {"num_wave_groups": 2}
    assert after["num_wave_groups"] == 1


def test_findings_stand_at_the_value_and_not_at_one_of_that_name_inside(tmp_path: Path) -> None:
    document = {"arch": "gfx942", "instances": [dispatcher()]}
    path = write(tmp_path, "a.json", document)
    found = json.loads(run("check", "--isolated", "--format", "jsonl", path).stdout)
    line = Path(path).read_text().splitlines()[found["line"] - 1]
    assert (found["code"], line.index('"num_wave_groups"')) == ("WAVE003", 3)


def read(text: str) -> list[Item]:
    return list(items(LocatedText(text)))


@pytest.mark.parametrize(
    "rest", ['"arch": 1, "tags": ["a"]', '"tags": [], "arch": 1', '"tags": {"kernels": []}']
)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_around_a_list_holds_wherever_it_stands(rest: str, first: bool) -> None:
    kernels = '"kernels": [1, {"a": "]}"}]'
    text = f"{{{rest}, {kernels}}}" if first else f"{{{kernels}, {rest}}}"
    found = read(text)
    assert [i.value for i in found] == [1, {"a": "]}"}]
    assert [i.pointer for i in found] == ["/kernels/0", "/kernels/1"]
    assert found[0].around.values == json.loads(f"{{{rest}}}")
    for key, (spot,) in found[0].around.spots.items():
        assert json.loads(text[spot.key : spot.key_end]) == key
        assert json.loads(text[spot.value : spot.end]) == found[0].around.values[key]


def test_the_elements_before_a_fault_are_read_with_what_is_around_them() -> None:
    text = '{"kernels": [1, 2, x], "arch": 7, "tags": ["a"]}'
    reading = items(LocatedText(text))
    first = next(reading), next(reading)
    assert [(i.value, i.around.values) for i in first] == [
        (n, {"arch": 7, "tags": ["a"]}) for n in (1, 2)
    ]
    with pytest.raises(SourceError, match="expected value") as error:
        next(reading)
    assert (error.value.line, error.value.column) == (1, text.index("x") + 1)


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ('{"a": 1, "a": 2, "kernels": []}', "duplicate key 'a'", 10),
        ('{"kernels": [], "instances": []}', "a second list 'instances'", 17),
        ('{"kernels": [] "a": 1}', "expected ',' or '}'", 16),
        ('{"kernels": [1, 2', "the text ends too early", 18),
        ('{"kernels": [1, 2]', "the text ends too early", 19),
        ('{"a": x, "kernels": []}', "expected value", 7),
        ('{"kernels": [x]}', "expected value", 14),
    ],
)
def test_a_fault_is_placed(text: str, said: str, at: int) -> None:
    with pytest.raises(SourceError, match=said) as error:
        read(text)
    assert (error.value.line, error.value.column) == (1, at)


def test_a_faulty_object_around_a_list_is_one_line_and_other_files_are_checked(
    tmp_path: Path,
) -> None:
    kernel = json.dumps(legal(dtype=None, tile_m=None))
    text = f'{{"dtype": "fp16", "tile_m": 96, "kernels": [{kernel}, x]}}'
    paths = [write(tmp_path, "a.json", text), write(tmp_path, "b.json", legal(tile_m=96))]
    result = run("check", "--isolated", *paths)
    assert result.exit_code == 2
    codes = [line.partition(": ")[0] for line in result.stdout.splitlines()]
    assert codes[0].startswith(f"{paths[0]}:1:")
    assert codes[-1].startswith(f"{paths[1]}:")
    assert f"{paths[0]}:1:{text.index(', x') + 3}: error: not JSON" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        '{"variant": 1, "config": {}, "config": {"a": 1, "b": 2}}',
        '{"config": {"b": 1, "b": 2}}',
        '{"signature": {"b": 1, "b": 2}, "algorithm": {}}',
    ],
)
def test_a_key_that_stands_twice_is_an_error_everywhere(tmp_path: Path, text: str) -> None:
    form = "registry" if "signature" in text else "json"
    result = run("check", "--isolated", "--input-format", form, write(tmp_path, "a", text))
    assert result.exit_code == 2
    assert "duplicate key" in result.stderr

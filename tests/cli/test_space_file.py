"""Spaces that files describe, in the commands that take them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.readers.space_file import is_space, read_space
from ckrules.support.errors import CkrulesError
from tests.cli.run import run, write

SPACE: dict[str, Any] = {
    "name": "small",
    "variables": [
        {"name": "x", "values": [1, 2, 4, 8]},
        {"name": "y", "values": [0, 1, 2]},
        {"name": "mode", "values": ["fast", "small"]},
    ],
    "constraints": ["x % y == 0", "mode == 'fast' or 1 < x <= 4"],
}
POINTS = [
    {"x": x, "y": y, "mode": mode}
    for x in (1, 2, 4, 8)
    for y in (1, 2)
    for mode in ("fast", "small")
    if x % y == 0 and (mode == "fast" or 1 < x <= 4)
]


@pytest.mark.parametrize("condition", ["x == 3", "3 == x", "x in [3]"])
def test_values_that_a_variable_never_has_are_noted(tmp_path: Path, condition: str) -> None:
    result = run("count", write(tmp_path, "a.json", SPACE), "--where", condition)
    assert (result.stdout, result.stderr) == ("0\n", "x is never 3; nearest 2\n")


def test_count_enumerate_and_sample(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", SPACE)
    assert run("count", path).stdout == f"{len(POINTS)}\n"
    assert run("count", path, "--where", "x == 4").stdout == "4\n"
    by = run("count", path, "--by", "y,mode", "--format", "csv").stdout.split()
    pairs = [f"{p['y']},{p['mode']}" for p in POINTS]
    assert by[0] == "y,mode,count"
    assert sorted(by[1:]) == sorted(f"{pair},{pairs.count(pair)}" for pair in set(pairs))
    listed = [json.loads(x) for x in run("enumerate", path).stdout.splitlines()]
    assert sorted(map(str, listed)) == sorted(map(str, POINTS))
    parts = [run("enumerate", path, "--shard", f"{i}/2").stdout for i in (1, 2)]
    assert "".join(parts) == run("enumerate", path).stdout
    short = run("enumerate", path, "--limit", "3", "--format", "csv", "--fields", "y,x")
    assert short.stdout.splitlines()[0] == "y,x"
    assert len(short.stdout.splitlines()) == 4
    drawn = run("sample", path, "-n", "5", "--seed", "3")
    assert drawn.stdout == run("sample", path, "-n", "5", "--seed", "3").stdout
    assert all(json.loads(line) in POINTS for line in drawn.stdout.splitlines())


def test_a_hard_space_is_streamed(tmp_path: Path) -> None:
    """What cannot be compiled as a whole is said to be so, and its first points still come."""
    names = [f"x{i}" for i in range(8)]
    hard = {
        "variables": [{"name": n, "values": list(range(1, 41))} for n in names],
        "constraints": [
            f"{' * '.join(names)} % 7919 < 40",
            f"({' + '.join(f'{2 * i + 3} * {n}' for i, n in enumerate(names))}) % 101 == 5",
        ],
    }
    result = run("enumerate", write(tmp_path, "a.json", hard), "--limit", "2")
    assert result.exit_code == 0
    assert result.stderr.startswith("the space is too hard to compile as a whole")
    rows = [json.loads(x) for x in result.stdout.splitlines()]
    assert len(rows) == 2
    for row in rows:
        assert all(eval(text, {}, row) for text in hard["constraints"])


def test_counts_have_the_forms_of_count(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", SPACE)
    assert json.loads(run("count", path, "--format", "json").stdout) == {"count": len(POINTS)}
    by = json.loads(run("count", path, "--by", "mode", "--format", "json").stdout)
    assert by["groups"] == [
        {"mode": m, "count": sum(p["mode"] == m for p in POINTS)} for m in ("fast", "small")
    ]
    parts = [int(run("count", path, "--shard", f"{i}/3").stdout) for i in (1, 2, 3)]
    assert sum(parts) == len(POINTS)
    spellings = [run("enumerate", path, f"{w}", "2").stdout for w in ("-n", "--limit")]
    assert spellings[0] == spellings[1] != ""


def test_why_fix_and_lint(tmp_path: Path) -> None:
    """The restriction is named with its place, in text and in JSON."""
    path = write(tmp_path, "a.json", {**SPACE, "constraints": [*SPACE["constraints"], "x >= 1"]})
    bad = {"x": 8, "y": 1, "mode": "small"}
    why = run("why", path, json.dumps(bad))
    assert why.exit_code == 1
    assert "R2 (mode == 'fast' or 1 < x <= 4)" in why.stdout
    assert f"    source: {path}:31:3\n" in why.stdout
    found = json.loads(run("why", path, json.dumps(bad), "--format", "json").stdout)
    assert found["legal"] is False
    assert [c["code"] for c in found["violations"]] == ["R2"]
    assert run("why", path, json.dumps(POINTS[0])).exit_code == 0
    empty = run("why", path, "--where", "x == 8 and mode == 'small'")
    assert (empty.exit_code, empty.stdout.splitlines()[0][:6]) == (1, "empty:")
    asked = ("--where", "y == 2 & y == 3")  # which has no place
    assert "source: \n" not in run("why", path, json.dumps(bad), *asked).stdout
    none = run("fix", path, json.dumps(bad), *asked).stdout
    assert "R4 (y == 2 & y == 3) leaves no configuration at all\n    R4: y == 2 & y == 3\n" in none
    assert run("why", path).stdout.startswith("not empty: x=")

    point = write(tmp_path, "point.json", bad)
    fixed = json.loads(run("fix", path, point, "-n", "2", "--format", "json").stdout)
    assert all(f["configuration"] in POINTS for f in fixed["fixes"])
    assert len(fixed["fixes"]) == 2
    text = run("fix", path, point, "--keep", "x")
    assert text.stdout.splitlines()[2:] == ["       - mode = 'small'", "       + mode = 'fast'"]
    stuck = run("fix", path, point, "--keep", "x,mode")
    assert (stuck.exit_code, stuck.stdout.splitlines()[1]) == (1, "  nothing legal keeps x, mode")

    lint = run("lint", path, "--format", "json")
    assert lint.exit_code == 1
    assert ("LINT003", "R3") in {
        (f["code"], f["subject"]) for f in json.loads(lint.stdout)["findings"]
    }
    assert "(x >= 1) rejects no candidate" in run("lint", path).stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"constraints": None}, "no list 'constraints'"),
        ({"constraints": ["z > 1"]}, "unknown field 'z'"),
        ({"constraints": ["x >"]}, "not an expression"),
        ({"constraints": ["__import__('os')"]}, "unknown function '__import__'"),
        ({"constraints": [3]}, "constraint 3 is not a string"),
        ({"variables": [{"name": "x"}]}, "variable x has no list of values"),
        ({"variables": [{"name": "x", "values": []}]}, "variable x has no values"),
        ({"variables": [{"name": "x", "values": [1, "a"]}]}, "all numbers, all words"),
        ({"variables": [{"name": "x", "values": [[1]]}]}, "values are numbers, words or Booleans"),
        (
            {"variables": [{"name": "x", "values": [0.5, math.nan]}]},
            "values are numbers, words or Booleans",
        ),
        ({"variables": [{"name": "x", "values": ["a", "\ud800"]}]}, "is half a character"),
        ({"constraints": ["x ** 3000000000 > 0"]}, "reaches a number of more than 4,096 bits"),
        ({"variables": [{"name": "x y", "values": [1]}]}, "cannot name a variable"),
        ({"variables": [{"name": "True", "values": [1]}]}, "'True' cannot name a variable"),
        ({"variables": [SPACE["variables"][0]] * 2}, "variable x is declared twice"),
        ({"variables": ["x"]}, "a variable needs a name and values"),
    ],
)
def test_a_faulty_file_is_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write(tmp_path, "a.json", {**SPACE, **change})
    result = run("count", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}:")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_large_integers_are_exact_or_refused(tmp_path: Path) -> None:
    """Integers among floats are listed as they stand; parquet would round them."""
    values = [0.5, 12345678901234567891, 3]
    space = {"variables": [{"name": "a", "values": values}], "constraints": ["a > 3"]}
    path = write(tmp_path, "a.json", space)
    assert run("enumerate", path).stdout == '{"a": 12345678901234567891}\n'
    refused = run("enumerate", path, "-o", str(tmp_path / "a.parquet"))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "parquet cannot hold these values" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such.json", "count"], "No such file"),
        (["a.json", "enumerate", "--format", "names"], "no kernel names"),
        (["a.json", "count", "--by", "modes"], "unknown field 'modes': did you mean 'mode'"),
        (["a.json", "sample", "--by", "mode"], "no such option"),
        (["a.json", "count", "--limit", "3"], "no such option"),
        (["a.json", "count", "--fields", "x"], "no such option"),
        (["a.json", "count", '{"x": 1}'], "unexpected extra argument"),
        (["a.json", "enumerate", "--seed", "3"], "no such option"),
        (["a.json", "lint", "--shard", "1/2"], "no such option"),
        (["a.json", "count", "--by", "x", "--shard", "1/2"], "--by counts the whole space"),
        (["a.json", "count", "--format", "jsno"], "unknown format 'jsno': did you mean 'json'"),
        (["a.json", "why", "--format", "csv"], "unknown format 'csv'"),
        (["a.json", "fix"], "missing POINT"),
        (["a.json", "why", "{3}"], "not a JSON object of values"),
        (["a.json", "why", '{"x": 1, "x": 2}'], "duplicate key 'x'"),
        (["a.json", "why", "no.json"], "No such file"),
        (["a.json", "why", '{"x": 1, "y": 2, "mod": "fast"}'], "unknown field 'mod': did you mean"),
        (["a.json", "fix", '{"x": 1}'], "missing fields y, mode"),
        (["a.json", "enumerate", "--fields", "xx"], "unknown field 'xx'"),
    ],
)
def test_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    write(tmp_path, "a.json", SPACE)
    monkeypatch.chdir(tmp_path)
    file, action, *more = words
    result = run(action, file, *more)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


def test_the_older_form_is_the_same_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", SPACE)
    for action, *words in (
        ["count", "--by", "mode", "--format", "csv"],
        ["enumerate", "--limit", "3"],
        ["why", json.dumps(POINTS[0])],
        ["fix", "--keep", "x", json.dumps({"x": 8, "y": 1, "mode": "small"})],
        ["lint"],
    ):
        new, old = run(action, path, *words), run("space", path, action, *words)
        assert (old.exit_code, old.stdout) == (new.exit_code, new.stdout)
        first = f"note: ckrules space FILE {action} is now ckrules {action} FILE\n"
        assert old.stderr == first + new.stderr
    wrong = run("space", path, "cuont")
    assert wrong.exit_code == 2
    assert "unknown action 'cuont': did you mean 'count'" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count", "--arch", "gfx942"], "--arch does not go with a file that describes a space"),
        (["count", "--ck", "2025.11"], "--ck does not go with a file that describes a space"),
        (["enumerate", "--distinct"], "--distinct"),
        (["enumerate", "--best", "3"], "--best does not go with a file that describes a space"),
        (["enumerate", "--summary"], "--summary does not go with a file that describes a space"),
        (["sample", "--names", "aiter"], "no kernel names"),
        (["why", '{"x": 1}', "{}"], "one point is needed, not 2"),
        (["fix", '{"x": 1}', "--arch", "gfx942"], "--arch does not go with a file"),
    ],
)
def test_options_about_kernels_do_not_go_with_a_file(
    tmp_path: Path, words: list[str], said: str
) -> None:
    action, *more = words
    result = run(action, write(tmp_path, "a.json", SPACE), *more)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


def test_lists_of_kernels_are_no_spaces(tmp_path: Path) -> None:
    assert is_space(write(tmp_path, "a.json", SPACE))
    assert is_space(write(tmp_path, "b.json", {"a": [1], "b": ["x", "y"]}))
    assert not is_space(write(tmp_path, "c.json", {"kernels": ["grouped_conv_fwd_fp16"]}))
    assert not is_space(write(tmp_path, "d.json", {"a": [{"b": 1}]}))
    assert not is_space(str(tmp_path / "none.json"))


@given(cut=st.integers(0, 600), extra=st.sampled_from(["", "]", "}", '"', "1e999", "\n"]))
def test_no_file_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, cut: int, extra: str
) -> None:
    whole = json.dumps(SPACE)
    path = tmp_path_factory.getbasetemp() / "space.json"
    path.write_text(whole[:cut] + extra + whole[cut:] if cut % 2 else whole[:cut] + extra)
    said = str(path)
    try:
        read_space(str(path))
    except CkrulesError as error:
        said = str(error)
    assert said.startswith(str(path))

"""``ckrules space``: spaces that files describe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.engine.errors import CkrulesError
from ckrules.readers.space_file import read_space
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


def test_count_enumerate_and_sample(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", SPACE)
    assert run("space", path, "count").stdout == f"{len(POINTS)}\n"
    assert run("space", path, "count", "--where", "x == 4").stdout == "4\n"
    by = run("space", path, "count", "--by", "y,mode", "--format", "csv").stdout.split()
    pairs = [f"{p['y']},{p['mode']}" for p in POINTS]
    assert by[0] == "y,mode,count"
    assert sorted(by[1:]) == sorted(f"{pair},{pairs.count(pair)}" for pair in set(pairs))
    listed = [json.loads(x) for x in run("space", path, "enumerate").stdout.splitlines()]
    assert sorted(map(str, listed)) == sorted(map(str, POINTS))
    parts = [run("space", path, "enumerate", "--shard", f"{i}/2").stdout for i in (1, 2)]
    assert "".join(parts) == run("space", path, "enumerate").stdout
    short = run("space", path, "enumerate", "--limit", "3", "--format", "csv", "--fields", "y,x")
    assert short.stdout.splitlines()[0] == "y,x"
    assert len(short.stdout.splitlines()) == 4
    drawn = run("space", path, "sample", "-n", "5", "--seed", "3")
    assert drawn.stdout == run("space", path, "sample", "-n", "5", "--seed", "3").stdout
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
    result = run("space", write(tmp_path, "a.json", hard), "enumerate", "--limit", "2")
    assert result.exit_code == 0
    assert result.stderr.startswith("the space is too hard to compile as a whole")
    rows = [json.loads(x) for x in result.stdout.splitlines()]
    assert len(rows) == 2
    for row in rows:
        assert all(eval(text, {}, row) for text in hard["constraints"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"constraints": None}, "no list 'constraints'"),
        ({"constraints": ["z > 1"]}, "unknown field 'z'"),
        ({"constraints": ["x >"]}, "not an expression"),
        ({"constraints": ["__import__('os')"]}, "unknown function '__import__'"),
        ({"constraints": [3]}, "constraint 3 is not a text"),
        ({"variables": [{"name": "x"}]}, "variable x has no list of values"),
        ({"variables": [{"name": "x", "values": []}]}, "variable x has no values"),
        ({"variables": [{"name": "x", "values": [1, "a"]}]}, "all numbers, all words"),
        ({"variables": [{"name": "x", "values": [[1]]}]}, "values are numbers, words or Booleans"),
        ({"variables": [{"name": "x y", "values": [1]}]}, "cannot name a variable"),
        ({"variables": [SPACE["variables"][0]] * 2}, "variable x is declared twice"),
        ({"variables": ["x"]}, "a variable needs a name and values"),
    ],
)
def test_a_faulty_file_is_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write(tmp_path, "a.json", {**SPACE, **change})
    result = run("space", path, "count")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}:")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such.json", "count"], "No such file"),
        (["a.json", "cuont"], "unknown action 'cuont': did you mean 'count'"),
        (["a.json", "enumerate", "--format", "names"], "no kernel names"),
        (["a.json", "count", "--by", "modes"], "unknown field 'modes': did you mean 'mode'"),
        (["a.json", "sample", "--by", "mode"], "does not go with sample"),
        (["a.json", "enumerate", "--fields", "xx"], "unknown field 'xx'"),
    ],
)
def test_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    write(tmp_path, "a.json", SPACE)
    monkeypatch.chdir(tmp_path)
    result = run("space", *words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


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

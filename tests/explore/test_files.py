"""Spaces that files describe: exact counts, reasons, addresses and what there is not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ckrules.engine.restrictions import book_of
from ckrules.engine.rules.region import Region
from ckrules.explore.figures import FIGURES
from ckrules.explore.subject import Subject
from ckrules.readers.space_file import read_space
from tests.cli.run import run
from tests.explore.client import chips, client, text, total

FILE = str(Path(__file__).parents[1] / "data" / "spaces" / "gemm.json")
#: Names that are parts of the page's address, too.
ODD = {"variables": [{"name": "k", "values": [1, 2, 3]}, {"name": "where", "values": [1, 2]}],
       "constraints": ["k * where != 4"]}  # fmt: skip


def about(file: str = FILE) -> Subject:
    book = book_of(read_space(file))
    return Subject(Region(book, title="gemm.json"), None, "gemm.json", {"FILE": (file,)})


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client(about()) as found:
        yield found


def test_counts_are_those_of_the_space(page: TestClient) -> None:
    space = read_space(FILE)
    said = page.get("/", params={"MWG": 64}).text
    assert total(said) == space.bind(MWG=64).count()
    shown = chips(said)
    for value, count in space.bind(MWG=64).counts_by("NWG").items():
        n = value[0] if isinstance(value, tuple) else value
        assert shown[f"NWG-{n}"][0] == count
    narrower = page.get("/", params={"where": "MWG == NWG and KWG < 32"}).text
    assert total(narrower) == space.where("MWG == NWG and KWG < 32").count()
    assert "restrictions" in said
    assert "CK 20" not in said


def test_a_value_without_points_says_why(page: TestClient) -> None:
    said = page.get("/", params={"MDIMC": 32, "NDIMC": 32}).text
    none = {k: link for k, (n, link) in chips(said).items() if n == 0}
    assert none
    answer = text(page.get(next(iter(none.values()))).text)
    assert "cannot hold" in answer
    assert "gemm.json:" in answer, "the place of the restriction in the file"
    assert "Nearest legal" in answer


def test_the_command_selects_the_same(page: TestClient) -> None:
    query = {"MWG": ["64", "128"], "NWG": "32", "where": "KWG < 32"}
    said = page.get("/export", params=query).text
    line = json.loads(json.dumps(said.split('<pre id="command">')[1].split("</pre>")[0]))
    words = shlex.split(line.replace("&#39;", "'").replace("&lt;", "<"))
    assert words[:3] == ["ckrules", "space", FILE]
    counted = run(*["count" if w == "enumerate" else w for w in words[1:]], "--format", "json")
    assert json.loads(counted.stdout)["count"] == total(said)
    got = page.get("/file", params={**query, "form": "jsonl", "n": 50})
    points = [json.loads(row) for row in got.text.splitlines()]
    assert len(points) == min(50, total(said))
    assert all("ck" not in p and p["NWG"] == 32 for p in points)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/file?form=names", "the points of this space have no names"),
        ("/kernel?k={}", "the points of this space are not kernels"),
        ("/kernels?list=best", "Times are predicted of kernels only."),
    ],
)
def test_what_only_kernels_have_is_refused(page: TestClient, path: str, said: str) -> None:
    found = page.get(path)
    assert said in text(found.text)
    assert found.status_code in (200, 400)


def test_lists_and_pictures(page: TestClient) -> None:
    listed = page.get("/kernels", params={"n": 3}).text
    assert listed.count('data-label="MWG"') == 3
    assert 'href="/kernel?' not in listed
    drawn = page.get("/pictures").text
    for kind, figure in FIGURES.items():
        assert (f"of={kind}" in drawn) is not figure.kernels
    svg = page.get("/picture.svg", params={"of": "pairs", "field": "MWG", "value": "NWG"})
    assert svg.headers["content-type"] == "image/svg+xml"


def test_fields_with_names_of_the_address(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(ODD))
    with client(about(str(file))) as page:
        first = page.get("/").text
        assert total(first) == 5
        held = chips(first)["where-2"]
        assert held[1] == "/?field.where=2"
        said = page.get(held[1]).text
        assert total(said) == held[0] == 2
        none = chips(said)["k-2"]
        assert none[0] == 0
        assert "cannot hold together" in text(page.get(none[1]).text)


def command(*words: str) -> Any:
    return run("explore", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((FILE, "--arch", "gfx942"), "--arch does not go with a file that describes a space"),
        ((FILE, "--where", "MWH < 3"), "unknown field 'MWH': did you mean MWG"),
        ((FILE, "--results", "out"), "--results does not go with a file"),
        (("no-such.json",), "no-such.json: No such file"),
    ],
)
def test_what_cannot_be_explored(words: tuple[str, ...], said: str) -> None:
    found = command(*words)
    assert found.exit_code == 2
    assert said in found.stderr


def test_a_title_shows_what_would_act_in_it() -> None:
    space = Subject(about().region, None, "a\x1b]0;b.json", {"FILE": (FILE,)})
    with client(space) as page:
        for place in ("/", "/export"):
            said = page.get(place).text
            assert "\x1b" not in said
            assert "a\\x1b]0;b.json" in said

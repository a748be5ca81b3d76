"""The pages as requests see them: counts, reasons, conditions, and what is wrong in an address."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from ckrules.compiling.results import COLUMNS, Results
from ckrules.explore import kernel_address
from ckrules.explore.choice import FieldChoice
from ckrules.explore.figures import FIGURES
from ckrules.explore.kernel_address import read
from ckrules.explore.kernel_page import KernelPage
from ckrules.explore.reasons import reason
from ckrules.explore.solving import Solver
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from ckrules.pictures.lds import KINDS
from tests.cli.run import run
from tests.explore.client import GIVEN, NAME, chips, client, subject, text, total

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client() as found:
        yield found


@pytest.mark.parametrize(
    ("query", "held", "where"),
    [
        ("", {}, ()),
        ("pipeline=mem", {"pipeline": "mem"}, ()),
        (
            "pipeline=mem&pipeline=compv3&tile_m=64",
            {"pipeline": ["mem", "compv3"], "tile_m": 64},
            (),
        ),
        ("double_smem_buffer=true", {"double_smem_buffer": True}, ()),
        ("where=lds_bytes+%3C+9000&wave_m=2", {"wave_m": 2}, ("lds_bytes < 9000",)),
    ],
)  # fmt: skip
def test_counts_are_those_of_the_space(
    page: TestClient, query: str, held: dict[str, object], where: tuple[str, ...]
) -> None:
    answer = page.get(f"/?{query}")
    assert answer.status_code == 200
    space = subject().space.where(*where) if where else subject().space
    assert total(answer.text) == space.bind(**held).count() > 0
    found = chips(answer.text)
    for name in ("pipeline", "tile_m", "wave_m", "vector_a", "double_smem_buffer"):
        others = {n: v for n, v in held.items() if n != name}
        for value, count in space.bind(**others).counts_by(name).items():
            shown = str(value).lower() if isinstance(value, bool) else value
            assert found[f"{name}-{shown}"][0] == count


def test_a_click_leads_to_the_count_that_it_shows(page: TestClient) -> None:
    """Every value's address leads to a page with as many kernels as the value says."""
    first = chips(page.get("/?pipeline=compv4").text)
    tried = [k for k in first if k.startswith(("tile_k", "scheduler", "vector_c"))]
    for key in tried:
        count, link = first[key]
        if count:
            assert total(page.get(link).text) == count, key
        else:
            assert link.startswith("/why?")
    assert {bool(first[k][0]) for k in tried} == {True, False}


def test_a_value_without_kernels_says_why(page: TestClient) -> None:
    count, link = chips(page.get("/?pipeline=compv4").text)["scheduler-interwave"]
    assert count == 0
    said = text(page.get(link).text)
    assert "pipeline = 'compv4' and scheduler = 'interwave' cannot hold together" in said
    assert "PIPE002" in said
    without = subject().space.bind(scheduler="interwave").count()
    assert f"give up pipeline = compv4 : {without:,} kernels" in said
    assert "pipeline: compv4 → " in said


def test_what_the_solver_does_not_decide_in_time_is_said() -> None:
    about = subject()
    solver = Solver(about.region, seconds=0.001)
    choice = FieldChoice({"pipeline": ("compv4",)})
    found = reason(about, solver, choice, "scheduler", "interwave")
    assert found.answer.excluding is None
    assert [u.partition(":")[0] for u in found.answer.undecided] == [
        "which rules exclude it", "what is near",
    ]  # fmt: skip
    assert [w.given_up for w in found.ways] == ["pipeline = compv4"]
    solver.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("pipeline=compv33", "unknown pipeline 'compv33': did you mean 'compv3'"),
        ("tile_q=64", "unknown field 'tile_q': did you mean 'tile_"),
        ("tile_m=63", "tile_m = 63 is not in this space"),
        ("tile_m=many", "tile_m = 'many' is not an integer"),
        ("where=tile_mm+%3D%3D+64", "column 1: unknown field 'tile_mm': did you mean tile_m"),
        ("where=tile_m+%3D+64", "column 8: compare with ==, not ="),
        ("where=" + "(" * 5000, "column"),
        ("where=" + "x" * 30000, "the address is longer than 20,000 characters"),
        ("&".join(f"a{i}=1" for i in range(2000)), "the address has too many parts"),
        ("arch=gfx950", "arch = gfx950 is not in this space"),
        ("pipeline=%00%ff<script>alert(1)</script>", "unknown pipeline"),
    ],
)
def test_what_is_wrong_in_an_address_is_said_and_the_rest_goes_on(
    page: TestClient, query: str, said: str
) -> None:
    answer = page.get(f"/?wave_m=2&{query}" if len(query) < 9000 else f"/?{query}")
    assert answer.status_code == 400
    assert said in text(answer.text)
    assert "<script>alert" not in answer.text
    assert total(answer.text) > 0
    assert page.get("/").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/why?field=tile_m&value=1", "/why?field=q&value=1", "/why", "/kernels?list=worst",
     "/kernels?n=0", "/kernels?n=-1", "/kernels?n=9999999", "/kernels?seed=x", "/nothing"],
)  # fmt: skip
def test_bad_requests_have_a_page_of_their_own(page: TestClient, path: str) -> None:
    answer = page.get(path)
    assert answer.status_code == (404 if path == "/nothing" else 400)
    assert 'class="fault"' in answer.text


def test_a_condition_with_a_value_that_never_is_gets_a_remark(page: TestClient) -> None:
    answer = page.get("/?where=tile_m+%3D%3D+63")
    assert answer.status_code == 200
    assert "tile_m is never 63; nearest 64" in text(answer.text)
    assert "No kernel is left" in text(answer.text)


@pytest.mark.parametrize(
    ("where", "first", "result"),
    [
        ("pipe", "pipeline", "pipeline"),
        ("pipeline == 'comp", "'compv3'", "pipeline == 'compv3'"),
        ("pipeline in ['mem', com", "'compv3'", "pipeline in ['mem', 'compv3'"),
        ("tile_m >= 6", "64", "tile_m >= 64"),
        ("tile_m >= 64 & lds_b", "lds_bytes", "tile_m >= 64 & lds_bytes"),
        ("double_smem_buffer == tr", "true", "double_smem_buffer == true"),
    ],
)
def test_words_are_proposed(page: TestClient, where: str, first: str, result: str) -> None:
    answer = page.get(f"/complete?where={quote(where)}&cursor={len(where)}").json()
    found = answer["proposals"][0]
    assert found["text"] == first
    assert where[: found["start"]] + first + where[found["end"] :] == result


def test_nothing_is_proposed_where_nothing_is_typed(page: TestClient) -> None:
    assert page.get("/complete?where=tile_m+%3E%3D+64+").json() == {"proposals": [], "fault": None}
    wrong = page.get("/complete?where=tile_m+%3D+64").json()["fault"]
    assert wrong == {"problem": "compare with ==, not =", "column": 8}


def test_a_kernel_has_a_page(page: TestClient) -> None:
    answer = page.get("/kernel", params={"k": NAME})
    assert answer.status_code == 200
    said = text(answer.text)
    assert "legal , no rule is broken" in said
    known = subject().region.book.resources(read(NAME, subject().books, "gfx942").point)
    assert f"lds_bytes {known['lds_bytes']:,}" in said
    assert f"vgprs {known['vgprs']:,}" in said
    for rule in subject().region.book.rules:
        assert rule.code in said
    assert "ck_tile" in said  # its source
    assert answer.text.count("<rect") == 4 + 8 + 8  # of C, A and B


def test_a_kernels_way_through_lds() -> None:
    """The table of accesses is what the kernel's map counts, and its pictures are drawn."""
    books = Books("2025.11")
    given = {**GIVEN, "tile_m": 64, "tile_n": 64, "tile_k": 64, "pipeline": "compv3"}
    about = Subject(select(books, given), books, "kernels of CK 2025.11")
    point = about.space.where("warp_tile_m == 16 & warp_tile_n == 16 & vector_a == 8")[0]
    query = {"k": kernel_address.address(point, books)}
    with client(about) as page:
        said = text(page.get("/kernel", params=query).text)
        kernel = KernelPage(about, kernel_address.read(query["k"], books, None))
        assert kernel.turning
        for row in kernel.turning:
            assert f"{row.what} {row.size} {row.accesses} {row.turns}" in said
        assert "bank cycles" in said
        assert "accumulator_vgprs = " in said
        for kind in KINDS:
            drawn = page.get("/kernel.svg", params={**query, "of": kind})
            assert drawn.headers["content-type"] == "image/svg+xml"
            assert "packs" in drawn.text or "lanes" in drawn.text
        wrong = page.get("/kernel.svg", params={**query, "of": "loads-c"})
        assert wrong.status_code == 400
        assert "loads-a" in wrong.text


def test_a_way_that_is_not_modelled_is_said(page: TestClient) -> None:
    found = text(page.get("/kernel", params={"k": NAME}).text)
    assert "Nothing is drawn: " in found


def test_two_kernels_are_compared(page: TestClient) -> None:
    other = NAME.replace("64x64x64", "128x64x64")
    answer = page.get("/kernel", params={"k": [NAME, other]})
    differing = re.findall(r'<tr class="differs"><th scope="row">(\w+)</th>', answer.text)
    assert differing[0] == "tile_m"
    assert "tile_n" not in differing
    assert {"lds_bytes", "a_extent"} & set(differing)


def test_a_kernel_that_breaks_rules_says_which(page: TestClient) -> None:
    bad = NAME.replace("64x64x64", "96x64x64")
    said = text(page.get("/kernel", params={"k": f"{bad}@gfx942"}).text)
    assert "breaks" in said
    assert "TILE001 the waves do not cover the tile along M" in said


@pytest.mark.parametrize(
    "k", ["", "nonsense", "{", "[]", '{"variant": 1}', f"{NAME}@gfx9999", "x" * 9000, "{" * 3000]
)
def test_what_is_no_kernel_is_said(page: TestClient, k: str) -> None:
    answer = page.get("/kernel", params={"k": k})
    assert answer.status_code == 400
    assert 'class="fault"' in answer.text


def test_builds_and_runs_are_shown(tmp_path: Path) -> None:
    database = tmp_path / "results.sqlite"
    name = read(NAME, subject().books, "gfx942").name
    row = dict.fromkeys(COLUMNS) | {
        "name": name, "arch": "gfx942", "artifact": "device", "ck": "2026.06", "rules": "x",
        "legal": True, "status": "failed", "error_class": "compile", "seconds": 1.5, "tool": "x",
        "tool_version": "clang 19", "flags": "", "command": "", "config": "", "finished": 1.0,
        "key": "k", "lacks": "",
    }  # fmt: skip
    with Results(database) as table:
        table.store(row)
    about = subject()
    held = Subject(about.region, about.books, about.title, about.options, database)
    with client(held) as page:
        said = text(page.get("/kernel", params={"k": NAME}).text)
        assert "Builds artifact ck status" in said
        assert "device 2026.06 failed compile" in said
        assert "There are no runs of it in the results." in said


@pytest.mark.parametrize("form", ["names", "jsonl", "parquet"])
def test_the_current_set_is_a_file(page: TestClient, form: str, tmp_path: Path) -> None:
    query = "pipeline=compv4&tile_m=64&where=lds_bytes+%3C+9000"
    answer = page.get(f"/file?{query}&form={form}&n=20000")
    assert answer.status_code == 200
    space = subject().space.where("lds_bytes < 9000").bind(pipeline="compv4", tile_m=64)
    expected = min(20000, space.count())
    assert expected > 10000
    if form == "parquet":
        table = pq.read_table(BytesIO(answer.content))
        assert table.num_rows == expected
        assert table.slice(0, 1).to_pylist()[0] == space[0]
    else:
        lines = answer.text.splitlines()
        assert len(lines) == expected
        assert len(set(lines)) == expected or form == "names"
        if form == "jsonl":
            assert json.loads(lines[-1]) == {**space[expected - 1], "ck": "2026.09"}


@pytest.mark.parametrize(
    "query", ["form=exe", "n=0", "n=1000001", "n=x", "pipeline=nope", "where=tile_m+%3D+3"]
)
def test_bad_exports_are_refused(page: TestClient, query: str) -> None:
    assert page.get(f"/file?{query}").status_code == 400


@pytest.mark.parametrize(
    "query", ["", "pipeline=compv4&tile_m=64&tile_m=128&where=lds_bytes+%3C+9000"]
)
def test_command_line_and_python_select_the_same(page: TestClient, query: str) -> None:
    shown = page.get(f"/export?{query}").text
    command = re.search(r'<pre id="command">(.*?)</pre>', shown, re.S)
    python = re.search(r'<pre id="python">(.*?)</pre>', shown, re.S)
    assert command
    assert python
    words = shlex.split(html.unescape(command[1]))
    assert words[:2] == ["ckrules", "enumerate"]
    assert int(run("count", *words[2:]).stdout) == total(shown)
    names: dict[str, Any] = {}
    exec(html.unescape(python[1]), names)
    assert names["space"].count() == total(shown)


def test_a_problem_is_chosen_for_predictions(page: TestClient) -> None:
    line = "N=2,C=64,K=64,H=14,W=14,Y=3,X=3,pad=1"
    query = {"pipeline": "compv4", "tile_m": "64", "problem": line}
    shown = page.get("/pictures", params=query)
    assert shown.status_code == 200
    assert f'value="{line}"' in shown.text
    links = [html.unescape(s) for s in re.findall(r'src="(/picture[^"]+)"', shown.text)]
    about = {re.search(r"of=(\w+)", s)[1] for s in links if quote(line) in s}  # type: ignore[index]
    assert about == {kind for kind, figure in FIGURES.items() if figure.problem}
    (roofline,) = [s for s in links if "of=roofline" in s]
    said = page.get(roofline).text
    assert "H=14" in said
    assert (
        "H=14" not in page.get("/picture.svg", params={**query, "problem": "", "of": "tiles"}).text
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("N=2,C=64,Q=1", "Q"),
        ("N=2,C=64,K=64,H=0,W=14,Y=3,X=3", "Hi = 0 is not between"),
        ("hello", "hello"),
    ],
)
def test_a_problem_that_is_none_is_said_at_its_field(
    page: TestClient, line: str, said: str
) -> None:
    found = page.get("/pictures", params={"problem": line})
    assert found.status_code == 400
    fault = found.text.split('id="problem-fault"')[1].split("</p>")[0]
    assert said in fault
    assert 'aria-describedby="problem-fault"' in found.text
    assert "problem=" not in "".join(re.findall(r'src="([^"]+)"', found.text))


@pytest.mark.parametrize("kind", list(FIGURES))
def test_pictures_are_drawn(page: TestClient, kind: str) -> None:
    query = "pipeline=compv4&tile_m=64&tile_n=64&vector_a=8"
    answer = page.get(f"/picture.svg?{query}&of={kind}&field=tile_k&value=wave_m")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.text.lstrip().startswith("<")
    assert kind != "counts" or "by tile_k" in answer.text
    empty = page.get(f"/picture.svg?where=tile_m+%3D%3D+63&of={kind}")
    assert (empty.status_code, "no kernel is left" in empty.text) == (200, True)


def test_pictures_draw_fields_that_still_vary(page: TestClient) -> None:
    shown = page.get("/pictures?pipeline=compv4&tile_m=128").text
    offered = re.findall(r"<option[^>]*>(\w+)</option>", shown)
    assert "wave_m" in offered
    assert not {"pipeline", "tile_m", "scheduler"} & set(offered)  # compv4 has one scheduler
    several = page.get("/pictures?pipeline=compv4&pipeline=mem").text
    assert re.findall(r"<option[^>]*>(\w+)</option>", several)[0] == "pipeline"


def test_a_kernel_of_a_release_without_headers_leads_to_one_with_them() -> None:
    books = Books()
    about = Subject(select(books, GIVEN), books, "kernels of CK 2026.09")

    def made(scope: Mapping[str, str]) -> Subject:
        other = Books(scope["ck"])
        return Subject(select(other, {**GIVEN, "tile_m": 64}), other, "kernels of CK 2025.11")

    with client(about, scope={"ck": "2026.09"}, make=made) as page:
        shown = page.get("/kernel", params={"k": NAME}).text
        link = re.search(r'<a href="([^"]+)">The same kernel of CK 2025.11</a>', shown)
        assert link
        there = page.get(html.unescape(link[1]))
        assert there.status_code == 200
        assert "The same kernel of" not in there.text
        assert ">CK 2025.11<" in there.text

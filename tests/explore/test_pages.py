"""The pages as requests see them: counts, reasons, conditions, and what is wrong in an address."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from ckrules.explore.choice import Choice
from ckrules.explore.reasons import reason
from ckrules.explore.solving import Solver
from tests.explore.client import chips, client, subject, text, total


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
    choice = Choice({"pipeline": ("compv4",)})
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


def test_lists_of_kernels(page: TestClient) -> None:
    answer = page.get("/kernels?tile_m=64&wave_m=2&pipeline=compv3&n=3")
    assert answer.status_code == 200
    assert answer.text.count("<td><code>grouped_conv_bwd_weight_fp16") == 3
    drawn = [page.get(f"/kernels?list=sample&n=5&seed={s}").text for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert "no kernel is left" in page.get("/kernels?where=tile_m+%3D%3D+63").text


def test_kernels_that_are_predicted_fastest(page: TestClient) -> None:
    query = "pipeline=compv3&tile_m=64&tile_n=64&tile_k=64&wave_m=2&list=best&n=4"
    answer = page.get(f"/kernels?{query}")
    assert answer.status_code == 200
    assert "fastest first on" in answer.text
    assert "predicted µs" in answer.text

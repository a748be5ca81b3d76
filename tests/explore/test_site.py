"""GPU, type, family and release as choices: one server for all of them."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator, Mapping

import pytest
from starlette.testclient import TestClient

from ckrules.explore.choice import FieldChoice
from ckrules.explore.site import Site
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from tests.explore.client import chips, client, text, total

FIRST = {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ck": "2026.09"}


def made(scope: Mapping[str, str]) -> Subject:
    """The kernels of a scope."""
    given = {name: value for name, value in scope.items() if name != "ck"}
    books = Books(scope["ck"])
    options = {f"--{name}": (value,) for name, value in scope.items()}
    return Subject(select(books, given), books, " ".join(given.values()), options)


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client(made(FIRST), scope=FIRST, make=made) as found:
        yield found


def counted(**given: str) -> int:
    return made({**FIRST, **given}).space.count()


def test_another_gpu_is_a_click_away(page: TestClient) -> None:
    first = page.get("/").text
    assert total(first) == counted()
    link = html.unescape(re.search(r'id="arch-gfx90a" href="([^"]+)"', first)[1])  # type: ignore[index]
    assert link == "/?arch=gfx90a"
    there = page.get(link).text
    assert total(there) == counted(arch="gfx90a")
    count, further = chips(there)["stride_h-1"]
    assert further == "/?arch=gfx90a&stride_h=1"
    assert total(page.get(further).text) == count
    assert "arch=gfx90a" in page.get(further).text.split("clear all")[0].rsplit("href=", 1)[1]


def test_what_a_choice_lacks_elsewhere_is_left_out_and_said(page: TestClient) -> None:
    answer = page.get("/?dtype=bf16&stride_h=77")
    assert answer.status_code == 400
    assert total(answer.text) == counted(dtype="bf16")
    assert "stride_h" in text(answer.text)


@pytest.mark.parametrize("query", ["arch=gfx9999", "ck=2019.01", "variant=nothing", "dtype=fp99"])
def test_what_does_not_exist_is_said(page: TestClient, query: str) -> None:
    answer = page.get(f"/?{query}")
    assert answer.status_code == 400
    assert "unknown" in text(answer.text)
    assert total(answer.text) == counted()


def test_a_family_without_the_type_has_another() -> None:
    """Quantised kernels have no fp16: their first type is shown instead, chosen and said."""

    def few(scope: Mapping[str, str]) -> Subject:
        assert scope == {**FIRST, "variant": "aquant", "dtype": "fp8"}
        return made(FIRST)

    site = Site(made(FIRST), FIRST, few)
    site.subject({"variant": "aquant"})
    rows = {row.name: row for row in site.rows(FieldChoice(scope={"variant": "aquant"}))}
    assert [chip.word for chip in rows["dtype"].chips if chip.chosen] == ["fp8"]
    said = "There is no dtype fp16 of aquant kernels: fp8 is shown."
    assert site.exchanged({"variant": "aquant"}) == [said]
    assert site.exchanged({}) == []
    site.close()


def test_the_command_line_is_that_of_the_page(page: TestClient) -> None:
    shown = page.get("/export?arch=gfx90a&stride_h=1").text
    command = re.search(r'<pre id="command">(.*?)</pre>', shown, re.S)
    assert command
    words = shlex.split(html.unescape(command[1]))
    assert words[words.index("--arch") + 1] == "gfx90a"


def test_a_value_that_never_is_says_by_which_rules(page: TestClient) -> None:
    first = page.get("/").text
    never = re.findall(r'href="(/why\?[^"]+)"', first.split('class="never"', 1)[1])
    said = page.get(html.unescape(never[0]).replace("/why?", "/never?"))
    assert said.headers["content-type"].startswith("text/plain")
    assert re.match(r"[A-Z]+\d+: ", said.text), said.text
    shown = page.get("/never?field=tile_h&value=2")  # the solver's process ended by an error
    assert re.fullmatch(r"none: [\d,]+ have it", shown.text), shown.text

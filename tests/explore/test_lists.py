"""Lists of kernels: what tells them apart, those predicted fastest, and a search under way."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from ckrules.explore import lists
from ckrules.explore.choice import FieldChoice
from ckrules.explore.fastest import FastestSearch
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from ckrules.ranking.best import best
from tests.explore.client import GIVEN, client, search_held, subject, text

FEW: dict[str, int | str] = {
    "pipeline": "compv3",
    "tile_m": 64,
    "tile_n": 64,
    "tile_k": 64,
    "wave_m": 2,
}
QUERY = "&".join(f"{name}={value}" for name, value in FEW.items())
CHOICE = FieldChoice({name: (value,) for name, value in FEW.items()})


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client() as found:
        yield found


def searched(n: int) -> FastestSearch:
    """A search that is done."""
    search = FastestSearch(subject().region_of(CHOICE), subject().books, n)
    while not search.ended:
        search.newer(search.version, 600)
    return search


@pytest.mark.parametrize("kind", ["first", "sample", "best"])
def test_rows_show_what_differs_and_nothing_else(kind: str) -> None:
    search = searched(12) if kind == "best" else None
    found = lists.kernels(subject(), CHOICE, kind, 12, 1, search)
    assert len(found.kernels) == 12
    titles = [column.title for column in found.columns]
    assert not {"pipeline", "arch", "dtype", "tile"} & set(titles)
    assert not {"pipeline", "tile", "arch"} & set(found.same)
    for i, column in enumerate(found.columns):
        rows = [kernel.cells[i].text for kernel in found.kernels]
        assert column.number or len(set(rows)) > 1, column.title
    told = [tuple(cell.text for cell in kernel.cells) for kernel in found.kernels]
    assert len(set(told)) == 12


def test_the_fastest_come_first_with_bars() -> None:
    found = lists.kernels(subject(), CHOICE, "best", 5, 1, searched(5))
    expected = best(subject().region_of(CHOICE), subject().books, 5).kernels
    assert found.columns[0].title == "predicted µs"
    assert [k.cells[0].text for k in found.kernels] == [f"{r.microseconds:.1f}" for r in expected]
    slowest = expected[-1].microseconds
    shares = [k.cells[0].share for k in found.kernels]
    assert shares == [r.microseconds / slowest for r in expected]
    registers = [c.title for c in found.columns].index("registers")
    (gpu,) = (g for g in subject().books.gpus if g.name == "gfx942")
    for kernel in found.kernels:
        cell = kernel.cells[registers]
        assert cell.share == min(int(cell.text.replace(",", "")) / gpu.vgprs_per_wave, 1.0)


def test_the_fastest_are_shown_unasked_where_times_are_predicted(page: TestClient) -> None:
    shown = page.get(f"/kernels?{QUERY}&n=4")
    assert shown.status_code == 200
    assert 'aria-current="true">Predicted fastest' in shown.text
    assert len(re.findall(r'<input type="checkbox" name="k"', shown.text)) == 4
    more = re.search(r'<a id="more" data-part href="([^"]+)"', shown.text)
    assert more
    assert html.unescape(more[1]).endswith("&list=best&n=8&seed=1")


def test_drawn_kernels_stay_when_more_are_shown(page: TestClient) -> None:
    def names(query: str) -> list[str]:
        shown = page.get(f"/kernels?{QUERY}&list=sample&{query}").text
        return re.findall(r'name="k" value="([^"]+)"', shown)

    assert names("n=5") == names("n=10")[:5]
    assert names("n=5") != names("n=5&seed=2")
    assert "No kernel is left" in page.get("/kernels?where=tile_m+%3D%3D+63").text


def test_a_search_under_way_is_shown_and_stopped(
    page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are there as soon as some are found, and more when the page asks again."""
    with search_held(monkeypatch) as release:
        shown = followed(page, "/kernels?tile_m=16", lambda p: p.count('name="k"') > 2)
        assert "Still searching" in shown
        release.set()
        followed(page, linked(shown, "data-again"), ended)
        release.clear()
        begun = page.get("/kernels?tile_m=32").text
        stopped = followed(page, linked(begun, "href", ' id="stop" data-part'), ended)
        assert "The search was stopped" in stopped
        assert stopped.count('name="k"') > 2


def ended(shown: str) -> bool:
    return "Still searching" not in shown


def linked(shown: str, name: str, before: str = "") -> str:
    """The address that an attribute of a page names."""
    found = re.search(f'{before} {name}="([^"]+)"', shown)
    assert found, shown
    return html.unescape(found[1])


def followed(page: TestClient, address: str, enough: Callable[[str], bool]) -> str:
    """Asks for a page until there is enough on it, as the page itself does, on any machine."""
    shown = page.get(address).text
    while not enough(shown):
        shown = page.get(address).text
    return shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"variant": "bwd_weight", "arch": ("gfx942", "gfx90a")}, "within one GPU: choose one"),
        ({"variant": "forward_depthwise", "arch": "gfx942"}, "No times are predicted of forward"),
    ],
)
def test_why_no_times_are_predicted_is_said_in_words_of_the_page(
    given: dict[str, object], said: str
) -> None:
    books = Books()
    fixed = {**GIVEN, "tile_m": 64} if given["variant"] == "bwd_weight" else {"filter": 3}
    about = Subject(select(books, {**fixed, "dtype": "fp16", **given}), books, "few")
    with client(about) as page:
        assert 'aria-current="true">Drawn' in page.get("/kernels").text
        assert said in text(page.get("/kernels?list=best").text)

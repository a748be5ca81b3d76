"""Kernels, their pictures, lists and files in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ckrules.explore.choice import FieldChoice
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from tests.explore.browsing import count, reach, serving_of, settle
from tests.explore.client import GIVEN, NAME, search_held
from tests.helpers.browser import SLOWEST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.whole


def test_kernels_are_opened_and_compared(page: Page) -> None:
    page.get_by_role("link", name="Kernels").click()
    page.locator("#listing td a").first.click()
    page.wait_for_selector("svg.tile rect")
    first = page.locator("h2 code").inner_text()
    page.get_by_label("Beside it").fill(NAME)
    page.keyboard.press("Enter")
    page.wait_for_selector("tr.differs")
    assert page.locator("h2 code").count() == 2
    assert page.locator("h2 code").first.inner_text() == first
    page.locator("#undo").click()
    page.wait_for_function("() => document.querySelectorAll('h2 code').length === 1")


def test_ticked_kernels_are_compared_and_stay_ticked(page: Page) -> None:
    """While more rows come, too."""
    page.goto(page.url.split("/?")[0].rstrip("/") + "/kernels?list=sample")
    boxes = page.locator("#listing input[name=k]")
    assert page.locator("#compare").is_disabled()
    for i in (0, 1, 2):
        boxes.nth(i).check()
    assert page.locator("#ticked").inner_text() == "3 ticked"
    before = boxes.count()
    page.locator("#more").scroll_into_view_if_needed()
    page.wait_for_function(
        f"() => document.querySelectorAll('#listing tbody tr').length > {before}"
    )
    assert page.locator("#listing input:checked").count() == 3
    boxes.nth(3).check()
    assert page.locator("#ticked").inner_text() == "4 ticked: three at most"
    boxes.nth(3).uncheck()
    page.locator("#compare").click()
    page.wait_for_selector("tr.differs")
    assert page.locator("h2.kernel").count() == 3


def test_a_search_goes_on_by_itself_and_is_stopped(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are there at once, and the page says that it goes on, until the end or a stop."""
    home = page.url.split("/?")[0].rstrip("/")
    with search_held(monkeypatch) as release:
        page.goto(home + "/kernels?tile_m=16&tile_n=16")  # which no other test lists
        page.wait_for_selector("#listing tbody tr")
        page.wait_for_selector("#stop")
        release.set()
        page.wait_for_selector("#stop", state="detached")
        times = page.locator("#listing td:nth-child(2)").all_inner_texts()
        assert len(times) >= 20
        assert [float(t) for t in times] == sorted(float(t) for t in times)
        release.clear()
        page.goto(home + "/kernels?tile_m=32&tile_n=16")
        page.locator("#stop").click()
        page.get_by_text("The search was stopped").wait_for()
        assert page.locator("#listing tbody tr").count() >= 20
        assert page.url.endswith("/kernels?tile_m=32&tile_n=16")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_list_fits_and_its_rows_can_be_told_apart(
    browser: Browser, address: str, width: int, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(SLOWEST)
    page = context.new_page()
    page.goto(address)
    page.goto(address.partition("/?")[0] + "/kernels?list=sample&pipeline=compv4")
    page.wait_for_selector("#listing tbody tr")
    sizes = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert sizes[0] == sizes[1]
    outside = page.evaluate(
        "() => [...document.querySelectorAll('#listing td')].filter(c =>"
        " c.getBoundingClientRect().right > innerWidth || c.scrollWidth > c.clientWidth + 1).length"
    )
    assert outside == 0
    rows = page.locator("#listing tbody tr").all_inner_texts()
    assert len(set(rows)) == len(rows) == 20
    assert "compv4" not in "".join(rows)  # it was chosen, and stands above
    page.screenshot(path=tmp_path / "list.png")
    context.close()


def test_a_narrow_page_says_why(browser: Browser, address: str) -> None:
    """Paths of sources, which are long words, go on in the next line."""
    context = browser.new_context(viewport={"width": 390, "height": 900})
    context.set_default_timeout(SLOWEST)
    page = context.new_page()
    page.goto(address)
    query = "pipeline=compv4&field=double_smem_buffer&value=false"
    page.goto(f"{address.partition('/?')[0]}/why?{query}")
    assert page.locator("dl.rules code").count() > 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


def test_the_keyboard_alone_leads_from_choice_to_file(page: Page) -> None:
    """Through choosing, asking why, comparing and exporting."""

    def reached(selector: str) -> None:
        """Goes with the tabulator to a control."""
        at = f"() => document.activeElement.matches({selector!r})"
        for _ in range(400):
            page.keyboard.press("Tab")
            if page.evaluate(at):
                return
        raise AssertionError(selector)

    settle(page)
    reached("#pipeline-compv4")
    page.keyboard.press("Space")
    settle(page, pipeline="compv4")
    reached("#scheduler-interwave")
    page.keyboard.press("Enter")
    page.wait_for_selector("#core")
    reached("a.close")
    page.keyboard.press("Enter")
    page.wait_for_selector("#core", state="detached")
    page.evaluate("document.body.focus(); document.activeElement.blur()")
    reached('#pages a[href^="/kernels"]')
    page.keyboard.press("Enter")
    page.wait_for_selector("#listing[aria-busy=false] tbody tr")
    for _ in range(2):
        reached("#listing input[name=k]")
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_selector("tr.differs")
    page.evaluate("document.activeElement.blur()")
    reached('#pages a[href^="/export"]')
    page.keyboard.press("Enter")
    page.wait_for_selector("#command")
    reached("form[action='/file'] button")
    with page.expect_download() as begun:
        page.keyboard.press("Enter")
    assert begun.value.suggested_filename == "kernels.txt"


def test_a_value_that_never_is_says_why_when_pointed_at(page: Page) -> None:
    page.locator("details.never summary").first.click()
    chip = page.locator("details.never[open] .chip").first
    chip.hover()
    page.wait_for_function("() => /^[A-Z]+\\d+: /.test(document.getElementById('tip').textContent)")
    assert chip.get_attribute("aria-describedby") == "tip"
    page.mouse.move(0, 0)
    page.wait_for_selector("#tip", state="hidden")


def test_pictures_appear(page: Page) -> None:
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    page.get_by_role("link", name="Pictures").click()
    page.wait_for_selector("figure img")
    page.evaluate("() => document.querySelectorAll('img').forEach(i => { i.loading = 'eager'; })")
    page.wait_for_function(
        "() => [...document.images].every(i => i.complete && i.naturalWidth > 0)", timeout=SLOWEST
    )
    assert page.locator("figure img").count() > 3


def test_a_file_is_downloaded(page: Page, tmp_path: Path) -> None:
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    page.get_by_role("link", name="Export").click()
    page.get_by_label("At most").fill("7")
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download").click()
    begun.value.save_as(tmp_path / "kernels.txt")
    lines = (tmp_path / "kernels.txt").read_text().splitlines()
    assert len(lines) == 7
    assert all("_compv4_" in line for line in lines)


def test_a_space_of_a_file_is_looked_around_in(browser: Browser) -> None:
    """Choices count as the file's space does, a greyed value says why, the address keeps it."""
    from tests.explore import test_files

    about = test_files.about()
    with serving_of(about) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(SLOWEST)
        page = context.new_page()
        page.goto(address)
        assert count(page) == about.space.count()
        for name in ("MDIMC", "NDIMC"):
            page.click(f"#{name}-32")
            page.wait_for_selector(f'#{name}-32[aria-pressed="true"]')
        reach(page, about.space.bind(MDIMC=32, NDIMC=32).count())
        kept = page.url
        page.locator('a.chip.none:not([aria-pressed="true"])').first.click()
        page.wait_for_selector("#core")
        assert "cannot hold" in (page.text_content("#core") or "")
        page.goto(kept)
        reach(page, about.space.bind(MDIMC=32, NDIMC=32).count())
        context.close()


def test_a_kernels_way_through_lds_is_drawn(browser: Browser, tmp_path: Path) -> None:
    """The pictures of a kernel's page are loaded when they are opened."""
    from ckrules.explore import kernel_address
    from ckrules.explore.rows import at
    from ckrules.pictures.lds import KINDS

    books = Books("2025.11")
    given = {**GIVEN, "tile_m": 64, "tile_n": 64, "tile_k": 64, "pipeline": "compv3"}
    about = Subject(select(books, given), books, "CK 2025.11")
    point = about.space.where("warp_tile_m == 16 & warp_tile_n == 16 & vector_a == 8")[0]
    with serving_of(about) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 1600})
        context.set_default_timeout(SLOWEST)
        page = context.new_page()
        page.goto(address)
        kernel = at("/kernel", FieldChoice(), k=kernel_address.address(point, books))
        page.goto(address.partition("/?")[0] + kernel)
        for one in page.locator("details.of-kernel summary").all():
            one.click()
        page.wait_for_function(
            "n => [...document.querySelectorAll('.of-kernel img')].filter("
            "i => i.complete && i.naturalWidth > 100).length === n",
            arg=len(KINDS),
        )
        page.screenshot(path=tmp_path / "kernel.png")
        assert page.locator("table.lds tbody tr").count() >= 4
        context.close()


def test_words_of_a_kernels_page_are_whole(browser: Browser) -> None:
    """Neither labels of the drawing nor values in the tables are cut."""
    from ckrules.explore import kernel_address
    from ckrules.explore.rows import at

    books = Books("2025.11")
    given = {"variant": "rowcol_quant", "arch": "gfx942"}
    about = Subject(select(books, given), books, "CK 2025.11")
    wide = about.space.where("tile_m >= 256 & tile_n >= 256")
    points = [wide.sample(1, seed=s)[0] for s in (1, 2)]
    with serving_of(about) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(SLOWEST)
        page = context.new_page()
        page.goto(address)
        named = [kernel_address.address(p, books) for p in points]
        one = at("/kernel", FieldChoice(), k=named[0])
        for place in (one, f"{one}&{at('', FieldChoice(), k=named[1])[1:]}"):
            page.goto(address.partition("/?")[0] + place)
            cut = page.evaluate(
                "() => [...document.querySelectorAll('svg.tile text')].filter(t => {"
                " const b = t.getBBox(); return b.x < 0 || b.x + b.width >"
                " t.ownerSVGElement.viewBox.baseVal.width; }).map(t => t.textContent)"
            )
            assert cut == []
            broken = page.evaluate(
                "() => [...document.querySelectorAll('.facts td, .facts th')].filter(c =>"
                " c.textContent.length < 20 && !/[ -]/.test(c.textContent.trim()) &&"
                " c.getClientRects().length && (() => { const r = document.createRange();"
                " r.selectNodeContents(c); return r.getClientRects().length > 1; })())"
                ".map(c => c.textContent)"
            )
            assert broken == []
        context.close()

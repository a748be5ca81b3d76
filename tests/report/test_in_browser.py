"""A report in a real browser: light and dark, by keyboard, without scripts or a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import run
from tests.helpers.browser import SLOWEST, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.whole

pytest.importorskip("matplotlib")
CONTRAST = (Path(__file__).parents[1] / "helpers" / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a catalog: tables, pictures, and a picture that there is not."""
    place = tmp_path_factory.mktemp("report") / "report.html"
    done = run("report", "catalog", "tiny", "--arch", "gfx950", "-o", str(place))
    assert done.exit_code == 0, done.stderr
    return place


def opened(browser: Browser, file: Path, *, dark: bool = False, scripts: bool = True) -> Page:
    """The page in a context of its own, which must ask for the file alone and not complain."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light", java_script_enabled=scripts,
        viewport={"width": 800, "height": 900},
    )  # fmt: skip
    context.set_default_timeout(SLOWEST)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    others = [a for a in asked if not a.startswith("data:")]
    assert (others, said) == ([file.as_uri()], [])
    return page


@pytest.mark.parametrize("dark", [False, True])
def test_words_and_pictures_are_readable(browser: Browser, file: Path, dark: bool) -> None:
    page = opened(browser, file, dark=dark)
    assert page.evaluate(CONTRAST) == []
    ink = "() => [...document.querySelectorAll('figure svg')].map(s => getComputedStyle(s).color)"
    assert set(page.evaluate(ink)) == {"rgb(230, 230, 230)" if dark else "rgb(31, 35, 40)"}
    # No picture is wider than its page, and none has lost its words.
    wide = "() => document.documentElement.scrollWidth <= window.innerWidth"
    assert page.evaluate(wide)
    labels = page.locator("figure svg").first.locator("text").all_text_contents()
    assert {"forward", "bwd_data", "bwd_weight"} <= set(labels)
    names = [page.locator("figure svg").nth(i) for i in range(page.locator("figure svg").count())]
    assert all(n.get_attribute("role") == "img" for n in names)


def test_it_works_by_keyboard_and_without_scripts(browser: Browser, file: Path) -> None:
    """What a key does comes some time after the key."""
    from playwright.sync_api import expect

    page = opened(browser, file, scripts=False)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the report")
    folded = page.locator("details").first
    expect(folded.locator("table")).to_be_hidden()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(folded.locator("table")).to_be_visible()
    page.locator("nav a").nth(2).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*#section-3")
    expect(page.locator("#section-3")).to_be_in_viewport()

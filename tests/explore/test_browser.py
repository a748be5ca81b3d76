"""Choices in a real browser: counts, reasons, history, keyboard, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.explore.browsing import count, settle
from tests.explore.client import NAME, subject
from tests.helpers.browser import SLOWEST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.whole


def test_choices_are_made_and_taken_back(page: Page, tmp_path: Path) -> None:
    settle(page)
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    page.locator("#tile_m-64").click()
    settle(page, pipeline="compv4", tile_m=64)
    page.locator("#tile_m-128").click()
    settle(page, pipeline="compv4", tile_m=[64, 128])
    assert page.locator("#tile_m-128").get_attribute("aria-pressed") == "true"
    space = subject().space.bind(pipeline="compv4", tile_m=[64, 128])
    for value, n in space.counts_by("wave_m").items():
        assert page.locator(f"#wave_m-{value}").get_attribute("data-count") == str(n)
    page.screenshot(path=tmp_path / "choices.png")
    page.locator("#undo").click()
    settle(page, pipeline="compv4", tile_m=64)
    page.keyboard.press("Control+z")
    settle(page, pipeline="compv4")
    page.locator("#redo").click()
    settle(page, pipeline="compv4", tile_m=64)
    page.keyboard.press("Control+y")
    settle(page, pipeline="compv4", tile_m=[64, 128])
    assert page.locator("#redo").is_disabled()
    page.reload()
    settle(page, pipeline="compv4", tile_m=[64, 128])


@contextmanager
def held_back(page: Page, address: str) -> Iterator[None]:
    """Has the answer from an address that is asked for within come at the end."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile(address), hold)
    with page.expect_request(re.compile(address)):
        yield
    held.pop().continue_()
    page.unroute(re.compile(address))


def at_once(page: Page, *ids: str) -> None:
    """Clicks so fast that no answer is there in between."""
    page.evaluate("ids => ids.forEach(id => document.getElementById(id).click())", list(ids))


def test_no_click_is_lost_while_an_answer_is_awaited(page: Page) -> None:
    """Each is applied to what was chosen by then, and taken back by itself."""
    settle(page)
    at_once(page, "pipeline-compv4", "tile_m-64", "tile_m-128")
    settle(page, pipeline="compv4", tile_m=[64, 128])
    page.locator("#undo").click()
    settle(page, pipeline="compv4", tile_m=64)
    at_once(page, "undo")
    settle(page, pipeline="compv4")
    at_once(page, "tile_m-64", "pipeline-compv4", "tile_m-64", "pipeline-mem")
    settle(page, pipeline="mem")
    assert page.url.endswith("/?pipeline=mem")


def test_ten_clicks_in_one_turn_are_ten_choices(page: Page) -> None:
    settle(page)
    tiles = [f"tile_{axis}-{size}" for axis in "mn" for size in (32, 64, 128)]
    waves = [f"wave_{axis}-{n}" for axis in "mn" for n in (1, 2)]
    at_once(page, *tiles, *waves)
    three, two = [32, 64, 128], [1, 2]
    settle(page, tile_m=three, tile_n=three, wave_m=two, wave_n=two)
    assert page.locator('.chip[aria-pressed="true"]').count() == 10
    for name in (*tiles, *waves):
        assert page.locator(f"#{name}").get_attribute("aria-pressed") == "true"


def test_no_condition_is_lost_while_an_answer_is_awaited(page: Page) -> None:
    settle(page)
    page.evaluate(
        "() => { const line = document.getElementById('where');"
        " line.value = 'tile_m >= 64'; line.form.requestSubmit();"
        " document.getElementById('pipeline-compv4').click(); }"
    )
    wide = subject().space.bind(pipeline="compv4").where("tile_m >= 64").count()
    page.wait_for_function(
        "n => document.getElementById('total')?.dataset.count === n", arg=str(wide)
    )
    line = page.locator("#where")
    assert line.input_value() == "tile_m >= 64"
    with held_back(page, "wave_m=4"):
        page.locator("#wave_m-4").click()
        line.fill("tile_m >= 128")  # and not sent: the answer leaves it alone
    page.wait_for_selector('#wave_m-4[aria-pressed="true"]')
    page.wait_for_function("() => !document.body.classList.contains('busy')")
    assert line.input_value() == "tile_m >= 128"
    page.get_by_role("link", name="clear all").click()
    settle(page)


def test_a_reason_is_that_of_the_choice_awaited(page: Page) -> None:
    settle(page)
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    at_once(page, "tile_m-64", "scheduler-interwave")
    page.wait_for_selector("#core", timeout=SLOWEST)
    assert "pipeline = 'compv4' and scheduler = 'interwave'" in page.locator("#core").inner_text()
    settle(page, pipeline="compv4", tile_m=64)
    page.get_by_role("link", name=re.compile("give up pipeline = compv4")).click()
    settle(page, scheduler="interwave", tile_m=64)


def test_a_page_that_still_counts_says_so(page: Page) -> None:
    settle(page)
    said = "() => getComputedStyle(document.body, '::after').content"
    assert page.evaluate(said) == "none"
    with held_back(page, "pipeline=compv4"):
        page.locator("#pipeline-compv4").click()
        page.wait_for_function(f"() => ({said})().includes('Counting')")
        assert page.locator("#main").get_attribute("aria-busy") == "true"
    settle(page, pipeline="compv4")
    page.wait_for_function("() => !document.body.classList.contains('busy')")
    assert page.evaluate(said) == "none"


def test_a_greyed_value_leads_to_its_reason_and_on(page: Page) -> None:
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    page.locator("#scheduler-interwave").click()
    page.wait_for_selector("#core", timeout=SLOWEST)
    said = page.locator("#core").inner_text()
    assert "pipeline = 'compv4' and scheduler = 'interwave' cannot hold together" in said
    page.get_by_role("link", name=re.compile("give up pipeline = compv4")).click()
    settle(page, scheduler="interwave")


def test_the_keyboard_is_enough(page: Page) -> None:
    chip = page.locator("#pipeline-mem")
    chip.focus()
    page.keyboard.press("Space")
    settle(page, pipeline="mem")
    assert page.evaluate("document.activeElement.id") == "pipeline-mem"
    page.keyboard.press("Enter")
    settle(page)


def test_a_condition_is_completed_and_mended(page: Page) -> None:
    line = page.locator("#where")
    line.focus()
    page.keyboard.type("pipel")
    page.wait_for_selector("#proposals:not([hidden])")
    page.keyboard.press("Tab")
    assert line.input_value() == "pipeline"
    page.keyboard.type(" = 'mem'")
    page.get_by_text("column 10: compare with ==").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("where="))
    assert "column 10: compare with ==" in page.locator("#where-fault").inner_text()
    settle(page)  # counts go on without it
    line.fill("pipeline == 'mem'")
    page.keyboard.press("Escape")
    line.press("Enter")
    settle(page, pipeline="mem")
    page.locator("#undo").click()
    settle(page)


LATER = """() => {
  const line = document.getElementById("where");
  line.value = "pipel";
  line.setSelectionRange(5, 5);
  line.dispatchEvent(new Event("input", { bubbles: true }));
  return document.getElementById("proposals").hidden;
}"""


def test_proposals_are_for_what_is_written(page: Page) -> None:
    """Those for an earlier text would be put into the middle of a later one."""
    line = page.locator("#where")
    line.focus()
    page.keyboard.type("pi")
    page.wait_for_selector("#proposals:not([hidden])")
    assert page.evaluate(LATER)
    page.wait_for_selector("#proposals:not([hidden])")
    page.keyboard.press("Tab")
    assert line.input_value() == "pipeline"


def test_without_scripts_the_pages_work(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(SLOWEST)
    found = context.new_page()
    found.goto(address)
    found.locator("#pipeline-mem").click()
    assert count(found) == subject().space.bind(pipeline="mem").count()
    context.close()


def test_text_is_read_on_its_ground(page: Page) -> None:
    """WCAG 2.1 asks for a contrast of 4.5 of text; both schemes have it."""
    script = (Path(__file__).parents[1] / "helpers" / "contrast.js").read_text(encoding="utf-8")
    host = page.url.split("/?")[0].rstrip("/")
    two = f"k={NAME}&k={NAME.replace('64x64x64', '96x64x64')}"
    places = ("/?pipeline=compv4", "/?where=tile_m+=+64", "/kernels", f"/kernel?{two}", "/export")
    for place in places:
        page.goto(host + place)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert page.evaluate(script) == [], (place, scheme)


def test_every_control_has_a_name(page: Page) -> None:
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    nameless = page.evaluate(
        "() => [...document.querySelectorAll('a, button, input:not([type=hidden])')].filter(e =>"
        " !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length))"
        ".map(e => e.outerHTML)"
    )
    assert nameless == []


def test_without_an_answer_nothing_is_chosen(browser: Browser, address: str) -> None:
    context = browser.new_context()
    context.set_default_timeout(SLOWEST)
    page = context.new_page()
    page.goto(address)
    settle(page)
    before = page.url
    page.route(re.compile("pipeline=compv4"), lambda route: route.abort())
    page.locator("#pipeline-compv4").click()
    page.wait_for_selector("#lost")
    assert page.locator("#pipeline-compv4").get_attribute("aria-pressed") == "false"
    assert page.url == before
    page.unroute(re.compile("pipeline=compv4"))
    page.locator("#pipeline-compv4").click()
    settle(page, pipeline="compv4")
    assert page.locator("#pipeline-compv4").get_attribute("aria-pressed") == "true"
    context.close()

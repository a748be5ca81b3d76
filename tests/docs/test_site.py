"""The site of mkdocs.yml: it builds without a warning, and asks for nothing from other hosts."""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

import ckrules
from ckrules.checking.diagnostics import linked
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.output import rule_docs
from ckrules.output.rule_docs import every_rule
from tests.helpers.browser import SLOWEST, chromium
from tests.helpers.scripts import load

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[2]


class Loads(HTMLParser):
    """What a page asks for when it is opened, where it leads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        if tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.asked.append(found["href"])
        self.asked += [found[name] for name in ("src", "srcset", "poster") if name in found]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


@pytest.mark.parametrize("name", ["site_examples", "site_pages"])
def test_examples_of_what_makes_it(name: str) -> None:
    assert doctest.testmod(load(name)).failed == 0


WHOLE, PART = "every rule", "the first two rules of each family"
#: A link to the page of a rule.
LINK = re.compile(r"\[([^\]]*)\]\((?:rules/)?([A-Z]+\d+)\.md[^)]*\)")


def a_part() -> dict[str, tuple[RuleBook, Rule]]:
    """The first two rules of each family, by code."""
    rules = {r.code: (book, r) for book in Books().every() for r in book.rules}
    return {code: each for code, each in rules.items() if code.endswith(("001", "002"))}


@pytest.fixture(scope="module", params=[PART, pytest.param(WHOLE, marks=pytest.mark.certify)])
def rules(request: pytest.FixtureRequest) -> dict[str, tuple[RuleBook, Rule]] | None:
    """The rules with pages, None: all, which take as long as all else; `make certify` asks."""
    return None if request.param == WHOLE else a_part()


@pytest.fixture(scope="module")
def site(
    rules: dict[str, tuple[RuleBook, Rule]] | None, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The site; with a part of the rules, links to others are words."""
    out = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(out))
    with pytest.MonkeyPatch.context() as patch:
        if rules is not None:
            made = rule_docs.pages(rules)
            patch.setattr(rule_docs, "pages", lambda: made)
            config.plugins.events["page_markdown"].append(
                lambda text, **_: LINK.sub(lambda at: at[0] if at[2] in rules else at[1], text)
            )
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        config.plugins.on_shutdown()
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Loads]:
    found = sorted(site.rglob("*.html"))
    return {p.relative_to(site).as_posix(): Loads(p.read_text("utf-8")) for p in found}


@pytest.mark.slow
def test_nothing_is_asked_for_from_elsewhere(site: Path, pages: dict[str, Loads]) -> None:
    for name, page in pages.items():
        for address in page.asked:
            assert not urlsplit(address).scheme or address.startswith("data:"), (name, address)
            assert not address.startswith("//"), (name, address)
            if not address.startswith("data:") and name != "404.html":
                there = (site / name).parent / unquote(urlsplit(address).path)
                assert there.is_file(), (name, address)
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)", sheet.read_text("utf-8")):
            assert not address.strip("'\"").startswith(("http", "//")), (sheet, address)


def test_links_lead_to_pages_and_their_headings(pages: dict[str, Loads]) -> None:
    for name, page in pages.items():
        for link in page.links:
            at = urlsplit(link)
            if at.scheme or name == "404.html":
                continue
            target = (
                os.path.normpath(os.path.join(os.path.dirname(name), at.path)) if at.path else name
            )
            target = "index.html" if target == "." else target
            if target in pages:
                anchor = unquote(at.fragment)
                assert not anchor or anchor in pages[target].ids, (name, link)
            else:
                assert not target.endswith(".html"), (name, link)


def test_reports_can_link_to_it(
    pages: dict[str, Loads], rules: dict[str, tuple[RuleBook, Rule]] | None
) -> None:
    """The setting docs-url with {page} gives the pages of the site."""
    for code in every_rule() if rules is None else rules:
        assert linked("{page}.html", f"docs/rules/{code}.md") in pages
    path, _, anchor = linked("{page}.html", "docs/check.md#cfg001").partition("#")
    assert anchor in pages[path].ids


def test_the_reference_has_every_name(pages: dict[str, Loads]) -> None:
    ids = pages["api.html"].ids
    for name in ckrules.__all__:
        if not name.startswith("__"):
            value = getattr(ckrules, name)
            home = getattr(value, "__module__", "ckrules")
            assert f"{home}.{getattr(value, '__name__', name)}" in ids
    script = load("site_pages")
    for modules in script.MODULES.values():
        assert set(modules) <= ids


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[Page]:
    """The first page, opened from the disk; its index takes a while to be read."""
    with chromium() as browser:
        found = browser.new_page()
        found.set_default_timeout(SLOWEST)
        found.goto((site / "index.html").as_uri())
        yield found


def ask(page: Page, words: str) -> None:
    """Asks the search for some words: a key is what it hears."""
    line = page.locator("input.md-search__input")
    line.fill(words[:-1])
    line.press(words[-1])


def test_search_works_from_the_disk(site: Path, page: Page) -> None:
    """Without a server, at the top and below it; nothing is asked of another host."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("rules/TILE001.html", "index.html"):
        page.goto((site / name).as_uri())
        page.focus("input.md-search__input")
        page.locator("input.md-search__input").press_sequentially("swizzled")
        page.wait_for_selector("li.md-search-result__item", state="attached")
        first = page.locator("li.md-search-result__item a").first.get_attribute("href")
        assert first
        assert first.startswith((site / "rules").as_uri())
    assert [a for a in asked if not a.startswith(("file:", "data:"))] == []


FIRST = {
    "ckrules fix": "commands/fix.html",
    "ckrules why": "commands/why.html",
    "ckrules count": "commands/count.html",
    "certify numerics": "commands/certify-numerics.html",
    "rank kernels": "commands/rank.html",
    "TILE002": "rules/TILE002.html",
    "baseline": "check.html",
    "tutorial": "tutorial",
}


def test_search_finds_the_page_of_a_command_first(site: Path, page: Page) -> None:
    for words, wanted in FIRST.items():
        ask(page, words)
        there = f"{site.as_uri()}/{wanted}"
        page.wait_for_function(  # the answers to the words before it are shown until its own are
            "there => document.querySelector('li.md-search-result__item a')"
            "?.getAttribute('href').startsWith(there)",
            arg=there,
            timeout=60_000,
        )
        first = page.locator("li.md-search-result__item a").first.get_attribute("href")
        assert (first or "").startswith(there)


def test_search_finds_the_same_for_one_and_for_several(page: Page) -> None:
    found = []
    for words in ("kernel", "kernels"):
        ask(page, "zzzz")
        page.wait_for_selector("li.md-search-result__item", state="detached")
        ask(page, words)
        page.wait_for_selector("li.md-search-result__item", state="attached")
        links = page.locator("li.md-search-result__item a.md-search-result__link")
        found.append(
            (
                page.locator(".md-search-result__meta").inner_text(),
                [each.get_attribute("href").partition("?")[0] for each in links.all()[:5]],
            )
        )
    assert found[0] == found[1]


def test_pages_begin_with_what_they_are_about(site: Path, pages: dict[str, Loads]) -> None:
    """Who made a page is said at its end."""
    for name in pages:
        text = (site / name).read_text("utf-8")
        _, _, body = text.partition("<h1")
        first = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
        assert first is None or not re.match(r"Made (by|from)|Written by", first[1]), name


def test_the_first_page_says_how_to_begin(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8").partition('id="pages"')[0]
    text = re.sub(r"<[^>]*>", "", start)
    assert "pip install" in text
    assert text.count("$ ckrules ") == 3


def test_examples_are_code(site: Path) -> None:
    """And not quotations, which Markdown takes ``>>>`` for."""
    text = (site / "api.html").read_text("utf-8")
    assert "<blockquote>" not in text
    assert 'class="gp"' in text

"""Every source names a file or a document that docs/sources.md lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckrules.arch import features, load_all
from ckrules.constraints import catalogs
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.output.rule_docs import every_rule

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sources.md"

_FILE = re.compile(r"(?<![\w.])[\w./*{},…-]*[\w*}]\.(?:hpp|cpp|py|json|toml|td)\b")
_TITLE = re.compile(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
#: A label such as those of a private note: a letter or two, a dash and a number.
_LABEL = re.compile(r"\b[A-Z]{1,2}-[A-Z]?[0-9]+\b|\bsections? [0-9]")
#: Folders of this repository that sources may name.
_OWN = ("arch/", "constraints/", "docs/", "scripts/", "tests/")


def titles() -> tuple[str, ...]:
    """The documents that docs/sources.md lists."""
    return tuple(_TITLE.findall(PAGE.read_text(encoding="utf-8").split("## Documents")[1]))


def faults(source: str) -> Iterator[str]:
    """What is wrong with a source."""
    if _LABEL.search(source):
        yield "a label of a document that nobody has"
    for citation in re.split(r"; (?![^()]*\))", source):
        cited = _FILE.search(citation)
        if cited is None and not any(t in citation for t in titles()):
            yield f"no file and no document: {citation!r}"
        if cited and cited[0].startswith(_OWN) and not any(ROOT.glob(cited[0])):
            yield f"no such file here: {cited[0]}"


def every_source() -> Iterator[tuple[str, str]]:
    """Each source with who names it."""
    for gpu in load_all():
        yield from ((f"{gpu.name} [{section}]", text) for section, text in gpu.sources if text)
        yield from ((f"{gpu.name} {tile.shape}", tile.source) for tile in gpu.tiles)
    yield from ((f"feature {name}", text) for name, text in features().items())
    for code, (_, rule) in every_rule().items():
        yield from ((code, source) for source in rule.sources)
        for node in walk(rule.expr, rule.applies):
            if isinstance(node.data, Table) and node.data.source:
                yield f"{code}, table {node.data.name}", node.data.source
    for name in catalogs.names():
        catalog = catalogs.load(name)
        yield name, catalog.data.source
        yield from ((f"{name} {r.code}", s) for r in catalog.book().rules for s in r.sources)


def test_every_source_names_a_document() -> None:
    found = {who: bad for who, source in every_source() if (bad := list(faults(source)))}
    assert found == {}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("core/arch/arch.hpp get_warp_size, L-14", "a label"),
        ("rules W-1 and W-2 of a.hpp", "a label"),
        ("section 4, UniversalGemmBasePolicy", "a label"),
        ("AMD CDNA 3 ISA reference; features from the rules they name", "no file and no document"),
        ("AMD ISA manual, buffer_load widths", "no file and no document"),
        ("arch/data/gfx77.toml", "no such file here"),
        ("", "no file and no document"),
    ],
)
def test_a_source_that_names_nothing_is_refused(source: str, fault: str) -> None:
    assert any(fault in f for f in faults(source))


def test_every_listed_document_is_cited() -> None:
    cited = " ".join(source for _, source in every_source())
    assert len(titles()) > 5
    assert [t for t in titles() if t not in cited] == []


def test_no_label_is_left_in_the_code() -> None:
    """Comments and docstrings of the facts and rules cite no private notes either."""
    label = re.compile(r"\b[A-Z]-[A-Z]?[0-9]+\b")
    places = [
        f"{path.relative_to(ROOT)}: {hit[0]}"
        for folder in ("arch", "constraints", "docs")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".toml", ".md"}
        for hit in label.finditer(path.read_text(encoding="utf-8"))
    ]
    assert places == []

"""docs/style.md: the phrases that it rules out stand nowhere, and public class names are unique."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "docs" / "style.md"
PRODUCT = ("ckrules", "arch", "constraints", "codegen")
#: "is no X" for "is not an X"; "there is no X" and "is no longer than" are English.
NEGATION = re.compile(
    r"(?<!here )(?<!answer )\b(is|are|was|were)\s+no\s+"
    r"(?!longer\b|more\b|larger\b|less\b|such\b|older\b|higher\b|fewer\b)[a-z{`'\"]",
    re.IGNORECASE,
)


def phrases() -> list[str]:
    """What the columns "never" of the page rule out."""
    found = []
    for line in STYLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and line.endswith(" |"):
            found += re.findall(r"`([^`]+)`", line.rstrip(" |").rpartition(" | ")[2])
    return found


def sources() -> Iterator[Path]:
    """The modules of the product, each once."""
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(p.is_symlink() for p in path.parents):
                yield path


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Every string of a module with its line: docstrings, messages, and the parts of f-strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def found_in(text: str, never: re.Pattern[str]) -> list[str]:
    """The phrases of a text that are ruled out."""
    return [" ".join(m[0].split()) for p in (never, NEGATION) for m in p.finditer(text)]


@pytest.fixture(scope="module")
def never() -> re.Pattern[str]:
    written = (r"\s+".join(map(re.escape, p.split())) for p in phrases())
    return re.compile(rf"(?<![\w-])(?:{'|'.join(written)})(?![\w-])", re.IGNORECASE)


def test_the_page_rules_out_what_it_says(never: re.Pattern[str]) -> None:
    assert len(phrases()) > 25
    for text in ("K is no multiple of 4", "passed\n    over", "Shuffled weights", "x is no file"):
        assert found_in(text, never), text
    for text in ("there is no file", "is no longer than", "pre-shuffled weights", "canewall"):
        assert not found_in(text, never), text


def test_messages_and_docstrings_keep_to_the_page(never: re.Pattern[str]) -> None:
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for path in sources()
        for line, text in texts(path.read_text(encoding="utf-8"))
        for phrase in found_in(text, never)
    ]
    assert bad == []


def test_documents_keep_to_the_page(never: re.Pattern[str]) -> None:
    documents = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
    documents += sorted((ROOT / "ckrules" / "cli").rglob("*.txt"))
    bad = [
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in documents
        if path != STYLE
        for phrase in found_in(path.read_text(encoding="utf-8"), never)
    ]
    assert bad == []


def test_public_class_names_are_unique() -> None:
    places = defaultdict(list)
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {}

"""What the documents show is true: commands, Python examples and links."""

from __future__ import annotations

import doctest
import os
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs import consoles
from tests.helpers import rule_pages
from tests.helpers.scripts import load

ROOT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
DOCUMENTS = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in DOCUMENTS}
COMMANDS = [
    pytest.param(found, id=f"{name}:{found.line}")
    for name, text in TEXTS.items()
    if Path(name).name not in consoles.TYPED
    for found in consoles.consoles(text)
    if consoles.is_ours(found)
]
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("console", COMMANDS)
def test_a_command_prints_what_is_shown(console: consoles.Console) -> None:
    """Where a rule changed on purpose, `make docs` writes the outputs again."""
    output = consoles.run(console.command, console.files)

    if not consoles.matches(console.shown, output):
        pytest.fail(f"`make docs` would write:\n{output}", pytrace=False)


@pytest.mark.parametrize("name", TEXTS)
def test_questions_of_a_page_are_decided(name: str) -> None:
    """Outputs are written again when they change; an answer that was lost is no new output."""
    lost = ("undecided:", "error: more than", "error: internal")
    assert not [line for line in TEXTS[name].splitlines() if line.startswith(lost)]


@pytest.mark.parametrize("name", [n for n in TEXTS if Path(n).name in consoles.TYPED])
@pytest.mark.whole
def test_a_page_typed_from_top_to_bottom_gives_what_it_shows(name: str) -> None:
    for console, output in consoles.typed(TEXTS[name]):
        if not consoles.matches(console.shown, output):
            pytest.fail(f"$ {console.command}\n`make docs` would write:\n{output}", pytrace=False)


@pytest.mark.parametrize("name", [n for n, text in TEXTS.items() if "\n>>> " in text])
def test_python_examples(name: str) -> None:
    """Each ``>>>`` example gives the answer below it."""
    failures, tried = doctest.testfile(
        str(ROOT / name), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
    )

    assert tried > 0
    assert failures == 0


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    """Relative links name files that exist, and anchors name headings of theirs."""
    assert _dead(name, TEXTS[name]) == []


def test_links_of_rule_pages_lead_somewhere() -> None:
    assert [f"{n}: {dead}" for n, text in _made().items() for dead in _dead(n, text)] == []


@pytest.mark.parametrize("target", ["rules/TILE001.md#none", "rules/NONE001.md", "none.md", "#no"])
def test_dead_links_are_found(target: str) -> None:
    text = f"[a](rules/TILE001.md#why) [b](cli.md) [c](https://a.example) [d]({target})\n"
    assert _dead("docs/index.md", text) == [target]


def _dead(name: str, text: str) -> list[str]:
    """The links of a document that lead nowhere; docs/rules/ holds what would be made."""
    dead = []
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = os.path.normpath(Path(name).parent / path) if path else name
        file = ROOT / to
        there = text if to == name else _made().get(to) or (file.exists() and _text(file))
        if there is False or (anchor and anchor not in _anchors(there)):
            dead.append(target)
    return dead


@cache
def _made() -> dict[str, str]:
    """The pages of rules and commands, which the repository does not hold, by their places."""
    made = {"rules": rule_pages.made(), "commands": load("site_pages").commands()}
    return {f"docs/{f}/{name}": text for f, some in made.items() for name, text in some.items()}


def test_pages_of_commands_are_their_help() -> None:
    """They lacked ``-h``, and the commands did not know it any more in that process."""
    made = {n: text for n, text in _made().items() if n.startswith("docs/commands/")}
    made.pop("docs/commands/README.md")
    assert made
    assert [name for name, text in made.items() if "  -h, --help " not in text] == []


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.suffix == ".md" else ""


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_the_readme_is_covered() -> None:
    """A change of the notation must not leave the examples untested."""
    readme = [c for c in consoles.consoles(TEXTS["README.md"]) if consoles.is_ours(c)]

    assert len(readme) >= 5
    assert ">>> " in TEXTS["README.md"]


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("a b\n", "a b\n", True),
        ("a b\n", "a c\n", False),
        ("a … c\n", "a long b c\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("(a|b).\n", "a\n", False),
    ],
)
def test_elisions(shown: str, output: str, same: bool) -> None:
    """``…`` stands for characters in a line and, alone, for lines; all else is literal."""
    assert consoles.matches(shown, output) is same


def test_outputs_are_written_anew(tmp_path: Path) -> None:
    """Only what is not true any more changes, and what was cut stays cut."""
    page = tmp_path / "page.md"
    true = f"$ ckrules --version\n{consoles.run('ckrules --version')}"
    stale = "$ ckrules archs\nno such head\n…\n"
    page.write_text(f"```console\n{true}{stale}```\n", encoding="utf-8")
    consoles.main([str(page)])
    head = consoles.run("ckrules archs").splitlines()[0]

    assert (
        page.read_text(encoding="utf-8") == f"```console\n{true}$ ckrules archs\n{head}\n…\n```\n"
    )


def test_titled_blocks_are_files(tmp_path: Path) -> None:
    """Commands find what the page shows before them."""
    text = '```text title="a.txt"\none\n```\n\n```console\n$ ckrules --version; cat a.txt\n```\n'
    (found,) = consoles.consoles(text)
    assert found.files == {"a.txt": "one\n"}
    assert consoles.run(found.command, found.files).endswith("\none\n")


@pytest.mark.parametrize(
    "command", ["ckrules cont --arch gfx942", "ckrules archs", "ckrules count --variant forward"]
)
def test_a_command_called_here_prints_what_a_shell_prints(command: str, tmp_path: Path) -> None:
    words = consoles.plain(command)
    assert words is not None
    assert consoles.called(words, tmp_path) == consoles.Shell(tmp_path).run(command)


@pytest.mark.parametrize(
    "command",
    [
        "ckrules archs | head", "ckrules check *.json", "ckrules check a > b", "python a.py",
        "ckrules check - <<< '{}'", "ckrules archs; ls", "ckrules check $HOME",
    ],
)  # fmt: skip
def test_what_a_shell_has_to_read_is_left_to_it(command: str) -> None:
    assert consoles.plain(command) is None


def test_quoted_operators_are_words() -> None:
    command = "ckrules count --where 'tile_m > 64' \\\n  a.json#/0"
    assert consoles.plain(command) == ["count", "--where", "tile_m > 64", "a.json#/0"]


def test_blocks_are_read_with_their_lines() -> None:
    """Continued commands are one command; other blocks are not consoles."""
    text = "x\n```console\n$ ckrules a \\\n    b\nout\n$ make run\n```\n```sh\n$ ckrules c\n```\n"

    assert list(consoles.consoles(text)) == [
        consoles.Console("ckrules a \\\n    b", "out\n", 3),
        consoles.Console("make run", "", 6),
    ]

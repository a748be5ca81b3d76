"""``rules``, ``explain`` and ``archs``, some of their output held by golden files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules import arch
from ckrules.cli.commands import rules
from ckrules.cli.glossary import Glossary
from ckrules.cli.group import cli
from ckrules.kernels.books import Books
from tests.cli.run import ILLEGAL, run

Golden = Callable[[str, str], None]
BOOKS = Books().every()
RULES = [(book, rule) for book in BOOKS for rule in book.rules]
WORDS = Glossary(Books())
# Books share rules and fields: each is asked for once.
CODES = list(dict.fromkeys(rule.code for _, rule in RULES))
NAMES = list(dict.fromkeys(name for book in BOOKS for name in book.vocabulary.names()))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("explain_TILE001.md", ["explain", "TILE001"]),
        ("archs_gfx1201.md", ["archs", "gfx1201"]),
        ("archs.txt", ["archs"]),
        ("check_verdicts.jsonl", ["check", "--arch", "gfx942", "--verdicts", ILLEGAL]),
        ("check_help.txt", ["check", "--help"]),
    ],
)
def test_output_is_as_recorded(golden: Golden, name: str, words: list[str]) -> None:
    golden(f"cli/{name}", run(*words).stdout)


def test_rules_lists_every_rule_once() -> None:
    listed = json.loads(run("rules", "--format", "json").stdout)
    assert sorted(r["code"] for r in listed) == sorted(r.code for _, r in RULES)
    lines = run("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [r.code for _, r in RULES]


def test_rules_are_selected() -> None:
    def codes(*words: str) -> list[str]:
        listed = run("rules", "--format", "jsonl", *words).stdout.splitlines()
        return [json.loads(line)["code"] for line in listed]

    assert codes("--topic", "tile") == [r.code for _, r in RULES if r.topic == "TILE"]
    two = [r.code for _, r in RULES if r.topic in ("TILE", "LDS")]
    assert codes("--topic", "LDS,tile") == two
    assert codes("--kind", "launch") == [r.code for _, r in RULES if r.kind == "launch"]
    assert codes("--severity", "warning") == [r.code for _, r in RULES if r.severity == "warning"]
    assert codes("--variant", "forward_depthwise") == [r.code for r in BOOKS[1].rules]


@pytest.mark.parametrize("command", ["rules", "graph"])
def test_topics_are_the_same_everywhere(command: str) -> None:
    shown = run(command, "--topic", "lds,SK")
    assert (shown.exit_code, shown.stderr.count("no ")) == (0, 0)
    assert "'TIL': did you mean 'TILE'" in run(command, "--topic", "til").stderr
    other = run(command, "--topic", "disp")
    assert other.exit_code == 0
    assert "ckrules explain DISP lists those of all profiles" in other.stderr
    assert "ckrules explain" not in run(command, "--topic", "disp", "--profile", "dispatcher",
                                        "--format", "json").stderr  # fmt: skip


@pytest.mark.parametrize("word", [*CODES[::20], *NAMES[::20]])
def test_the_page_of_a_word_is_printed(word: str) -> None:
    shown = run("explain", word.lower())
    assert (shown.exit_code, shown.stdout.rstrip("\n")) == (0, WORDS.page(word).rstrip("\n"))


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_a_page(code: str) -> None:
    page = WORDS.page(code.lower())
    assert page.startswith(f"# {code}: ")
    for heading in ("## Condition", "## Examples", "## Source"):
        assert f"\n{heading}\n" in page
    assert "\n- rejected: " in page
    after = page.split("- rejected: ")[1].splitlines()[1]
    assert after.startswith("  - ")


@pytest.mark.parametrize("name", NAMES)
def test_every_field_and_quantity_has_a_page(name: str) -> None:
    assert WORDS.page(name).startswith(f"# {name}\n")


def test_a_rule_is_found_by_its_name_and_a_family_by_its_letters() -> None:
    assert run("explain", RULES[0][1].name).stdout == run("explain", RULES[0][1].code).stdout
    assert run("explain", "TILE").stdout.startswith("# TILE: ")


def test_a_field_shows_values_range_and_default() -> None:
    assert "- default: true" in run("explain", "pad_m").stdout
    page = run("explain", "tile_m").stdout
    assert "- also accepted by check: 1 to 65536" in page
    assert "- TILE001 " in page


def test_archs_lists_every_gpu() -> None:
    lines = run("archs").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(arch.known())
    listed = json.loads(run("archs", "--format", "json").stdout)
    assert [g["name"] for g in listed] == list(arch.known())
    one = json.loads(run("archs", "gfx942:xnack-", "--format", "json").stdout)
    assert one == next(g for g in listed if g["name"] == "gfx942")


def test_a_gpu_of_the_user(tmp_path: Path) -> None:
    own = Path(arch.__file__).parent / "data" / "gfx942.toml"
    path = tmp_path / "gfx999.toml"
    path.write_text(own.read_text().replace('name = "gfx942"', 'name = "gfx999"'))
    assert "gfx999" in run("archs", "--arch-file", str(path)).stdout
    result = run("check", "--arch-file", str(path), "--arch", "gfx999", ILLEGAL)
    assert result.exit_code == 1
    assert "TILE001" in result.stdout


@pytest.mark.parametrize(("columns", "kinds"), [("40", False), ("80", True)])
def test_rules_on_a_narrow_terminal(
    columns: str, kinds: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(rules, "is_terminal", lambda _: True)
    with cli.make_context("ckrules", ["rules", "--topic", "TILE"]) as context:
        cli.invoke(context)
    shown = capsys.readouterr().out
    assert all(len(line) <= int(columns) for line in shown.splitlines())
    assert ("wrong-result" in shown) == kinds
    assert "The block tile's M is a" in shown

"""Evidence of rules: the file, what counts of it, and where it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckrules.constraints import book
from ckrules.kernels import evidence
from ckrules.kernels.evidence import CertifyRun, Tally
from ckrules.kernels.families import families
from ckrules.support.errors import UsageError
from tests.cli.run import run, write


def a_run(code: str = "TILE001", known: str = "", drawn: str = "-n 1", **more: int) -> CertifyRun:
    """A run that confirmed a rule twice."""
    rule = book("forward", ck="2025.11")[code]
    rules = {code: (Tally(2, 1, more.get("refuted", 0)), known or evidence.fingerprint(rule))}
    return CertifyRun("compiler", "gfx942", "2025.11", "clang 19", drawn, 7, 0, rules)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that all families are asked to have their evidence in; nothing is in it yet."""
    path = tmp_path / "evidence.toml"
    monkeypatch.setattr(evidence, "place", lambda family: path if family.name == "conv" else Path())
    monkeypatch.setattr(evidence, "read", lambda p, real=evidence.read: real(p) if p.name else [])
    evidence.evidence.cache_clear()
    yield path
    evidence.evidence.cache_clear()


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    runs = [a_run(drawn='-n 1 --where "a\\b"'), a_run("VEC004")]
    path = tmp_path / "e.toml"
    path.write_text(evidence.text(sorted(runs, key=lambda r: r.identity)))
    assert evidence.read(path) == sorted(runs, key=lambda r: r.identity)
    assert evidence.read(tmp_path / "none.toml") == []


def test_a_run_takes_the_place_of_the_same_one() -> None:
    before = [a_run(), a_run(drawn="-n 2")]
    after = evidence.merged(before, a_run(refuted=1))
    assert len(after) == 2
    assert [r.rules["TILE001"][0].refuted for r in after] == [1, 0]


def test_damaged_files_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    for content in ("run = 3", "[[run]]\nmethod = 1", "= 2", "[[run]]\n[run.rules]\nA = [1]"):
        path.write_text(content)
        with pytest.raises(UsageError, match=r"e\.toml"):
            evidence.read(path)


def test_tallies_are_added_up(told: Path) -> None:
    numeric = CertifyRun("numerics", "gfx1201", "2025.11", "clang 19", "-n 9", rules=a_run().rules)
    told.write_text(evidence.text([a_run(), a_run(drawn="-n 2", refuted=1), numeric]))
    found = evidence.of("TILE001")
    assert str(found) == "compiler: 4 confirmed, 1 refuted; numerics: 2 confirmed"
    assert found.proven
    assert found.tallies["compiler", "gfx942", "2025.11"] == Tally(4, 2, 1)
    assert str(evidence.of("VEC004")) == "read only"


def test_a_run_does_not_count_for_a_rule_that_has_changed_since(told: Path) -> None:
    told.write_text(evidence.text([a_run(known="00000000")]))
    assert not evidence.of("TILE001").proven


def test_where_it_is_shown(told: Path, tmp_path: Path) -> None:
    told.write_text(evidence.text([a_run()]))
    page = run("explain", "TILE001").stdout
    assert "## Evidence\n\n| held against |" in page
    assert "| compiler | gfx942 | 2025.11 | 2 | 1 | 0 |" in page
    assert "Read only: neither" in run("explain", "VEC004").stdout
    rules = book("forward", ck="2025.11")
    proven = write(tmp_path, "a.json", rules.example({"tile_m": 96}))
    words = ["check", "--ck", "2025.11", "--format"]
    found = json.loads(run(*words, "json", proven).stdout)
    assert {d["code"]: d["evidence"] for d in found}["TILE001"] == "compiler: 2 confirmed"
    read = write(tmp_path, "b.json", rules.example({"num_groups_to_merge": 2}))
    note = "note: this rule was read from sources; nothing has confirmed it yet"
    assert note in run(*words, "full", read).stdout
    listed = run(
        "enumerate", "--arch", "gfx942", "--ck", "2025.11", "--limit", "1", "--format", "csv"
    )
    assert (
        "rules decide: 1 by the compiler, 0 by the back end, 0 by runs confirmed" in listed.stderr
    )


def test_the_families_files_are_in_order() -> None:
    """They say what a rule is called today, and were written by the command."""
    for family in families().values():
        path = evidence.place(family)
        runs = evidence.read(path)
        if path.exists():
            assert path.read_text() == evidence.text(runs)
        for each in runs:
            known = {r.code for r in evidence.rules_of(family, each.ck)}
            gone = each.rules.keys() - known
            assert len(gone) <= len(each.rules), gone

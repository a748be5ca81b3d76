"""Evidence of rules: the file, what counts of it, and where it is shown."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from ckrules.arch import CK_VERSIONS, known
from ckrules.constraints import book
from ckrules.kernels import evidence, standing
from ckrules.kernels.evidence import CertifyRun, Ground, RejectionTally
from ckrules.kernels.families import families, family_of
from ckrules.kernels.family import Family
from ckrules.kernels.standing import CONFIRMED, ELSEWHERE, READ_ONLY, REFUTED, Scope
from ckrules.support.errors import UsageError
from tests.cli.run import run, write


def a_run(code: str = "TILE001", known: str = "", drawn: str = "-n 1", **more: int) -> CertifyRun:
    """A run that confirmed a rule twice."""
    rule = book("forward", ck="2025.11")[code]
    rules = {
        code: (RejectionTally(2, 1, more.get("refuted", 0)), known or evidence.fingerprint(rule))
    }
    return CertifyRun("compiler", "gfx942", "2025.11", "clang 19", drawn, 7, 0, rules)


@pytest.fixture
def told(tmp_path: Path, own_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that all families are asked to have their evidence in; nothing is in it yet."""
    path = tmp_path / "evidence.toml"
    monkeypatch.setattr(evidence, "place", lambda family: path if family.name == "conv" else Path())
    monkeypatch.setattr(evidence, "read", lambda p, real=evidence.read: real(p) if p.name else [])
    return path


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


def stands(
    code: str = "TILE001", *archs: str, ck: str = "2025.11", variant: str = "forward"
) -> str:
    """How a rule stands, in words."""
    scope = Scope(family_of(variant).name, ck, archs)
    return str(standing.of_rule(book(variant, ck=ck)[code], scope))


def test_tallies_are_added_up(told: Path) -> None:
    numeric = CertifyRun("numerics", "gfx1201", "2025.11", "clang 19", "-n 9", rules=a_run().rules)
    told.write_text(evidence.text([a_run(), a_run(drawn="-n 2"), numeric]))
    condition = evidence.fingerprint(book("forward", ck="2025.11")["TILE001"])
    ground = Ground("conv", "2025.11", "gfx942", "compiler", condition)
    assert evidence.of("TILE001")[ground] == RejectionTally(4, 2, 0)
    assert stands() == "confirmed: compiler 4, numerics 2"
    assert stands("TILE001", "gfx942") == "confirmed: compiler 4"
    assert stands("VEC004") == "read only"


def test_evidence_is_that_of_the_kernels_asked_about(told: Path) -> None:
    """Another GPU, release or family is another place, and is named."""
    told.write_text(evidence.text([a_run("TILE005")]))
    where = "confirmed elsewhere (conv of CK 2025.11 on gfx942)"
    assert stands("TILE005", "gfx1201") == where
    assert stands("TILE005", "gfx942", ck="2026.06") == where
    assert stands("TILE005", "gfx942", variant="standard") == where


def test_another_condition_is_not_the_same_rule(told: Path) -> None:
    """Families narrow what they inherit; evidence of the one is none of the other."""
    code = "VEC002"
    ours, theirs = (book(v, ck="2025.11")[code] for v in ("forward", "standard"))
    assert evidence.fingerprint(ours) != evidence.fingerprint(theirs)
    told.write_text(evidence.text([a_run(code)]))
    assert stands(code) == "confirmed: compiler 2"
    assert stands(code, variant="standard") == "read only"


def test_what_was_refuted_is_told_first(told: Path) -> None:
    told.write_text(evidence.text([a_run(), a_run(drawn="-n 2", refuted=1)]))
    assert stands() == "refuted (conv of CK 2025.11 on gfx942)"
    rules = book("forward", ck="2025.11").rules
    line = standing.sentence(rules, Scope("conv", "2025.11", ("gfx942",)))
    assert "none confirmed there; 1 refuted (TILE001: conv of CK 2025.11 on gfx942)" in line


def test_the_parts_of_each_line_add_up() -> None:
    """For every family, release and GPU, each rule is in one part, and what is said of it holds."""
    for family, ck in product(families().values(), CK_VERSIONS):
        rules = evidence.rules_of(family, ck)
        for gpu in known():
            scope = Scope(family.name, ck, (gpu,))
            parts = standing.parts(rules, scope)
            codes = [rule.code for part in parts.values() for rule, _ in part]
            assert sorted(codes) == sorted(rule.code for rule in rules)
            line = standing.sentence(rules, scope)
            numbers = re.findall(
                r"(?:: |; )(\d+|none)(?= (?:confirmed|elsewhere|refuted|read))", line
            )
            assert sum(int(n) for n in numbers if n != "none") == len(rules), line
            here = {g for run in of_file(family, ck, gpu) for g in run.rules}
            assert {rule.code for rule, _ in parts[CONFIRMED]} <= here
            for word in (ELSEWHERE, REFUTED):
                assert all(own.tallies for _, own in parts[word])
            assert not any(own.tallies for _, own in parts[READ_ONLY])


@cache
def of_own_file(family: Family) -> list[CertifyRun]:
    """The runs of a family's own file."""
    return evidence.read(evidence.place(family))


def of_file(family: Family, ck: str, gpu: str) -> list[CertifyRun]:
    """Those for a release and GPU."""
    return [run for run in of_own_file(family) if (run.ck, run.arch) == (ck, gpu)]


def test_nothing_is_confirmed_of_kernels_that_nobody_ran() -> None:
    """No headers of CK 2026.06 are here, and upstream's threads name no kernels of these GPUs."""
    for variant, gpu in (("forward", "gfx1201"), ("standard", "gfx1200"), ("flatmm", "gfx942")):
        scope = Scope(family_of(variant).name, "2026.06", (gpu,))
        line = standing.sentence(book(variant, ck="2026.06").rules, scope)
        assert ": none confirmed there; " in line


def test_a_run_does_not_count_for_a_rule_that_has_changed_since(told: Path) -> None:
    told.write_text(evidence.text([a_run(known="00000000")]))
    assert stands() == "read only"


def test_where_it_is_shown(told: Path, tmp_path: Path) -> None:
    told.write_text(evidence.text([a_run(), a_run("PIPE004", refuted=1)]))
    page = run("explain", "TILE001").stdout
    assert "## Evidence\n\n| kernels | CK | the rule is |" in page
    assert "| conv | 2025.11 | confirmed: conv of CK 2025.11 on gfx942 |" in page
    assert "| conv | 2026.06 | confirmed elsewhere: conv of CK 2025.11 on gfx942 |" in page
    assert "| compiler | conv | gfx942 | 2025.11 | 2 | 1 | 0 |" in page
    assert "Read only: neither" in run("explain", "VEC004").stdout
    rules = book("forward", ck="2025.11")
    proven = write(tmp_path, "a.json", rules.example({"tile_m": 96}))

    def told_by(ck: str) -> str:
        found = json.loads(run("check", "--ck", ck, "--format", "json", proven).stdout)
        return {d["code"]: d["evidence"] for d in found}["TILE001"]

    assert told_by("2025.11") == "confirmed: compiler 2"
    assert told_by("2026.06") == "confirmed elsewhere (conv of CK 2025.11 on gfx942)"
    read = write(tmp_path, "b.json", rules.example({"num_groups_to_merge": 2}))
    note = "note: this rule was read from sources; nothing has confirmed it yet"
    words = ["check", "--ck", "2025.11", "--format", "full"]
    assert note in run(*words, read).stdout
    doubt = write(tmp_path, "c.json", rules.example(rules["PIPE004"].rejects[0].fields))
    fine = "note: kernels that break this rule were fine (conv of CK 2025.11 on gfx942)"
    assert fine in run(*words, doubt).stdout
    listed = run(
        "enumerate", "--arch", "gfx942", "--ck", "2025.11", "--limit", "1", "--format", "csv"
    )
    assert (
        "rules decide for conv of CK 2025.11 on gfx942: 1 confirmed there; 1 refuted (PIPE004"
        in (listed.stderr)
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


def test_rules_that_the_compiler_settled_are_confirmed_there() -> None:
    """Three kernels that break each rule alone were compiled, and none compiles."""
    for variant, gpu, codes in (
        ("aquant", "gfx942", ("QUANT020", "QUANT021", "QUANT022", "QUANT032")),
        ("standard", "gfx942", ("GEMM028",)),
        ("standard", "gfx950", ("GEMM028",)),
    ):
        for code in codes:
            assert stands(code, gpu, variant=variant).startswith("confirmed: compiler"), code


def test_a_file_without_runs_is_one_of_evidence(tmp_path: Path) -> None:
    """It was refused as somebody else's, so that a script could not write its runs again."""
    file = tmp_path / "evidence.toml"
    file.write_text(evidence.text([]), encoding="utf-8")
    assert evidence.read(file) == []

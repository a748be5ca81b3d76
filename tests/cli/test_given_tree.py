"""The tree that is given says which version's rules count, and evidence of it stays with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.cli.certifying import CertifySetup
from ckrules.compiling import toolchain
from ckrules.constraints import book
from ckrules.kernels import evidence
from ckrules.kernels.evidence import CertifyRun, RejectionTally
from ckrules.kernels.trees import read_tree
from tests.cli.run import run
from tests.helpers.trees import since, tree

COUNT = ("count", "--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "2")
ILLEGAL = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_96x64x64_2x2x1_32x32x8_vec4_8_8"


@pytest.fixture(autouse=True)
def own(own_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without settings to work in, and one for the user's data."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def said(*words: str) -> str:
    found = run(*COUNT, *words)
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("ck", ["2025.11", "2026.06"])
@pytest.mark.parametrize("way", ["environment", "settings"])
def test_the_version_is_that_of_the_tree(
    ck: str, way: str, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree(own / "include", since(ck))
    if way == "environment":
        monkeypatch.setenv("CKRULES_CK_INCLUDE", str(folder))
    else:
        (own / "ckrules.toml").write_text('ck-include = "include"\n', encoding="utf-8")
    assert said() == said("--ck", ck)
    assert said("--ck", "2025.11") != said("--ck", "2026.06")


def test_a_nearer_word_counts(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree(own / "include", since("2025.11"))
    (own / "ckrules.toml").write_text('ck = "2026.06"\n', encoding="utf-8")
    assert said() == said("--ck", "2026.06")
    monkeypatch.setenv("CKRULES_CK_INCLUDE", str(folder))
    assert said() == said("--ck", "2025.11")
    monkeypatch.setenv("CKRULES_CK", "2026.06")
    found = run(*COUNT)
    assert found.stdout == said("--ck", "2026.06")
    assert f"{folder}: headers of CK 2025.11, judged as 2026.06" in found.stderr


def test_check_follows_the_tree_and_tells_one_between(own: Path) -> None:
    folder = tree(own / "include", [m for m in since("2026.06") if "EPI011" not in m.rules])
    found = run("check", "--arch", "gfx942", "--ck-include", str(folder), ILLEGAL)
    assert found.exit_code == 1
    assert "between CK 2025.11 and 2026.06, judged as 2026.06: lacks cshuffle's" in found.stderr
    assert "EPI011" in found.stderr


@pytest.mark.parametrize("command", [COUNT, ("check", "--arch", "gfx942", ILLEGAL)])
def test_a_folder_that_is_not_a_tree_is_one_line(
    command: tuple[str, ...], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CKRULES_CK_INCLUDE", str(own / "nowhere"))
    found = run(*command)
    assert found.exit_code == 2
    assert found.stderr.startswith("error: CKRULES_CK_INCLUDE: ")
    assert "no ck_tile/core.hpp in it" in found.stderr


def test_evidence_of_a_tree_counts_there(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree(own / "include", since("2026.06"))
    words = ("enumerate", "--variant", "forward", "--arch", "gfx942", "--limit", "1")
    monkeypatch.setenv("CKRULES_CK_INCLUDE", str(folder))
    name = read_tree(folder).name
    before = run(*words).stderr
    assert f"decide for conv of CK {name} on gfx942: none confirmed there" in before
    rule = book("forward", ck="2026.06")["EPI010"]
    rules = {"EPI010": (RejectionTally(2, 1, 0), evidence.fingerprint(rule))}
    made = CertifyRun("compiler", "gfx942", "2026.06", "clang 22", "-n 1", 1, 0, rules)
    kept(replace(made, drawn="-n 2", agreed=2, rules={}), str(folder))  # nothing was rejected
    assert "agreed = 2" in evidence.own_place(name).read_text()
    kept(made, str(folder))
    assert f"conv of CK {name} on gfx942: 1 confirmed there" in run(*words).stderr
    monkeypatch.delenv("CKRULES_CK_INCLUDE")
    elsewhere = run(*words).stderr
    assert "none confirmed there" in elsewhere
    assert f"CK {name}" in elsewhere


def kept(made: CertifyRun, include: str) -> None:
    """Has a run kept as `ckrules certify --ck-include` keeps it."""
    from ckrules.certify.choice import CertifyChoice
    from ckrules.kernels.books import Books

    books = Books("2026.06")
    gpu = next(g for g in books.gpus if g.name == "gfx942")
    choice = CertifyChoice(books, gpu, ("forward",))
    CertifySetup(choice, None, include, 1.0, print, None, None).keep(made)
    evidence.evidence.cache_clear()


def test_compilers_get_the_whole_path_of_a_tree(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is named from where the command runs, and compilers run elsewhere."""
    folder = tree(own / "work" / "include", since("2025.11"))
    monkeypatch.setattr(toolchain, "find_compiler", lambda *_: ("clang", "clang++"))
    monkeypatch.setattr(toolchain, "find_rocm", lambda: own)
    assert toolchain.with_headers("include", None, "gfx942").include == folder

"""Which version judges a CK tree, and what is told of trees between two."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.arch import CK_VERSIONS
from ckrules.compiling import toolchain
from ckrules.kernels import evidence
from ckrules.kernels.families import families
from ckrules.kernels.trees import Mark, marks, read_tree
from ckrules.support.errors import UsageError
from tests.helpers.trees import since, tree


@pytest.mark.parametrize("ck", CK_VERSIONS)
def test_a_tree_of_a_version_is_of_that_version(ck: str, tmp_path: Path) -> None:
    found = read_tree(tree(tmp_path, since(ck)))
    assert (found.ck, found.astray, found.note) == (ck, (), "")


#: Those of which no other mark of the same file has a word.
ALONE = [m for m in marks() if len(m.words) == 1 and m.since != CK_VERSIONS[-1]]


@pytest.mark.parametrize("left", ALONE, ids=lambda m: f"{m.since}-{m.rules[0]}")
def test_a_tree_without_one_mark_names_its_rules(left: Mark, tmp_path: Path) -> None:
    found = read_tree(tree(tmp_path, [m for m in marks() if m is not left]))
    assert (found.ck, found.astray) == (CK_VERSIONS[-1], (left,))
    assert f"lacks {found.astray[0].what}" in found.note
    assert all(code in found.note for code in found.astray[0].rules)


def test_half_of_a_versions_marks_are_taken_for_the_newer(tmp_path: Path) -> None:
    june = since("2026.06")
    found = read_tree(tree(tmp_path, june[:3]))
    assert found.ck == "2025.11"
    assert "between CK 2025.11 and 2026.06, judged as 2025.11: has" in found.note
    assert read_tree(tree(tmp_path / "more", june[:4])).ck == "2026.06"


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    folder = tree(tmp_path, since("2026.06"))
    (folder / "ck_tile" / marks()[0].file).unlink()
    assert (read_tree(folder).ck, read_tree(folder).astray) == ("2026.06", ())


def test_the_rules_of_a_mark_begin_or_change_with_it() -> None:
    for mark in marks():
        before = CK_VERSIONS[CK_VERSIONS.index(mark.since) - 1]
        for code in mark.rules:
            prints = [
                {evidence.conditions(f, ck).get(code) for f in families()}
                for ck in (before, mark.since)
            ]
            assert prints[0] != prints[1], (mark.what, code)


def test_what_is_not_a_tree_or_too_old_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no ck_tile/core\.hpp in it; expected CK's include"):
        read_tree(tmp_path)
    folder = tree(tmp_path, ())
    next(folder.rglob("grouped_convolution_backward_data_kernel.hpp")).unlink()
    read_tree.cache_clear()
    with pytest.raises(UsageError, match=r"no backward data kernel; expected CK 2025\.11 or newer"):
        read_tree(folder)


def test_trees_of_other_contents_have_other_names(tmp_path: Path) -> None:
    one, two = (tree(tmp_path / n, since("2026.06")) for n in ("one", "two"))
    assert read_tree(one).name == read_tree(two).name
    (tmp_path / "three").mkdir()
    three = tree(tmp_path / "three", since("2026.06"))
    (three / "ck_tile" / "core.hpp").write_text("// other", encoding="utf-8")
    assert read_tree(one).name != read_tree(three).name
    assert read_tree(one).name.startswith("2026.06 tree ")


@pytest.mark.toolchain
def test_the_headers_of_the_toolchain_are_those_of_a_release() -> None:
    include = toolchain.find_tree("2025.11")
    assert isinstance(include, Path)
    assert read_tree(include).name == "2025.11"

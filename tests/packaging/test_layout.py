"""The folders of tests mirror the package's, and its root is empty of tests and helpers."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
#: Folders of tests that are not about one sub-package.
OTHERS = {"catalogs", "docs", "families", "fuzz", "packaging", "scripts"}


def test_the_root_holds_only_what_all_share() -> None:
    assert {p.name for p in TESTS.glob("*.py")} == {"__init__.py", "conftest.py"}


def test_each_folder_of_tests_is_a_room_of_the_package() -> None:
    rooms = {p.parent.name for p in (TESTS.parent / "ckrules").glob("*/__init__.py")}
    assert {p.parent.name for p in TESTS.glob("*/test_*.py")} <= rooms | OTHERS


def test_helpers_hold_no_tests() -> None:
    assert list((TESTS / "helpers").glob("test_*.py")) == []

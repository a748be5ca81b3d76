"""Every rule is shown to reject something, and what it cites is in the headers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from ckrules.output.rule_docs import every_rule
from tests.helpers.scripts import load
from tests.helpers.toolchain import require_headers


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    return load("rule_coverage")


def test_every_rule_rejects_one_of_its_examples(script: ModuleType) -> None:
    assert script.silent(every_rule()) == []


def test_a_silent_rule_is_found(script: ModuleType) -> None:
    book, rule = every_rule()["TILE001"]
    other = book.select(lambda r: r.code != "TILE001")
    assert script.silent({"TILE001": (other, rule)}) == ["TILE001"]


def test_what_is_gone_is_found(script: ModuleType, tmp_path: Path) -> None:
    header = tmp_path / "ck_tile" / "ops" / "a_one.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("static_assert(kM % 2 == 0); struct Kernel_ {};")

    def missing(source: str) -> list[str]:
        return list(script._missing(source, tmp_path))

    assert missing("ops/a_one.hpp: Kernel_ static_assert on kM") == []
    assert missing("ops/a_{one,two}.hpp: Kernel_") == ["ops/a_two.hpp"]
    assert missing("ops/a_*.hpp: Kernel_, kN") == ["kN (ops/a_*.hpp)"]
    assert missing("ops/a_one.hpp: no kN in it") == []
    assert missing("ops/a_one.hpp: kN (CK 2026.06)") == []
    assert missing("ops/a_one.hpp: kN (CK 2025.11, 2026.06)") == ["kN (ops/a_one.hpp)"]
    assert missing("a manual: kN") == []


@pytest.mark.toolchain
def test_headers_bear_out_the_citations(script: ModuleType) -> None:
    include = require_headers(script.HEADERS)
    assert [str(s) for s in script.stale(include)] == []

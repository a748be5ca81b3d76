"""Which rules were read again in newer texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckrules.kernels import readings
from ckrules.kernels.families import Family, declared, families
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.helpers.scripts import load


@pytest.fixture
def anew() -> Iterator[None]:
    """What was read of the files counts neither before nor after."""
    readings.readings.cache_clear()
    yield
    readings.readings.cache_clear()


def test_every_reading_is_of_a_rule_and_has_a_day_and_a_commit() -> None:
    known = {d.code for f in families().values() for d in declared(f)}
    assert readings.readings().keys() <= known
    every = {each for found in readings.readings().values() for each in found}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", each.date) for each in every)
    assert all(re.fullmatch(r"[0-9a-f]{7}|", each.commit) for each in every)


def test_the_newest_comes_first_and_the_page_of_the_rule_has_it() -> None:
    several = [found for found in readings.readings().values() if len(found) > 1]
    assert several
    assert all([r.date for r in f] == sorted((r.date for r in f), reverse=True) for f in several)
    told = run("explain", "PROB031").stdout
    assert "\nRead again:\n" in told
    assert "grouped_convolution_forward_kernel.hpp at 937543e: IsDepthwiseArgument" in told
    assert "Read again" not in run("explain", "TILE001").stdout


def test_a_file_of_another_form_is_told(
    anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / readings.FILE).write_text('[[reading]]\nfile = "a.hpp"\n', encoding="utf-8")
    monkeypatch.setattr(Family, "folder", lambda self: tmp_path)
    with pytest.raises(UsageError, match=r"readings\.toml: .*a file of readings"):
        readings.readings()


def test_the_page_is_fresh() -> None:
    script = load("readings")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
        "python scripts/readings.py --write"
    )

"""What upstream saw on hardware: every kernel that its threads name is foretold."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.kernels import evidence
from ckrules.kernels.families import families
from ckrules.support.errors import UsageError
from tests.helpers.scripts import load

hardware = load("reported_kernels")
REPORTED = [f for f in families() if hardware.reports(f)]


@pytest.mark.parametrize("family", REPORTED)
def test_every_outcome_is_foretold_or_explained(family: str) -> None:
    differ = [
        (f.report.thread, f.name, f.problem, [r.code for r in f.broken])
        for f in hardware.foretold(family)
        if not f.agrees and not f.kernels.missed
    ]
    assert differ == []


@pytest.mark.parametrize("family", REPORTED)
def test_the_evidence_holds_what_the_reports_say(family: str) -> None:
    kept = [r for r in evidence.read(evidence.place(families()[family])) if r.method == "hardware"]
    assert sorted(kept, key=str) == sorted(hardware.evidence_of(family), key=str)


def test_an_outcome_confirms_the_rules_that_reject_it_and_refutes_others() -> None:
    confirmed, refuted = 0, 0
    for family in REPORTED:
        for run in hardware.evidence_of(family):
            for tally, _ in run.rules.values():
                confirmed, refuted = confirmed + tally.confirmed, refuted + tally.refuted
    assert (confirmed, refuted) == (65, 0)


@pytest.mark.parametrize(("table", "what"), [
    ('outcome = "odd"\nnames = []', "outcome 'odd' is not one of"),
    ('names = []', "'outcome'"),
    ('outcome = "right"\nnames = ["{a}"]', "'a'"),
])  # fmt: skip
def test_a_file_of_another_form_is_told(
    table: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "".join(f'{n} = "x"\n' for n in ("thread", "date", "arch", "ck", "says"))
    path = tmp_path / "hardware.toml"
    path.write_text(f"[[report]]\n{head}[[report.kernels]]\n{table}\n", encoding="utf-8")
    monkeypatch.setattr(hardware, "place", lambda family: path)
    hardware.reports.cache_clear()
    with pytest.raises(UsageError, match=what):
        hardware.reports("conv")
    hardware.reports.cache_clear()


def test_a_name_in_braces_stands_for_each_of_its_words() -> None:
    each = hardware._kernels(
        {"outcome": "right", "names": ["{a}x{b}", "{a}"], "each": {"a": [1, 2], "b": [3, 4]}}
    )
    assert each.names == ("1x3", "1x4", "2x3", "2x4", "1", "2")


def test_the_page_is_fresh() -> None:
    script = load("hardware_reports")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
        "python scripts/hardware_reports.py --write"
    )


def test_the_threads_are_those_of_six_families() -> None:
    reports = [r for family in REPORTED for r in hardware.reports(family)]
    assert set(REPORTED) == {"depthwise", "fmha", "fmha_bwd", "gemm", "quant", "scaled"}
    assert len({r.thread for r in reports}) == 33


def test_a_tile_of_one_gpu_is_foretold_not_to_compile_for_another() -> None:
    told = {
        f.report.thread.partition("#")[2]: (
            f.report.arch,
            f.kernels.outcome,
            [r.code for r in f.broken],
        )
        for f in hardware.foretold("fmha")
    }
    assert told["9214"] == ("gfx950", "not built", ["FMHA026"])
    assert told["8492"] == ("gfx942", "built", [])

"""Golden outputs of every renderer, and what their formats demand."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ckrules.checking import reports as checks
from ckrules.constraints import book
from ckrules.kernels import evidence
from ckrules.kernels.evidence import Ground, RejectionTally, fingerprint
from tests.checking.sarif_schema import SCHEMA
from tests.cli.run import run

DATA = Path(__file__).parents[1] / "data" / "formats"
SAMPLES = ["dispatcher.json", "nhwgc_fp16.conf", "kernel_sets.cpp", "own.toml"]


def report(form: str, *words: str) -> str:
    return run("check", "--isolated", "--arch", "gfx942", "--format", form, *words).stdout


@pytest.fixture(autouse=True)
def evidence_of_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """More evidence changes no golden file."""
    condition = fingerprint(book("forward")["TILE001"])
    known = {Ground("conv", "2026.09", "gfx942", "compiler", condition): RejectionTally(4, 2, 0)}
    monkeypatch.setattr(evidence, "evidence", lambda: {"TILE001": known})


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)


@pytest.mark.parametrize("form", checks.available())
def test_golden_output(form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"reports/{form}.txt", report(form, *SAMPLES))


def test_colours(golden: Callable[[str, str], None]) -> None:
    golden("reports/full_color.txt", report("full", "--color", "always", "own.toml"))


@pytest.mark.parametrize("form", checks.available())
def test_a_clean_run(form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    one = json.loads((DATA / "own.json").read_text())["kernels"][0]
    path.write_text(json.dumps(one | {"dtype": "fp16", "ndim": 2}))
    said = report(form, str(path))
    expected = {"json": [], "gitlab": []}
    if form in expected:
        assert json.loads(said) == expected[form]
    elif form == "sarif":
        assert json.loads(said)["runs"][0]["results"] == []
    elif form == "junit":
        assert ET.fromstring(said).get("failures") == "0"
    else:
        assert said == ""


def test_sarif_has_the_structure_of_2_1_0() -> None:
    log = json.loads(report("sarif", *SAMPLES))
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    errors = list(jsonschema.Draft7Validator(SCHEMA).iter_errors(log))
    assert [e.message for e in errors] == []
    run_ = log["runs"][0]
    ids = [r["id"] for r in run_["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert all(ids[r["ruleIndex"]] == r["ruleId"] for r in run_["results"])
    prints = [r["partialFingerprints"]["ckrules/v1"] for r in run_["results"]]
    assert len(prints) == len(set(prints))
    hidden = [r["suppressions"][0] for r in run_["results"] if "suppressions" in r]
    assert {"kind": "inSource", "justification": "the tuner filters it"} in hidden
    assert any("fixes" in r for r in run_["results"])


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("https://example.org/ckrules/", "https://example.org/ckrules/docs/rules/TILE001.md"),
        ("https://example.org/{page}.html", "https://example.org/rules/TILE001.html"),
    ],
)
def test_reports_link_rules_where_the_address_is_known(
    address: str, page: str, tmp_path: Path
) -> None:
    settings = tmp_path / "ckrules.toml"
    settings.write_text(f'docs-url = "{address}"\n')
    words = ["--config", str(settings), "--arch", "gfx942", "--format", "sarif", "own.json"]
    log = json.loads(run("check", *words).stdout)
    links = [r["helpUri"] for r in log["runs"][0]["tool"]["driver"]["rules"]]
    assert page in links
    assert f"see: {page}" in run("check", *words[:-2], "full", "own.json").stdout


def test_fingerprints_do_not_depend_on_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DATA / "own.toml").read_text()
    found = []
    for lead in ("", "\n\n# more\n"):
        Path("a.toml").write_text(lead + text)
        found.append([i["fingerprint"] for i in json.loads(report("gitlab", "a.toml"))])
    assert found[0] == found[1] != []


@pytest.mark.parametrize("form", ["sarif", "gitlab"])
def test_a_file_is_the_same_however_it_is_given(form: str) -> None:
    """Each build folder of a runner, and "./" before a path, made new findings of all."""
    given = ["own.json", "./own.json", str(Path("own.json").absolute())]
    said = [json.loads(report(form, name)) for name in given]
    assert said[0] == said[1] == said[2]


def test_sarif_names_a_file_elsewhere_by_its_whole_address(tmp_path: Path) -> None:
    path = tmp_path / "a b.json"
    path.write_bytes(Path("own.json").read_bytes())
    first = json.loads(report("sarif", str(path)))["runs"][0]["results"][0]
    where = first["locations"][0]["physicalLocation"]["artifactLocation"]
    assert where == {"uri": path.as_uri()}


def test_json_findings_have_every_key() -> None:
    findings: list[dict[str, Any]] = json.loads(report("json", *SAMPLES))
    assert len({tuple(f) for f in findings}) == 1
    tile = next(f for f in findings if f["code"] == "TILE001")
    assert tile["help"] == "wave_m = 1 fixes this and breaks no other rule"
    assert (tile["fix"]["text"], tile["fix"]["column"]) == ("1", 64)
    assert [r["message"] for r in tile["related"]] == ["tile_m = 96", "warp_tile_m = 32"]
    assert (tile["pointer"], tile["url"]) == ("/instances/1", "docs/rules/TILE001.md")
    lines = [json.loads(x) for x in report("jsonl", *SAMPLES).splitlines()]
    assert lines == findings


def test_every_page_that_is_linked_exists() -> None:
    root = Path(__file__).parents[2]
    headings = (root / "docs/check.md").read_text().lower()
    for finding in json.loads(report("json", "--extend-select", "CFG003,CFG008", *SAMPLES)):
        path, _, anchor = finding["url"].partition("#")
        assert (root / path).is_file() or path == f"docs/rules/{finding['code']}.md"  # generated
        assert not anchor or f"### {anchor}\n" in headings


def test_junit_is_well_formed() -> None:
    suites = ET.fromstring(report("junit", *SAMPLES))
    assert [s.get("name") for s in suites] == SAMPLES
    assert sum(len(s.findall("testcase/failure")) for s in suites) == int(suites.get("failures", 0))


def test_github_commands_are_one_line_each() -> None:
    for line in report("github", *SAMPLES).splitlines():
        assert line.startswith(("::error title=", "::warning title=", "::notice title="))


def test_a_terminal_gets_the_full_report(monkeypatch: pytest.MonkeyPatch) -> None:
    import ckrules.cli.commands.check as module

    monkeypatch.setattr(module, "is_terminal", lambda stream: True)
    assert " | " in run("check", "--isolated", "own.toml").stdout


def test_excerpts_of_standard_input() -> None:
    text = (DATA / "own.toml").read_text()
    said = run("check", "--isolated", "--format", "full", "-", stdin=text).stdout
    assert '58 | pipeline = "compv4"' in said

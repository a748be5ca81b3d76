"""One set of repairs: help lines, edits, nearest configurations and rule pages propose the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ckrules.kernels.books import Books
from ckrules.output.rule_page import rule_page
from tests.cli.run import legal, run, write

BOTH = {"pipeline": "compv4", "scheduler": "interwave", "double_smem_buffer": False}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(path: str, *words: str) -> dict[str, dict[str, Any]]:
    found = json.loads(run("check", "--isolated", "--format", "json", *words, path).stdout)
    return {f["code"]: f for f in found}


def test_pages_propose_what_check_proposes(folder: Path) -> None:
    """Every rejected example of every rule, judged in one run."""
    book = Books().of("forward")
    wanted: list[tuple[str, str, str]] = []
    lines: list[str] = []
    for rule in book.rules:
        page = rule_page(book, rule)
        told = page.split("## Examples")[1].split("\n- rejected: ")[1:]
        for example, text in zip(book.examples(rule, accepted=False), told, strict=True):
            fix = re.search(r"  - (safe|unsafe) fix: (.*)", text)
            wanted.append((rule.code, *(fix.groups() if fix else ("", ""))))
            lines.append(json.dumps(example))
    path = write(folder, "a.jsonl", "\n".join(lines).encode())
    shown = run("check", "--isolated", "--format", "jsonl", path).stdout.splitlines()
    found = {(f["line"], f["code"]): f for f in map(json.loads, shown)}
    assert len(wanted) > 70
    for line, (code, safety, proposed) in enumerate(wanted, 1):
        finding = found[line, code]
        fix = finding["fix"]
        said = proposed or "no single field"
        assert finding["help"].startswith(said), code
        assert (fix or {}).get("applicability", "") == safety, code


def test_every_command_repairs_alike(folder: Path) -> None:
    path = write(folder, "a.json", legal(**BOTH))
    found = findings(path)
    assert found["PIPE002"]["help"].startswith("scheduler = intrawave fixes this")
    assert found["PIPE003"]["help"].startswith("double_smem_buffer = true fixes this")
    assert found["PIPE002"]["fix"]["applicability"] == "unsafe"
    assert found["PIPE003"]["fix"]["applicability"] == "safe"
    answer = json.loads(run("fix", "--format", "json", path).stdout)
    changes = {k: c["to"] for k, c in answer["fixes"][0]["changes"].items()}
    assert changes == {"scheduler": "intrawave", "double_smem_buffer": True}
    unsafe = run("check", "--isolated", "--diff", "--unsafe-fixes", path).stdout
    safe = run("check", "--isolated", "--diff", path).stdout
    assert "+" in safe
    assert "intrawave" not in "".join(re.findall(r"^\+.*", safe, re.M))
    assert "intrawave" in "".join(re.findall(r"^\+.*", unsafe, re.M))
    assert run("check", "--isolated", "--fix", "--unsafe-fixes", path).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"wave_m": 8, "wave_n": 4, "tile_m": 256, "tile_n": 256, "pipeline": "mem"}, "HW001",
         "wave"),
        ({"tile_m": 256, "tile_n": 256, "tile_k": 128}, "LDS001", "tile_k"),
        ({"arch": "gfx1201", "warp_tile_k": 8}, "WARP002", "warp_tile_m"),
        ({"num_groups_to_merge": 3}, "OP003", "num_groups_to_merge"),
        ({"pipeline": "compv4"}, "PIPE003", "pipeline"),  # the flag is not written
    ],
)  # fmt: skip
def test_the_caret_is_at_the_field_to_change(
    folder: Path, changes: dict[str, Any], code: str, field: str
) -> None:
    fields = legal(**changes)
    if code == "PIPE003":
        fields.pop("double_smem_buffer", None)
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in fields.items()]
    text = "{\n" + ",\n".join(lines) + "\n}"
    found = findings(write(folder, "a.json", text.encode()))[code]
    assert text.split("\n")[found["line"] - 1].startswith(f'"{field}')
    assert len(found["related"]) <= 6


def test_accumulators_beyond_registers_are_a_warning(folder: Path) -> None:
    spilling = legal(tile_m=256, tile_n=256, wave_m=1, wave_n=1)
    path = write(folder, "a.json", spilling)
    result = run("check", "--isolated", "--ignore", "EPI,VEC,LDS", path)
    assert "HW002 performance (warning): the accumulators spill: they take 1024" in result.stdout
    verdict = json.loads(run("check", "--isolated", "--verdicts", path).stdout)
    codes = {v["code"] for v in verdict["violations"]}
    assert "HW002" in codes
    assert verdict["legal"] is (codes == {"HW002"})
    assert "HW002" in json.dumps(json.loads(run("rules", "--profile", "fast", "--format",
                                                "json").stdout))  # fmt: skip
    assert "HW002" not in run("rules").stdout

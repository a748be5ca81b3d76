"""The CK version goes with the rows, from the command that lists to the one that generates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import LEGAL, SMALL, legal, run, write

OLD = ["--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "2"]


def _rows(ck: str) -> str:
    return run("enumerate", *OLD, "--ck", ck, "-n", "2", "--format", "jsonl", "-q").stdout


@pytest.mark.parametrize("command", ["enumerate", "sample"])
def test_rows_say_their_version(command: str) -> None:
    found = run(command, *SMALL, "-n", "2", "--format", "json", "-q").stdout
    assert [row["ck"] for row in json.loads(found)] == ["2026.09"] * 2
    some = run(command, *SMALL, "-n", "2", "--format", "jsonl", "-q", "--fields", "tile_h").stdout
    assert [set(json.loads(row)) for row in some.splitlines()] == [{"tile_h"}] * 2
    listed = run(
        command, "--catalog", "tiny", *OLD, "--ck", "2025.11", "-n", "1", "-q", "--format", "jsonl"
    )
    assert json.loads(listed.stdout)["ck"] == "2025.11"


def test_an_answer_says_its_version() -> None:
    listed = run("enumerate", *OLD, "--ck", "2025.11", "-n", "1", "-q", "--format", "names")
    kernel = listed.stdout.strip()
    for ck in ("2025.11", "2026.06"):
        done = run("why", kernel, "--arch", "gfx942", "--ck", ck, "--format", "json")
        found = json.loads(done.stdout)
        assert (found["ck"], found["name"]) == (ck, kernel)


def test_generate_takes_the_version_of_the_rows(tmp_path: Path) -> None:
    done = run("generate", "-", "-o", str(tmp_path), "-q", stdin=_rows("2025.11"))
    assert (done.exit_code, done.stderr) == (0, "")
    lines = (tmp_path / "ckrules-kernels.jsonl").read_text().splitlines()
    assert {json.loads(line)["ck"] for line in lines} == {"2025.11"}


def test_generate_refuses_two_versions(tmp_path: Path) -> None:
    out = tmp_path / "out"
    both = _rows("2025.11") + _rows("2026.06")
    done = run("generate", "-", "-o", str(out), stdin=both)
    assert (done.exit_code, out.exists()) == (2, False)
    assert "rows for CK 2025.11 and 2026.06" in done.stderr
    other = run("generate", "-", "-o", str(out), "--ck", "2026.06", stdin=_rows("2025.11"))
    assert other.exit_code == 2
    assert "for CK 2025.11, and CK 2026.06 is asked for" in other.stderr


def test_generate_refuses_a_folder_of_another_version(tmp_path: Path) -> None:
    assert run("generate", "-", "-o", str(tmp_path), stdin=_rows("2025.11")).exit_code == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    done = run("generate", "-", "-o", str(tmp_path), stdin=_rows("2026.06"))
    assert done.exit_code == 2
    assert "kernels for CK 2025.11 are there" in done.stderr
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_text_without_a_version_has_the_default_and_a_line(tmp_path: Path) -> None:
    names = run("enumerate", *OLD, "-n", "1", "-q").stdout
    done = run("generate", "-", "-o", str(tmp_path), "--arch", "gfx942", "-q", stdin=names)
    assert done.exit_code == 0
    assert done.stderr == "note: for CK 2026.09: neither --ck nor the input says which\n"
    quiet = run(
        "generate", "-", "-o", str(tmp_path), "-q", "--ck", "2026.09", *OLD[2:4], stdin=names
    )
    assert quiet.stderr == ""


def test_check_judges_a_row_by_its_version(tmp_path: Path) -> None:
    """A warp tile that only the newer headers have."""
    changes = {"dtype": "fp32", "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8}
    point = legal(**changes, vector_a=4, vector_b=4, vector_c=4, tile_k=32)
    verdicts = {}
    for ck in ("2025.11", "2026.06"):
        path = write(tmp_path, f"{ck}.ck.json", {**point, "ck": ck})
        done = run("check", "--isolated", "--verdicts", path)
        verdicts[ck] = {v["code"] for v in json.loads(done.stdout)["violations"]}
    assert verdicts["2025.11"] - verdicts["2026.06"]
    path = write(tmp_path, "typo.ck.json", {**LEGAL, "ck": "2025.1"})
    assert "did you mean '2025.11' or" in run("check", "--isolated", path).stderr


def test_a_gpu_that_the_headers_do_not_know_is_noted(tmp_path: Path) -> None:
    """Every kernel of it is illegal; one line says why."""
    said = "note: CK 2025.11 does not know gfx1250 (no CK_TILE_BUFFER_RESOURCE_3RD_DWORD);"
    counted = run("count", "--ck", "2025.11", "--arch", "gfx1250", "--variant", "forward")
    assert (counted.stdout, counted.stderr.count(said)) == ("0\n", 1)
    config = write(tmp_path, "c.json", [LEGAL])
    checked = run("check", "--ck", "2025.11", "--arch", "gfx1250,gfx942", config)
    assert checked.stderr.count(said) == 1
    for words in (("count", "--arch", "gfx1250", "--variant", "forward"), ("check", config)):
        assert "does not know" not in run(*words).stderr

"""Every command works on a family that no generic code knows."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ckrules.codegen.generate import MANIFEST
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.families import families, variants
from ckrules.kernels.family import Family
from ckrules.kernels.library import book
from tests.cli.run import process, run
from tests.helpers.toolchain import require_toolchain

Command = Callable[..., CompletedProcess[str]]

PART = ("--variant", "rowsum", "--arch", "gfx942", "--dtype", "fp32")
ILLEGAL = "rowsum_fp32_direct_2x256_v4"
LEGAL = "rowsum_fp32_direct_4x256_v4"


@pytest.mark.usefixtures("plugged")
class TestLibrary:
    def test_it_is_a_family_like_the_others(self) -> None:
        gemms = ["gemm", "quant", "scaled"]
        attention = ["fmha", "fmha_bwd", "fmha_steps", "fmha_v3"]
        assert list(families()) == ["conv", "depthwise", *gemms, *attention, "rowsum"]
        assert "rowsum" in variants()

    def test_the_count_is_that_of_brute_force(self) -> None:
        rules = book("rowsum", ck="2025.11")
        held = {"variant": ["rowsum"], "arch": ["gfx942"], "dtype": ["fp16"]}
        values = [held.get(n, domain_of(v).values) for n, v in rules.fields.items()]
        points = (dict(zip(rules.fields, p, strict=True)) for p in itertools.product(*values))
        legal = sum(all(At(p).holds(r.condition) for r in rules.rules) for p in points)
        space = rules.space(arch="gfx942", dtype="fp16")
        assert space.count() == legal > 0

    def test_drawing_for_the_compiler(self) -> None:
        from ckrules.certify.sampling import Sampler

        rules = book("rowsum", ck="2025.11")
        sampler = Sampler(rules, {"arch": ["gfx942"]}, seed=1)
        legal = sampler.legal(12)
        assert len(legal) == 12
        assert not any(rules.violations(p) for p in legal)
        assert {p["mode"] for p in legal} == {"direct", "lds"}
        assert [v.code for v in rules.violations(next(iter(sampler.boundary(6))))]


def test_enumerate_and_count(command: Command) -> None:
    listed = command("enumerate", *PART, "--limit", "3", "--format", "names", "-q")
    assert listed.returncode == 0, listed.stderr
    assert all(n.startswith("rowsum_fp32_") for n in listed.stdout.split())
    counted = command("count", *PART, "--by", "mode", "--format", "json")
    assert counted.returncode == 0, counted.stderr
    answer = json.loads(counted.stdout)
    assert {g["mode"] for g in answer["groups"]} == {"direct", "lds"}
    assert answer["count"] == sum(g["count"] for g in answer["groups"]) > 0


def test_check_says_what_is_wrong_and_what_helps(command: Command) -> None:
    done = command("check", "--arch", "gfx942", "--format", "full", ILLEGAL)
    assert done.returncode == 1
    assert "ROW004" in done.stdout
    assert "mode = lds makes the configuration legal" in done.stdout
    assert command("check", "--arch", "gfx942", LEGAL).returncode == 0


def test_fix_in_place(command: Command, tmp_path: Path) -> None:
    point: dict[str, Any] = {
        "variant": "rowsum", "arch": "gfx942", "dtype": "fp32", "rows": 8, "threads": 256,
        "vector": 4, "mode": "direct", "unroll": 4, "staged": True,
    }  # fmt: skip
    file = tmp_path / "kernels.json"
    file.write_text(json.dumps([point], indent=1))
    done = command("check", "--ck", "2025.11", "--fix", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(file.read_text()) == [{**point, "staged": False}]


def test_unknown_fields_have_near_matches(command: Command) -> None:
    done = command("count", *PART, "--where", "thread == 64")
    assert done.returncode == 2
    assert "threads" in done.stderr


def test_why_fix_diff_and_lint(command: Command) -> None:
    why = command("why", "--arch", "gfx942", ILLEGAL)
    assert "ROW004" in why.stdout
    nearest = command("fix", "--arch", "gfx942", ILLEGAL)
    assert nearest.returncode == 0, nearest.stderr
    assert "mode" in nearest.stdout or "rows" in nearest.stdout
    differ = command("diff", "arch=gfx942", "arch=gfx1201", *PART[:2])
    assert "ROW002" in differ.stdout, differ.stdout + differ.stderr
    lint = command("lint", "--variant", "rowsum")
    assert lint.returncode in (0, 1), lint.stderr


def test_explain_knows_rules_fields_and_quantities(command: Command) -> None:
    for word in ("ROW001", "row_threads", "unroll", "ROW"):
        done = command("explain", word)
        assert done.returncode == 0, done.stderr


def test_problems_are_read_and_judged(command: Command, tmp_path: Path) -> None:
    done = command("check", "--arch", "gfx942", "--problem", "M=64,N=126", LEGAL)
    said = "The columns are a multiple of the vector, but N = 126 is not a multiple of vector = 4"
    assert f"ROWP001 launch: {said}" in done.stdout
    done = command("check", "--arch", "gfx942", "--problem", "N=1,Q=8", LEGAL)
    assert done.returncode == 2
    assert "unknown size of a matrix 'Q': known are M, N" in done.stderr
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("M,N\n64,128\n64,126\n")
    done = command("cover", LEGAL, "--arch", "gfx942", "--problems", str(sizes))
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        1, "1 of 2 problems are covered by 1 kernel"
    )  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.whole
def test_from_points_to_results(command: Command, tmp_path: Path) -> None:
    """Generated, built with a real compiler, run on the family's own device, and reported."""
    require_toolchain()
    out = str(tmp_path / "out")
    names = (LEGAL, "rowsum_fp16_lds_2x128_v8_u2")
    made = command("generate", *names, "--arch", "gfx942", "--ck", "2025.11", "-o", out)
    assert made.returncode == 0, made.stderr
    lines = (tmp_path / "out" / MANIFEST).read_text().splitlines()
    assert [json.loads(line)["family"] for line in lines] == ["rowsum", "rowsum"]
    built = command("build", out)
    assert (built.returncode, built.stdout) == (0, ""), built.stdout + built.stderr
    run = command("validate", out, "--device", "rowsum")
    assert (run.returncode, run.stderr) == (0, "6 runs: 4 ok, 2 refused\n"), run.stdout + run.stderr
    rows = command("results", out, "--runs", "--format", "jsonl")
    found = [json.loads(line) for line in rows.stdout.splitlines()]
    assert {(r["M"], r["N"], r["status"]) for r in found} == {
        (64, 128, "ok"), (37, 240, "ok"), (3, 9, "refused"),
    }  # fmt: skip


def test_a_family_has_parts_of_known_names_only() -> None:
    """A misspelt one would never be asked for, so that the family would silently lack it."""
    with pytest.raises(TypeError, match="Spelt: a family has no part 'problem'"):
        type("Spelt", (Family,), {"parts": {"problem": "ckrules.arch:CK_VERSIONS"}})


@pytest.mark.parametrize("line", ["import sys; sys.exit(3)", "raise SystemExit('bye')"])
def test_a_plug_in_that_ends_the_program_is_named(line: str, tmp_path: Path) -> None:
    """Its exit code would be taken for an answer."""
    info = tmp_path / "leaves-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leaves\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ckrules.families]\nleaves = leaves:FAMILY\n[ckrules.devices]\nleaves = leaves:Plugin\n"
    )
    (tmp_path / "leaves.py").write_text(line)
    path = os.pathsep.join((str(tmp_path), str(Path(__file__).parents[2])))
    done = process("count", "--arch", "gfx942", env={**os.environ, "PYTHONPATH": path})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    said = "error: the plug-in leaves:FAMILY (ckrules.families) cannot be loaded: SystemExit"
    assert done.stderr.startswith(said)


@pytest.mark.usefixtures("plugged")
def test_kernels_without_names_are_listed_by_their_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is not needed to list kernels, unless it is asked for."""
    monkeypatch.setattr(type(families()["rowsum"]), "naming", property(lambda self: None))
    for words in (("enumerate", *PART), ("sample", *PART, "--seed", "1")):
        listed = run(*words, "--limit", "3", "-q")
        assert listed.exit_code == 0, listed.stderr
        head, *rows = listed.stdout.splitlines()
        assert head.startswith("variant,arch,dtype,rows,threads")
        assert [row.split(",")[0] for row in rows] == ["rowsum"] * 3
        refused = run(*words, "--limit", "3", "-q", "--format", "names")
        assert (refused.exit_code, refused.stderr) == (
            2, "error: kernels of rowsum have no names\n"
        )  # fmt: skip


def test_every_part_is_documented() -> None:
    """The page says of each part what it brings."""
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
    parts = [n for n, v in vars(Family).items() if isinstance(v, property)]
    assert [n for n in parts if f"| `{n}` |" not in page] == []

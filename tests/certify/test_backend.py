"""What code objects say of the rules: signs, LDS, registers and spills, from made-up figures."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.certify import codeobjects, recording
from ckrules.certify.backend import Compared, by_rule, compare, estimates
from ckrules.certify.codeobjects import CodeObjectFigures, CodeObjects, FigureStore
from ckrules.certify.draws import draw
from ckrules.certify.oracle import CompilerError
from ckrules.constraints import book
from ckrules.kernels import evidence
from tests.cli.run import run, write
from tests.helpers.toolchain import require_toolchain

RULES = book("forward", ck="2025.11")
SMALL = {
    "tile_m": 32, "tile_n": 32, "tile_k": 32, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16,
    "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "mem",
}  # fmt: skip
#: A kernel that has what the rules say of SMALL on gfx942.
GOOD: dict[str, Any] = {
    "lds_bytes": 4096, "vgprs": 118, "spills": 0, "scratch_bytes": 0, "max_threads": 64,
    "matrix": 32,
}  # fmt: skip
OVERFLOW = {"tile_m": 256, "tile_n": 256, "tile_k": 128}
IDLE = {"arch": "gfx1201", **SMALL, "warp_tile_k": 32}
LIMIT = "error: local memory (131072) exceeds limit (65536) in function"


def case(changes: dict[str, Any], figures: CodeObjectFigures | CompilerError) -> Compared:
    """What is said of a kernel."""
    return compare(RULES, RULES.example(changes), figures)


def test_signs() -> None:
    assert case(SMALL, CodeObjectFigures(None, **GOOD)).signs == frozenset()
    assert case(OVERFLOW, CodeObjectFigures(LIMIT)).signs == {"refused"}
    crowd = {"tile_m": 256, "tile_n": 256, "wave_m": 8, "wave_n": 4}
    clamped = case(crowd, CodeObjectFigures(None, **{**GOOD, "max_threads": 1024}))
    assert (clamped.broken, clamped.signs) == (("HW001",), {"clamped"})
    idle = case(IDLE, CodeObjectFigures(None, **{**GOOD, "max_threads": 32, "matrix": 0}))
    assert (idle.broken, idle.signs) == (("WARP002",), {"idle"})


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({}, False),
        ({"lds_bytes": 8192}, False),  # LLVM may add to it
        ({"lds_bytes": 2048}, True),
        ({"matrix": 0}, True),
        ({"max_threads": 32}, True),
    ],
)
def test_a_legal_kernel_differs_by_any_sign(change: dict[str, int], differs: bool) -> None:
    assert case(SMALL, CodeObjectFigures(None, **{**GOOD, **change})).differs is differs


def test_what_breaks_a_rule_does_not_differ() -> None:
    for figures in (CodeObjectFigures(LIMIT), CodeObjectFigures(None, **GOOD)):
        assert not case(OVERFLOW, figures).differs
    lost = case(SMALL, CompilerError("gone"))
    assert (lost.figures, lost.failure, lost.differs) == (None, "gone", False)


def test_rules_are_counted_with_their_signs() -> None:
    both = {**OVERFLOW, "wave_m": 8, "wave_n": 4, "tile_m": 512, "tile_n": 512}
    built = CodeObjectFigures(None, **{**GOOD, "max_threads": 256})
    cases = [case(OVERFLOW, CodeObjectFigures(LIMIT)), case(OVERFLOW, built),
             case(both, CodeObjectFigures(LIMIT)), case(OVERFLOW, CompilerError("gone")),
             case(SMALL, CodeObjectFigures(None, **GOOD))]  # fmt: skip
    found = {r.code: r for r in by_rule(cases)}
    assert set(found) == {"LDS001", "HW001"}
    lds = found["LDS001"]
    assert (lds.kernels, lds.alone, lds.signs["refused"], lds.confirmed) == (3, 2, 2, 2)
    assert (found["HW001"].kernels, found["HW001"].alone) == (1, 0)


def test_errors_of_the_predictions() -> None:
    predicted = RULES.resources(RULES.example(SMALL), ["vgprs"])["vgprs"]
    exact = case(SMALL, CodeObjectFigures(None, **{**GOOD, "vgprs": predicted}))
    half = case(
        SMALL, CodeObjectFigures(None, **{**GOOD, "vgprs": 2 * predicted, "lds_bytes": 8192})
    )
    spilt = case(SMALL, CodeObjectFigures(None, **{**GOOD, "vgprs": predicted, "spills": 9}))
    found = estimates([exact, half, spilt, case(OVERFLOW, CodeObjectFigures(LIMIT))])
    assert (found.kernels, found.lds_exact, found.lds_more) == (3, 2, 1)
    assert found.vgpr_errors == (0, 0, 0.5)
    assert (found.within(0.5), found.within(1)) == (0, 0.5)
    assert found.spills == (0, 0, 1, 2)


def test_figures_are_kept(tmp_path: Path) -> None:
    rows = [CodeObjectFigures(None, **GOOD, seconds=1.5), CodeObjectFigures(LIMIT, seconds=2.0)]
    with FigureStore(tmp_path / "v.sqlite") as store:
        for n, row in enumerate(rows):
            store.put(str(n), row)
    with FigureStore(tmp_path / "v.sqlite") as store:
        assert [store.get("0"), store.get("1"), store.get("2")] == [*rows, None]


@pytest.mark.whole
def test_draws_break_rules_of_the_back_end_alone() -> None:
    fixed = {"variant": ("forward",), "arch": ("gfx1201",)}
    points = draw(RULES, fixed, 60, 5, (), 2 / 3, ("hardware", "launch")).points
    broken = [[v.code for v in RULES.violations(p)] for p in points]
    assert broken.count([]) == 20
    assert all(len(codes) <= 1 for codes in broken)
    assert {"LDS001", "HW001", "OP009"} <= {code for codes in broken for code in codes}


@pytest.mark.toolchain
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def figures(self: CodeObjects, point: dict[str, Any]) -> CodeObjectFigures:
        asked.append(point["tile_k"])
        return (
            CodeObjectFigures(LIMIT) if point["tile_k"] == 128 else CodeObjectFigures(None, **GOOD)
        )

    require_toolchain()
    monkeypatch.setattr(codeobjects.CodeObjects, "figures", figures)
    store = str(tmp_path / "v.sqlite")
    rows = [RULES.example(SMALL), RULES.example(OVERFLOW)]
    config = write(tmp_path, "c.json", rows)
    kept = tmp_path / "e.toml"
    words = ("certify", "backend", "--arch", "gfx942", "--store", store, config)
    done = run(*words, "--record", str(kept))
    assert "LDS001 = [1, 1, 0, " in kept.read_text()
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "2 kernels, 1 code objects" in done.stdout
    assert "LDS       1 of 1 as predicted, 0 more" in done.stdout
    assert "LDS001         1      1        1        0        0        0" in done.stdout
    again = json.loads(run(*words, "--format", "json").stdout)
    assert asked == [32, 128]  # the second run knows them
    assert again["rules"]["LDS001"]["refused"] == 1
    assert [c["signs"] for c in again["cases"]] == [[], ["refused"]]
    wrong = write(tmp_path, "d.json", [RULES.example({**SMALL, "vector_c": 4, "tile_k": 64})])
    differs = run(*words[:-1], wrong)
    assert differs.exit_code == 1
    assert "differs: " in differs.stdout
    assert "compiler: 4096 bytes of LDS, 64 threads, 32 matrix instructions" in differs.stdout


def test_families_without_an_estimate_of_registers_are_refused() -> None:
    done = run("certify", "backend", "--arch", "gfx942", "--family", "fmha", "-n", "1")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: fmha has no estimate of registers to compare; conv, gemm")


def test_options_that_became_commands_say_so() -> None:
    for word, command in (("--codegen", "backend"), ("--numerics", "numerics")):
        done = run("certify", word, "--arch", "gfx942", "--blocks", "0")
        assert done.exit_code == 2
        assert done.stderr == f"error: {word} is a command of its own: ckrules certify {command}\n"


def test_signs_are_evidence() -> None:
    both = {**OVERFLOW, "wave_m": 8, "wave_n": 4, "tile_m": 512, "tile_n": 512}
    built = CodeObjectFigures(None, **{**GOOD, "max_threads": 256})
    cases = [
        case(OVERFLOW, CodeObjectFigures(LIMIT)),
        case(OVERFLOW, built),
        case(both, CodeObjectFigures(LIMIT)),
        case(SMALL, CodeObjectFigures(None, **GOOD)),
        case(SMALL, CompilerError("gone")),
    ]
    kept = recording.of_backend(cases, "gfx942", "2025.11", "clang 22", "-n 5 --seed 1")
    assert (kept.method, kept.agreed, kept.differed) == ("back end", 1, 0)
    assert {c: (t.confirmed, t.alone, t.refuted) for c, (t, _) in kept.rules.items()} == {
        "LDS001": (2, 1, 0), "HW001": (1, 0, 0),
    }  # fmt: skip


def test_runs_that_end_at_once_are_all_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One read the file before another wrote it, and wrote it without the other's counts."""
    path, merged = tmp_path / "evidence.toml", evidence.merged

    def slowly(*args: Any) -> Any:
        time.sleep(0.02)
        return merged(*args)

    monkeypatch.setattr(evidence, "merged", slowly)
    cases = [case(SMALL, CodeObjectFigures(None, **GOOD))]
    runs = [recording.of_backend(cases, "gfx942", "2025.11", "clang", f"{n}") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(recording.add, path), runs))
    assert sorted(r.drawn for r in evidence.read(path)) == [f"{n}" for n in range(8)]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_real_code_objects() -> None:
    """A kernel computes with matrix instructions; one whose warp tile the GPU lacks has none."""
    tools = require_toolchain()
    found = {}
    for name, changes in (("legal", SMALL), ("idle", IDLE)):
        point = RULES.example(changes)
        made = CodeObjects(tools, load(str(point["arch"]))).figures(point)
        found[name] = compare(RULES, point, made)
    assert not found["legal"].differs
    assert found["idle"].broken == ("WARP002",)
    assert found["idle"].signs == {"idle"}

"""Certification with a compiler that is a script, and a few kernels with the real one."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from ckrules.build import oracle
from ckrules.build.certify import Matrix, certify
from ckrules.build.draw import Drawer, mixed
from ckrules.build.toolchain import Toolchain
from ckrules.build.verdicts import VerdictStore
from ckrules.constraints import book
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import UsageError
from tests.cli.run import run, write
from tests.toolchain import require_toolchain

#: It refuses compv5 and bf16, says nothing sensible of fp32, and notes each run in a file.
PROGRAM = f"""#!{sys.executable}
import os, pathlib, re, sys, time
if "--version" in sys.argv:
    print("fake compiler 1.0")
    sys.exit()
text = pathlib.Path(sys.argv[-1]).read_text()
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(f"{{len(re.findall('__global__', text))}}\\n")
if "mem" in os.environ.get("FAKE_HANG", "") and "Mem<" in text:
    time.sleep(60)
if "AType   = float;" in text:
    os.abort()
if "CompV5" in text or "bf16" in text:
    print("/ck/pipeline.hpp:7:3: error: static assertion failed: wrong!", file=sys.stderr)
    sys.exit(1)
"""


@pytest.fixture
def rules() -> RuleBook:
    """The rule book of the headers that can be compiled."""
    return book("forward", ck="2025.11")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """The fake compiler as a toolchain, also found on PATH."""
    program = tmp_path / "bin" / "hipcc"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    include = tmp_path / "include"
    kernels = include / "ck_tile/ops/grouped_convolution/kernel"
    kernels.mkdir(parents=True)
    (kernels / "grouped_convolution_backward_data_kernel.hpp").touch()
    for header in (include / "ck_tile/core.hpp", include / "hip/hip_runtime.h"):
        header.parent.mkdir(exist_ok=True)
        header.touch()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    return Toolchain("2025.11", program, "hipcc", tmp_path, include)


def runs(tools: Toolchain) -> list[int]:
    """The kernels of each run of the fake compiler so far."""
    log = tools.rocm / "log"
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


def points(rules: RuleBook) -> list[dict[str, Any]]:
    """Two agreements of each sort, a false rejection, a false acceptance."""
    changes: list[dict[str, Any]] = [
        {},
        {"vector_c": 4},
        {"pipeline": "compv5", "tile_k": 16},  # rejected by PIPE007, and by the compiler
        {"tile_m": 96},  # rejected by TILE001; the compiler takes it
        {"dtype": "bf16"},  # legal; the compiler refuses it
        {"pipeline": "mem"},
    ]
    return [rules.example(c) for c in changes]


def ask(rules: RuleBook, tools: Toolchain, store: Path, **options: Any) -> Matrix:
    """Certifies the points."""
    with VerdictStore(store) as kept:
        return certify(rules, points(rules), tools, kept, **options)


def test_matrix(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    matrix = ask(rules, tools, tmp_path / "v.sqlite")
    assert [c.verdict.ok for c in matrix.cases if c.verdict] == [
        True, True, False, True, False, True,
    ]  # fmt: skip
    assert matrix.count(predicted=True, compiled=True) == 3
    assert matrix.count(predicted=True, compiled=False) == 1
    assert matrix.count(predicted=False, compiled=True) == 1
    assert matrix.count(predicted=False, compiled=False) == 1
    assert (matrix.recall, matrix.precision) == (3 / 4, 3 / 4)
    assert [c.point["dtype"] for c in matrix.disagreements] == ["fp16", "bf16"]
    scores = {s.code: s for s in matrix.by_rule(["PIPE007", "TILE001", "VEC004"])}
    assert (scores["PIPE007"].confirmed, scores["PIPE007"].refuted) == (1, 0)
    assert (scores["TILE001"].confirmed, scores["TILE001"].refuted) == (0, 1)
    assert scores["VEC004"].confirmed == 0


def test_a_failing_batch_is_halved(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    matrix = ask(rules, tools, tmp_path / "v.sqlite", jobs=1)
    # four expected successes at once, in halves, and the half with the refused one singly
    assert runs(tools) == [4, 2, 2, 1, 1, 1, 1]
    refused = matrix.cases[4].verdict
    assert refused is not None
    assert refused.error == "pipeline.hpp:7:3: error: static assertion failed: wrong!"


def test_a_clean_batch_is_one_run(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    good = [rules.example({"vector_c": v}) for v in (1, 2, 4, 8)]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        assert certify(rules, good, tools, store).precision == 1.0
        assert runs(tools) == [4]
        certify(rules, good, tools, store, batch=1)
    assert runs(tools) == [4]


def test_verdicts_are_kept(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    first = ask(rules, tools, tmp_path / "v.sqlite")
    before = runs(tools)
    again = ask(rules, tools, tmp_path / "v.sqlite")
    assert runs(tools) == before
    assert [c.verdict for c in again.cases] == [c.verdict for c in first.cases]


def test_an_interrupted_run_goes_on(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    def stop(case: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(rules, tools, tmp_path / "v.sqlite", jobs=1, batch=1, progress=stop)
    done = len(runs(tools))
    assert 1 <= done < 6
    ask(rules, tools, tmp_path / "v.sqlite", jobs=1, batch=1)
    assert len(runs(tools)) == 6


def test_crash_and_timeout_are_no_verdicts(
    rules: RuleBook, tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_HANG", "mem")
    asked = [
        rules.example({}),
        rules.example({"dtype": "fp32", "warp_tile_m": 16, "warp_tile_n": 16}),
        rules.example({"pipeline": "mem"}),
    ]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        matrix = certify(rules, asked, tools, store, batch=1, timeout=2.0)
    assert [c.verdict is None for c in matrix.cases] == [False, True, True]
    crash, late = matrix.failures
    assert "ended with status -6" in crash.failure
    assert "took longer than 2 s" in late.failure
    assert (matrix.recall, matrix.disagreements) == (1.0, [])


def test_command(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    inputs = [write(tmp_path, f"{n}.json", p) for n, p in enumerate(points(rules))]
    words = [
        "certify", "--arch", "gfx942", "--ck-include", str(tools.include),
        "--compiler", "hipcc", "--store", str(tmp_path / "v.sqlite"), *inputs,
    ]  # fmt: skip
    result = run(*words)
    assert result.exit_code == 1
    assert "recall    75.00 % of what compiles is not rejected" in result.stdout
    assert "TILE001          0      0        1" in result.stdout
    assert "compiler: pipeline.hpp:7:3: error: static assertion failed: wrong!" in result.stdout

    told = json.loads(run(*words, "--format", "json").stdout)
    assert (told["recall"], told["precision"]) == (0.75, 0.75)
    assert told["rules"]["PIPE007"] == [1, 1, 0]
    assert [c["ok"] for c in told["cases"]] == [True, True, False, True, False, True]
    assert [c["predicted"] for c in told["cases"]] == [True, True, False, False, True, True]
    assert told["cases"][3]["violations"][0]["code"] == "TILE001"

    agreed = run(*words[:-6], inputs[0])
    assert agreed.exit_code == 0
    assert "precision 100.00 %" in agreed.stdout


def test_a_folder_without_headers_is_a_usage_error(tmp_path: Path) -> None:
    result = run("certify", "--arch", "gfx942", "--ck-include", str(tmp_path))
    assert result.exit_code == 2
    assert "no ck_tile/core.hpp in it" in result.stderr


def test_a_batch_is_for_one_gpu(rules: RuleBook, tools: Toolchain) -> None:
    two = [rules.example({"arch": a}) for a in ("gfx942", "gfx90a")]
    with pytest.raises(UsageError, match="one GPU"):
        oracle.check_batch(two, tools)


def test_batch_source_has_a_namespace_for_each_kernel(rules: RuleBook) -> None:
    source = oracle.render_batch([rules.example({}), rules.example({"vector_c": 4})])
    assert source.count("#include") == oracle.render(rules.example({})).count("#include")
    for n in (0, 1):
        assert f"ck_tile::kentry<1, ckrules_probe_{n}::Kernel" in source
    assert "ckrules_probe::" not in source


# -- what is drawn ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[dict[str, Any]]]:
    """Points of each direction for one GPU."""
    rules = book("forward", ck="2025.11")
    return {
        v: mixed(Drawer(rules, {"variant": (v,), "arch": ("gfx942",)}, seed=3), 200)
        for v in ("forward", "bwd_data", "bwd_weight")
    }


def test_the_same_seed_draws_the_same(drawn: dict[str, list[dict[str, Any]]]) -> None:
    rules = book("forward", ck="2025.11")
    fixed = {"variant": ("forward",), "arch": ("gfx942",)}
    assert mixed(Drawer(rules, fixed, seed=3), 200) == drawn["forward"]
    assert mixed(Drawer(rules, fixed, seed=4), 200) != drawn["forward"]


def test_draws_lie_on_both_sides_of_the_rules(drawn: dict[str, list[dict[str, Any]]]) -> None:
    rules = book("forward", ck="2025.11")
    compiled = [r.code for r in rules.rules if r.kind == "compile"]
    broken, alone = set(), set()
    for rows in drawn.values():
        found = [[v.code for v in rules.violations(p) if v.kind == "compile"] for p in rows]
        assert 0.2 < sum(map(bool, found)) / len(rows) < 0.5
        broken |= {code for codes in found for code in codes}
        alone |= {codes[0] for codes in found if len(codes) == 1}
    # nwgc and friends go with ndim, and WARP003 is about GPUs with transpose loads
    assert broken >= set(compiled) - {"OP001", "WARP003"}
    # some rules hardly break without another
    assert len(alone) >= len(broken) - 8


def test_draws_keep_to_the_conditions_asked_for(rules: RuleBook) -> None:
    """Fields and derived quantities may be in them; both sides of the rules still come."""
    where = ["tile_m * tile_n <= 4096", "lds_bytes <= 16384"]
    drawer = Drawer(rules, {"variant": ("forward",), "arch": ("gfx942",)}, 3, where)
    points = mixed(drawer, 60)
    assert len(points) == 60
    for point in points:
        assert int(point["tile_m"]) * int(point["tile_n"]) <= 4096
        assert rules.resources(point, ["lds_bytes"])["lds_bytes"] <= 16384
    assert 10 < sum(not drawer.broken(p) for p in points) < 60
    with pytest.raises(UsageError, match="unknown field 'tile_x'"):
        Drawer(rules, {}, 3, ["tile_x > 1"])


def test_draws_hold_what_is_unusual(drawn: dict[str, list[dict[str, Any]]]) -> None:
    rules = book("forward", ck="2025.11")
    rows = [p for rows in drawn.values() for p in rows]
    legal = [p for p in rows if not [v for v in rules.violations(p) if v.kind == "compile"]]
    for name, value in (
        ("vector_a", 16), ("vector_c", 16), ("num_wave_groups", 2), ("two_stage", True),
        ("split_image", True), ("double_smem_buffer", True), ("epilogue", "default"),
        ("epilogue", "cshuffle"), ("pipeline", "compv4"), ("num_groups_to_merge", 32),
    ):  # fmt: skip
        assert any(p[name] == value for p in legal), (name, value)
    assert any(p["tile_m"] & (p["tile_m"] - 1) for p in legal)
    assert any(p["explicit_gemm"] for p in rows)
    assert any(p["streamk"] != "off" for p in rows)


# -- the real compiler -----------------------------------------------------------------------


@pytest.mark.toolchain
@pytest.mark.slow
def test_real_kernels(rules: RuleBook, tmp_path: Path) -> None:
    found = require_toolchain()
    small = {"tile_m": 32, "tile_n": 32, "tile_k": 32, "wave_m": 1, "wave_n": 1}
    changes = ({**small, "pipeline": "mem"}, {**small, "pipeline": "basic_v1"}, {"tile_m": 96})
    with VerdictStore(tmp_path / "v.sqlite") as store:
        matrix = certify(rules, [rules.example(c) for c in changes], found, store)
    assert matrix.failures == []
    assert matrix.disagreements == []
    assert matrix.count(predicted=True, compiled=True) == 2

"""Certification with a compiler that is a script, and a few kernels with the real one."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.certify import probe
from ckrules.certify.experiment import Matrix, certify
from ckrules.certify.oracle import CompilerOracle, CompilerVerdict
from ckrules.certify.sampling import Sampler, mixed
from ckrules.certify.verdicts import VerdictStore
from ckrules.compiling.database import ResultsError
from ckrules.compiling.toolchain import Toolchain
from ckrules.constraints import book
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError
from tests.cli.run import process, run, write
from tests.codegen.test_generate import own_gpu
from tests.helpers.toolchain import require_toolchain
from tests.helpers.waiting import interrupted, until

pytestmark = [pytest.mark.usefixtures("own_data"), pytest.mark.whole]

#: It refuses compv5 and bf16, says nothing sensible of fp32, and notes each run in a file.
PROGRAM = f"""#!{sys.executable} -IS
import os, sys, time
if "--version" in sys.argv:
    print("fake compiler 1.0")
    sys.exit()
if sys.argv[-1] == "headers.hpp" or "--print-supported-cpus" in sys.argv:
    sys.exit(1)
with open(sys.argv[-1]) as source:
    text = source.read()
with open(os.path.join(os.path.dirname(os.environ["FAKE_LOG"]), "words"), "w") as words:
    words.write(" ".join(sys.argv))
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(f"{{text.count('__global__')}}\\n")
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


def judge(tools: Toolchain, timeout: float = 600.0) -> CompilerOracle:
    """The compiler for the GPU of all points here."""
    return CompilerOracle(tools, load("gfx942"), timeout)


def ask(rules: RuleBook, tools: Toolchain, store: Path, **options: Any) -> Matrix:
    """Certifies the points."""
    with VerdictStore(store) as kept:
        return certify(rules, points(rules), judge(tools), kept, **options)


def test_matrix(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    matrix = ask(rules, tools, tmp_path / "v.sqlite")
    assert [c.verdict.ok for c in matrix.cases if c.verdict] == [
        True, True, False, True, False, True,
    ]  # fmt: skip
    assert matrix.count(predicted=True, good=True) == 3
    assert matrix.count(predicted=True, good=False) == 1
    assert matrix.count(predicted=False, good=True) == 1
    assert matrix.count(predicted=False, good=False) == 1
    assert (matrix.recall, matrix.precision) == (3 / 4, 3 / 4)
    assert [c.point["dtype"] for c in matrix.disagreements] == ["fp16", "bf16"]
    scores = {s.code: s for s in matrix.by_rule(["PIPE007", "TILE001", "VEC004"])}
    assert (scores["PIPE007"].confirmed, scores["PIPE007"].refuted) == (1, 0)
    assert (scores["TILE001"].confirmed, scores["TILE001"].refuted) == (0, 1)
    assert scores["VEC004"].confirmed == 0


def test_a_failing_batch_is_halved(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    matrix = ask(rules, tools, tmp_path / "v.sqlite", jobs=1)
    # four expected successes at once, in halves, and the half with the refused one singly
    assert runs(tools) == [4, 2, 1, 1, 2, 1, 1]
    refused = matrix.cases[4].verdict
    assert refused is not None
    assert refused.error == "pipeline.hpp:7:3: error: static assertion failed: wrong!"


def test_a_clean_batch_is_one_run(rules: RuleBook, tools: Toolchain, tmp_path: Path) -> None:
    good = [rules.example({"vector_c": v}) for v in (1, 2, 4, 8)]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        assert certify(rules, good, judge(tools), store).precision == 1.0
        assert runs(tools) == [4]
        certify(rules, good, judge(tools), store, batch=1)
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_command_goes_on(
    number: signal.Signals, rules: RuleBook, tools: Toolchain, tmp_path: Path
) -> None:
    """Verdicts are stored as they come; Ctrl-C and SIGTERM end the compiler that hangs."""
    inputs = [write(tmp_path, f"{n}.json", p) for n, p in enumerate(points(rules))]
    words = [
        *("certify", "--arch", "gfx942", "--ck-include", str(tools.include), "--batch", "1"),
        *("--jobs", "1", "--compiler", "hipcc", "--store", str(tmp_path / "v.sqlite"), *inputs),
    ]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "FAKE_HANG": "mem", "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "ckrules", *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        until(lambda: len(runs(tools)) >= 6 or one.poll() is not None)  # the last one hangs
        one.send_signal(number)
        one.communicate()
    if number is not signal.SIGKILL:
        assert interrupted(one.returncode, number)
        assert not list(scratch.iterdir())
    for left in scratch.iterdir():
        os.utime(left, (1, 1))
    before = len(runs(tools))
    done = process(*words, env={**os.environ, "TMPDIR": str(scratch)})
    assert (done.returncode, done.stderr.count("Traceback")) == (1, 0)
    assert not list(scratch.iterdir())
    assert "recall    75.00 % of what compiles is not rejected" in done.stdout
    assert len(runs(tools)) - before < 6


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
        matrix = certify(rules, asked, judge(tools, 2.0), store, batch=1)
    assert [c.verdict is None for c in matrix.cases] == [False, True, True]
    crash, late = matrix.failures
    assert "ended with status -6" in crash.failure
    assert "did nothing for 2 s" in late.failure
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


def test_the_macros_of_a_gpu_file_reach_the_compiler(
    rules: RuleBook, tools: Toolchain, tmp_path: Path
) -> None:
    gpu = own_gpu(tmp_path, "MY_MACRO=1")
    config = write(tmp_path, "c.json", {**rules.example({}), "arch": "gfx949"})
    done = run(
        "certify", "--arch", "gfx949", "--arch-file", str(gpu), "--compiler", "hipcc",
        "--ck-include", str(tools.include), "--store", str(tmp_path / "v.sqlite"), config,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    words = (tools.rocm / "words").read_text().split()
    assert {"-DMY_MACRO=1", "--offload-arch=gfx949"} <= set(words)


def test_clang_is_not_asked_about_a_gpu_that_it_does_not_know(tools: Toolchain) -> None:
    said = 'test "$1" = --print-supported-cpus && printf "\\tgfx908\\n\\tgfx942\\n"'
    old = tools.compiler.with_name("clang-19")
    old.write_text(f"#!/bin/sh\n{said}\n")
    old.chmod(0o755)
    clang = replace(tools, kind="clang-19", compiler=old)
    with pytest.raises(UsageError, match=r"clang-19 does not know gfx950"):
        CompilerOracle(clang, load("gfx950"))
    assert CompilerOracle(clang, load("gfx908")).gpu.name == "gfx908"


def test_a_gpu_that_the_headers_do_not_know_is_refused_in_one_line(tools: Toolchain) -> None:
    done = run("certify", "--arch", "gfx1250")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: CK 2025.11 does not know gfx1250 (no CK_TILE_BUFFER_")
    assert len(done.stderr.splitlines()) == 1


def test_variants_without_a_kernel_are_left_out_or_named() -> None:
    from ckrules.certify.choice import CertifyChoice

    choice = CertifyChoice(Books("2025.11"), load("gfx942"), family="scaled", count=3)
    assert choice.every_variant == ("flatmm", "moe_flatmm")
    with pytest.raises(UsageError, match=r"to draw from: variant = abquant, arch = gfx942"):
        replace(choice, variants=("abquant",)).around_rules()


def test_variants_without_a_kernel_that_meets_the_conditions_are_left_out() -> None:
    """One of them ended the draws of the others."""
    from ckrules.certify.choice import CertifyChoice

    books = Books("2025.11")
    where = ("routed_weight == true",)
    choice = CertifyChoice(books, load("gfx942"), family="scaled", where=where, count=3)
    assert choice.every_variant == ("moe_flatmm",)


def test_what_conditions_leave_nothing_of_is_told() -> None:
    """The least tile of 8 bits on gfx90a is 32x32x32."""
    from ckrules.certify.choice import CertifyChoice

    where = ("tile_m * tile_n * tile_k <= 8192 * wave_m * wave_n * wave_k",)
    choice = CertifyChoice(Books("2025.11"), load("gfx90a"), family="quant", where=where, count=4)
    with pytest.raises(UsageError, match=r"arch = gfx90a; [\d,]+ are legal without --where$"):
        choice.around_rules()


@pytest.mark.parametrize("family", ["quant", "fmha"])
def test_what_breaks_a_single_rule_is_drawn_rule_by_rule(family: str) -> None:
    from ckrules.certify.choice import CertifyChoice

    books = Books("2025.11")
    choice = CertifyChoice(books, load("gfx942"), family=family, count=12, alone=True)
    points = choice.around_rules()
    broken = [[v.rule for v in choice.book.violations(p)] for p in points]
    assert {len(rules) for rules in broken} == {1}
    assert all(rule.kind == "compile" for (rule,) in broken)
    assert len({rule.code for (rule,) in broken}) > len(points) // 3
    assert choice.around_rules() == points
    assert choice.asked == "-n 12 --seed 0 --alone"


def test_what_breaks_a_single_rule_is_drawn_and_not_given(tools: Toolchain, tmp_path: Path) -> None:
    file = tmp_path / "k.json"
    point = Books("2025.11").of("forward").example({"arch": "gfx942"})
    file.write_text(json.dumps([point]), encoding="utf-8")
    done = run("certify", "--arch", "gfx942", "--alone", str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--alone is about drawn configurations" in done.stderr


def test_verdicts_of_an_older_version_are_read(rules: RuleBook, tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE verdict (key TEXT PRIMARY KEY, ok INTEGER NOT NULL, error TEXT,"
            " seconds REAL NOT NULL) STRICT"
        )
        db.execute("INSERT INTO verdict VALUES ('k', 1, NULL, 1.5)")
    with VerdictStore(path) as store:
        assert store.get("k") == CompilerVerdict(True, None, 1.5)
        store.put("k", CompilerVerdict(False, "no", 2.5))
        assert store.get("k") == CompilerVerdict(False, "no", 2.5)
    (tmp_path / "text").write_text("no database" * 100)
    for path in (tmp_path / "text", tmp_path / "text" / "v.sqlite"):
        with pytest.raises(ResultsError, match="cannot open the results"):
            VerdictStore(path)


def test_a_folder_without_headers_is_a_usage_error(tmp_path: Path) -> None:
    result = run("certify", "--arch", "gfx942", "--ck-include", str(tmp_path))
    assert result.exit_code == 2
    assert "no ck_tile/core.hpp in it" in result.stderr


def test_a_batch_is_for_one_gpu(rules: RuleBook, tools: Toolchain) -> None:
    two = [rules.example({"arch": a}) for a in ("gfx942", "gfx90a")]
    with pytest.raises(UsageError, match="arch is 'gfx90a', expected gfx942"):
        judge(tools).check_batch(two)


def test_batch_source_has_a_namespace_for_each_kernel(rules: RuleBook) -> None:
    source = probe.render_batch([rules.example({}), rules.example({"vector_c": 4})])
    assert source.count("#include") == probe.render(rules.example({})).count("#include")
    for n in (0, 1):
        assert f"ck_tile::kentry<1, ckrules_probe_{n}::Kernel" in source
    assert "ckrules_probe::" not in source


# -- what is drawn ---------------------------------------------------------------------------


def sampler(variant: str, seed: int, where: Sequence[str] = ()) -> Sampler:
    """What `ckrules certify` draws with."""
    rules = book("forward", ck="2025.11")
    fixed = {"variant": (variant,), "arch": ("gfx942",)}
    return Sampler(rules, fixed, seed, where, probe.fields(rules.example({})))


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[dict[str, Any]]]:
    """Points of each direction for one GPU."""
    return {v: mixed(sampler(v, seed=6), 120) for v in ("forward", "bwd_data", "bwd_weight")}


def test_the_same_seed_draws_the_same() -> None:
    first = mixed(sampler("forward", seed=5), 20)
    assert mixed(sampler("forward", seed=5), 20) == first
    assert mixed(sampler("forward", seed=4), 20) != first


def test_draws_lie_on_both_sides_of_the_rules(drawn: dict[str, list[dict[str, Any]]]) -> None:
    rules = book("forward", ck="2025.11")
    compiled = [r.code for r in rules.rules if r.kind == "compile"]
    broken, alone = set(), set()
    for rows in drawn.values():
        found = [[v.code for v in rules.violations(p) if v.kind == "compile"] for p in rows]
        assert 0.2 < sum(map(bool, found)) / len(rows) < 0.5
        broken |= {code for codes in found for code in codes}
        alone |= {codes[0] for codes in found if len(codes) == 1}
    # WARP003 is about GPUs with transpose loads, PIPE015 about waves of 32 lanes
    assert broken >= set(compiled) - {"WARP003", "PIPE015"}
    # some rules hardly break without another
    assert len(alone) >= len(broken) - 8


def test_draws_keep_to_the_conditions_asked_for(rules: RuleBook) -> None:
    """Fields and derived quantities may be in them; both sides of the rules still come."""
    where = ["tile_m * tile_n <= 4096", "lds_bytes <= 16384"]
    conditioned = sampler("forward", 3, where)
    points = mixed(conditioned, 60)
    assert len(points) >= 55  # two draws may come to the same
    for point in points:
        assert int(point["tile_m"]) * int(point["tile_n"]) <= 4096
        assert rules.resources(point, ["lds_bytes"])["lds_bytes"] <= 16384
    assert 10 < sum(not conditioned.broken(p) for p in points) < 60
    with pytest.raises(UsageError, match="unknown field 'tile_x'"):
        Sampler(rules, {}, 3, ["tile_x > 1"])


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
    assert {p["pipeline"] for p in legal} == {"basic_v1", "mem", "compv3", "compv4", "compv5"}
    assert any(p["tile_m"] & (p["tile_m"] - 1) for p in legal)
    assert any(p["explicit_gemm"] for p in rows)
    assert any(p["streamk"] != "off" for p in rows)


# -- the real compiler -----------------------------------------------------------------------


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_real_kernels(rules: RuleBook, tmp_path: Path) -> None:
    """By `make certify`; tests/certify/test_oracle.py asks about some in `make test`."""
    found = require_toolchain()
    small = {"tile_m": 32, "tile_n": 32, "tile_k": 32, "wave_m": 1, "wave_n": 1}
    changes = ({**small, "pipeline": "mem"}, {**small, "pipeline": "basic_v1"}, {"tile_m": 96})
    with VerdictStore(tmp_path / "v.sqlite") as store:
        matrix = certify(rules, [rules.example(c) for c in changes], judge(found), store)
    assert matrix.failures == []
    assert matrix.disagreements == []
    assert matrix.count(predicted=True, good=True) == 2


@pytest.mark.parametrize("command", [(), ("numerics",), ("backend",)])
@pytest.mark.parametrize("text", [None, "what = is this", "[project]\nname = 'x'\n", "# Notes\n"])
def test_a_record_that_cannot_be_added_to_is_told_first(
    tmp_path: Path, command: tuple[str, ...], text: str | None
) -> None:
    """A folder or another file was told of when all was done; here no compiler is there at all."""
    place = tmp_path / "e.toml"
    place.mkdir() if text is None else place.write_text(text)
    done = run("certify", *command, "--arch", "gfx942", "--compiler", "no", "--record", str(place))
    assert done.exit_code == 2
    assert str(place) in done.stderr.replace("\n", "")
    assert text is None or place.read_text() == text

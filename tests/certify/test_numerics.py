"""Certification by running: what is drawn, how verdicts are judged, and one real kernel."""

from __future__ import annotations

import importlib
import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.certify import labels, numeric_run, recording, trials
from ckrules.certify.bench import Manner, TrialAnswer, TrialRequest
from ckrules.certify.choice import CertifyChoice, gpu_of, points_of
from ckrules.certify.draws import KINDS, Drawn, draw
from ckrules.certify.numeric_report import notes, numeric_json, numeric_lines
from ckrules.certify.numeric_run import Draws, NumericFindings, NumericRun
from ckrules.certify.numerics import NumericCase, NumericMatrix, applicable, judged
from ckrules.certify.seen import read_seen
from ckrules.certify.trials import (
    BUILD,
    UNBUILT,
    Trial,
    TrialStore,
    executor_digest,
    reference_digest,
    trial_key,
)
from ckrules.compiling.database import ResultsError
from ckrules.constraints import book
from ckrules.device.interface import UNLAUNCHABLE
from ckrules.device.prediction import SupportPrediction
from ckrules.engine.covering import PairCoverage
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text
from tests.cli.run import run, write
from tests.helpers.toolchain import require_toolchain

pytestmark = pytest.mark.whole

TAKEN = SupportPrediction(supported=True)
OK = Trial("N=1", "ok", elements=64)
WRONG = Trial("N=2", "wrong", where="last K tile missing", first="(0, 1)", wrong=3, elements=64)
REFUSED = Trial("N=3", "refused", "C is odd")
NEVER = (("pipeline", "mem"), ("warp_tile", (16, 16, 32)))
DRAWN = Draws(
    {"PIPE013": 0}, {"forward": PairCoverage(1200, (NEVER,)), "bwd_data": PairCoverage(34, ())}
)
SMALL = {"tile_m": 16, "tile_n": 16, "tile_k": 32, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16,
         "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "mem", "vector_a": 4, "vector_b": 4,
         "vector_c": 4}  # fmt: skip


@pytest.fixture(scope="module")
def rules() -> RuleBook:
    """The rule book of the headers whose kernels can be built."""
    return book("forward", ck="2025.11")


def case(rules: RuleBook, changes: Mapping[str, Any], *said: Any, failure: str = "") -> NumericCase:
    """The case of a point of which these things were seen."""
    trials = [each if isinstance(each, tuple) else (each, TAKEN) for each in said]
    answer = TrialAnswer(trials, failure, "k")
    (found,) = judged(rules, [rules.example(changes)], [answer]).cases
    return found


# -- what is drawn ---------------------------------------------------------------------------


DIRECTIONS = ("forward", "bwd_data", "bwd_weight")


@pytest.fixture(
    scope="module",
    params=[DIRECTIONS[:1], pytest.param(DIRECTIONS, marks=pytest.mark.certify)],
    ids=["forward", "all"],
)
def drawn(rules: RuleBook, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Draws for one GPU: of forward, and by `make certify` of each direction."""
    found = []
    for variant in request.param:
        found += draw(rules, {"variant": (variant,), "arch": ("gfx942",)}, 60, 6).points
    return found


def test_draws_break_one_rule_or_none(rules: RuleBook, drawn: list[dict[str, Any]]) -> None:
    broken = [rules.violations(p) for p in drawn]
    assert {len(b) for b in broken} == {0, 1}
    assert sum(map(bool, broken)) * 3 == len(drawn)
    assert {v.kind for b in broken for v in b} <= set(KINDS)
    assert all(Config(p).name for p in drawn)


@pytest.mark.certify
@pytest.mark.parametrize("drawn", [DIRECTIONS], ids=["all"], indirect=True)
def test_draws_break_every_rule(rules: RuleBook, drawn: list[dict[str, Any]]) -> None:
    codes = {v.code for p in drawn for v in rules.violations(p)}
    # what breaks these breaks PIPE018, too, as long as no convolution may use compv5
    beside = {"PIPE008", "PIPE014"} | {"OP017"}  # whose layout no name can say
    beside |= {"PIPE019"}  # of pipelines that convolutions of this release have not
    beside |= {"LDS004"}  # a line of this GPU's banks has four rows, as many as the least tile
    assert codes >= {r.code for r in rules.rules if r.kind == "wrong-result"} - beside


def test_each_kind_of_kernel_has_its_share(drawn: list[dict[str, Any]]) -> None:
    for name, least in (("pipeline", 5), ("dtype", 3), ("epilogue", 2), ("scheduler", 2)):
        found = {p[name] for p in drawn}
        assert len(found) >= least, name
        assert min(sum(p[name] == v for p in drawn) for v in found) >= 3, name


@pytest.mark.parametrize(
    ("variant", "ck", "held", "among"),
    [
        pytest.param(
            *("bwd_data", "2025.11", {}, {("pipeline", "mem"), ("ndim", 3)}),
            marks=pytest.mark.certify,
        ),
        ("aquant", "2025.11", {}, {("group_k", 64), ("warp_tile", (16, 16, 32))}),
        pytest.param(
            *("preshuffle", "2025.11", {"dtype": ("fp16", "fp8")}),
            {("permute_n", True), ("pad_k", True)},
            marks=pytest.mark.certify,
        ),
        ("forward_depthwise", "2026.06", {"filter": (3, 5)}, {("filter", 5), ("in_vec", 8)}),
    ],
)
def test_any_two_features_meet(
    variant: str, ck: str, held: dict[str, Any], among: set[tuple[str, Any]]
) -> None:
    """`make test` asks of two small families, `make certify` of two whose spaces take longer."""
    fixed = {"variant": (variant,), "arch": ("gfx942",), **held}
    rules = book(variant, ck=ck)
    found = draw(rules, fixed, 120, 1, broken=0)
    assert found.pairs is not None
    assert among in map(set, found.pairs)
    assert found.coverage(lambda p: True).uncovered == ()
    assert found.coverage(lambda p: p is found.points[0]).covered < len(found.pairs) / 5
    names = [tuple(p.items()) for p in found.points]
    assert found.legal == len(set(names)) == 120, "once all pairs occur, other kernels follow"
    first = draw(rules, fixed, 20, 1, broken=0)
    assert first.points == found.points[:20]
    drawn = Counter(str(sorted(pair)) for p in first.points for pair in _features(p, found))
    assert first.coverage(lambda p: True).covered == len(drawn)


def _features(point: dict[str, Any], found: Drawn) -> Iterator[tuple[Any, Any]]:
    assert found.pairs is not None
    return combinations([(f.name, f.at(point)) for f in found.pairs.factors], 2)


def test_kernels_that_break_a_rule_cover_no_pair(rules: RuleBook) -> None:
    found = draw(rules, {"variant": ("bwd_data",), "arch": ("gfx942",)}, 12, 1, broken=1)
    assert (len(found.points), found.legal, found.pairs) == (12, 0, None)
    assert found.coverage(lambda p: True) == PairCoverage(0, ())


def test_kernels_that_were_run_are_not_drawn_for_again(rules: RuleBook) -> None:
    fixed = {"variant": ("bwd_data",), "arch": ("gfx942",)}
    first = draw(rules, fixed, 8, 3, broken=0)
    second = draw(rules, fixed, 8, 3, broken=0, seen=first.points)
    apart = draw(rules, fixed, 16, 3, broken=0)
    assert not any(p in first.points for p in second.points)
    assert second.coverage(lambda _: True) == apart.coverage(lambda _: True)
    assert second.coverage(lambda _: False) == first.coverage(lambda _: True)


def test_what_cannot_be_built_is_not_drawn(rules: RuleBook) -> None:
    fixed = {"variant": ("bwd_data",), "arch": ("gfx942",)}
    found = draw(rules, fixed, 12, 1, broken=0, usable=lambda p: p["pipeline"] == "mem")
    assert [p["pipeline"] for p in found.points] == ["mem"] * 12


def test_results_of_earlier_runs(rules: RuleBook, tmp_path: Path) -> None:
    legal = {**rules.vocabulary.baseline, "arch": "gfx942"}
    cases = [
        {"config": legal, "predicted": True, "right": True},
        {"config": {**legal, "arch": "gfx950"}, "predicted": True, "right": True},
        {"config": legal, "predicted": False, "right": False},
        {"config": legal, "predicted": True, "right": None},
    ]
    path = write(tmp_path, "seen.json", json.dumps({"cases": cases}))
    assert [p["arch"] for p in read_seen([path], Books("2025.11"), "gfx942")] == ["gfx942"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "has no list of cases"),
        ('{"cases": [{"config": 1}]}', "has no list of cases"),
        (
            '{"cases": [{"config": {"tile": 1}, "predicted": true, "right": true}]}',
            "no field variant",
        ),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, text: str, what: str) -> None:
    path = write(tmp_path, "seen.json", text)
    result = run("certify", "numerics", "--arch", "gfx942", "--seen", path)
    assert (result.exit_code, path in result.stderr) == (2, True)
    assert what in result.stderr


def test_results_that_are_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.json")
    result = run("certify", "numerics", "--arch", "gfx942", "--seen", path)
    assert (result.exit_code, result.stderr) == (2, f"error: {path}: No such file or directory\n")


def test_small_tiles_come_rather(rules: RuleBook, drawn: list[dict[str, Any]]) -> None:
    def volumes(points: Any) -> list[int]:
        return sorted(p["tile_m"] * p["tile_n"] * p["tile_k"] for p in points)

    space = rules.space(arch="gfx942", variant="forward")
    uniform = volumes(space.sample(60, seed=1))
    assert volumes(drawn)[len(drawn) // 2] * 2 < uniform[30]


def test_the_same_seed_draws_the_same(rules: RuleBook) -> None:
    fixed = {"variant": ("bwd_data",), "arch": ("gfx942",)}
    first = draw(rules, fixed, 12, 3)
    assert draw(rules, fixed, 12, 3) == first
    assert draw(rules, fixed, 12, 4).points != first.points
    assert first.alone["OP015"] == 0, "a rule on forward cannot be broken here"


def test_draws_keep_to_the_conditions_asked_for(rules: RuleBook) -> None:
    fixed = {"variant": ("forward",), "arch": ("gfx942",)}
    found = draw(rules, fixed, 9, 3, ["pipeline == 'mem'", "tile_m <= 32"])
    assert {(p["pipeline"], p["tile_m"] <= 32) for p in found.points} == {("mem", True)}
    with pytest.raises(
        UsageError, match=r"variant = forward, .*; [\d,]+ are legal without --where"
    ):
        draw(rules, fixed, 9, 3, ["tile_m < 1"])


# -- how verdicts are judged -----------------------------------------------------------------


def test_a_legal_kernel_is_right_or_a_difference(rules: RuleBook) -> None:
    right = case(rules, {}, OK, OK, (REFUSED, SupportPrediction(False, ("PROB004",))))
    assert (right.right, right.agrees, list(right.differences())) == (True, True, [])
    wrong = case(rules, {}, OK, WRONG)
    assert (wrong.right, wrong.agrees) == (False, False)
    (difference,) = wrong.differences()
    assert difference.trial is WRONG
    assert difference.text == ("legal, wrong: last K tile missing; 3 of 64 elements; first (0, 1)")


def test_a_fault_counts_though_the_numbers_are_right(rules: RuleBook) -> None:
    race = Trial("N=1", "fault", "lds-race: …", elements=64)
    assert case(rules, {}, OK, race).right is False


def test_a_rule_is_confirmed_or_refuted_by_its_kernel(rules: RuleBook) -> None:
    merges = {"num_groups_to_merge": 2}  # OP015
    (code,) = [v.code for v in case(rules, merges, OK).broken]
    cases = [case(rules, merges, OK, WRONG), case(rules, merges, OK), case(rules, merges, WRONG)]
    (score,) = [s for s in NumericMatrix(cases).by_rule([code]) if s.code == code]
    assert (score.confirmed, score.alone, score.refuted) == (2, 2, 1)
    (difference,) = NumericMatrix(cases).differences
    assert difference.text == f"right on 1 problem, refused by {code}"


def test_a_kernel_that_takes_no_problem_confirms_the_rule_that_says_so(rules: RuleBook) -> None:
    """Every refusal is foretold, by a rule on the problem's channels."""
    wide = {"specialization": "filter3x3", "vector_a": 8, "vector_b": 8}  # OP011
    foretold = SupportPrediction(False, ("PROB004",))
    refuses = case(rules, wide, (REFUSED, foretold), (REFUSED, foretold))
    assert [v.code for v in refuses.broken] == ["OP011"]
    assert (refuses.right, refuses.agrees) == (False, True)
    assert case(rules, wide, (REFUSED, foretold), (OK, foretold)).right is True
    legal = case(rules, {}, (REFUSED, foretold))
    assert legal.right is None, "that a legal kernel refuses what is foretold says nothing"


def test_problem_rules_have_their_own_scores(rules: RuleBook) -> None:
    """A wrong run that a problem rule foretells says nothing against the configuration."""
    foretold = SupportPrediction(True, (), ("PROB020",))
    kernel = case(rules, {}, OK, (WRONG, foretold), (OK, foretold))
    assert kernel.right is True
    (score,) = NumericMatrix([kernel]).by_problem_rule()
    assert (score.code, score.confirmed, score.refuted) == ("PROB020", 1, 1)
    assert [d.text for d in kernel.differences()] == ["PROB020 expects another end: ok"]
    refusing = case(rules, {}, OK, (REFUSED, SupportPrediction(False, ("PROB004", "PROB005"))))
    scores = NumericMatrix([refusing]).by_problem_rule()
    assert [(s.code, s.confirmed, s.alone) for s in scores] == [
        ("PROB004", 1, 0),
        ("PROB005", 1, 0),
    ]


def test_what_a_kernel_refuses_unforetold_is_a_difference(rules: RuleBook) -> None:
    assert [d.text for d in case(rules, {}, OK, REFUSED).differences()] == [
        "supported by the rules, refused: C is odd"
    ]
    takes = case(rules, {}, OK, (OK, SupportPrediction(False, ("PROB004",))))
    assert [d.text for d in takes.differences()] == ["PROB004 expects another end: ok"]


@pytest.mark.parametrize(
    ("said", "differed"),
    [
        ([OK, OK], 0),
        ([OK, REFUSED], 1),
        ([OK, (REFUSED, SupportPrediction(False, ("PROB004",)))], 0),
        ([(Trial(BUILD, UNBUILT, "static-assert: …"), None)], 1),
        ([WRONG], 1),
    ],
)
def test_the_record_says_what_the_exit_code_says(
    rules: RuleBook, said: list[Any], differed: int
) -> None:
    """A refusal that no rule foretold ended with 1, and the record said that all agreed."""
    matrix = NumericMatrix([case(rules, {}, *said)])
    kept = recording.of_numerics(matrix, "forward", "gfx942", "2025.11", "clang 22", "-n 1")
    assert (kept.agreed, kept.differed) == (1 - differed, differed)
    assert bool(matrix.differences) is bool(differed)


def test_what_cannot_be_launched_is_not_right(rules: RuleBook) -> None:
    refused = Trial(BUILD, UNBUILT, "lds-overflow: …")
    assert case(rules, {}, (refused, None)).right is False
    over = Trial("N=1", "error", f"{UNLAUNCHABLE}: 2048 threads a block")
    assert over.is_verdict
    assert case(rules, {}, over).right is False
    every = case(rules, {}, REFUSED, REFUSED)
    assert every.right is False, "a kernel that takes no problem that it should is none"


def test_errors_of_the_executor_are_no_verdicts(rules: RuleBook) -> None:
    for status in ("error", "crash", "hang"):
        assert not Trial("N=1", status, "v_new_thing").is_verdict
    open_ = case(rules, {}, OK, failure="N=2: error: v_new_thing")
    assert (open_.right, open_.agrees) == (None, False)
    assert NumericMatrix([open_]).failures == [open_]
    assert case(rules, {}, WRONG, failure="N=2: error").right is False
    assert case(rules, {}).right is None


def test_matrix_and_text(rules: RuleBook) -> None:
    merges = {"num_groups_to_merge": 2}
    cases = [
        case(rules, {}, OK), case(rules, {}, WRONG), case(rules, merges, WRONG),
        case(rules, merges, OK),
    ]  # fmt: skip
    matrix = NumericMatrix(cases)
    assert (matrix.recall, matrix.precision) == (0.5, 0.5)
    found = NumericFindings(matrix, ["OP015", "PIPE013"], Manner(seed=7), drawn=DRAWN)
    assert not found.agrees
    told = "\n".join(numeric_lines(found, "out"))
    assert "predicted right              1          1" in told
    assert "pairs of features: 1,233 of 1,234 occur in a drawn kernel" in told
    assert "runs      2 ok, 2 wrong" in told
    assert "OP015                1      1        1" in told
    assert "PIPE013              0      0        0  none breaks it alone here" in told
    assert "again: ckrules validate k --dir out --device cpu --problem N=2" in told
    assert "--device-option seed=7" in told
    data = json.loads(json_text(numeric_json(found)))
    assert data["rules"]["OP015"] == [1, 1, 1]
    assert data["pairs"] == {
        "forward": {
            "feasible": 1200,
            "covered": 1199,
            "uncovered": [{"pipeline": "mem", "warp_tile": [16, 16, 32]}],
        },
        "bwd_data": {"feasible": 34, "covered": 34, "uncovered": []},
    }
    found.drawn = Draws()
    assert "pairs" not in json.loads(json_text(numeric_json(found)))
    assert "pairs of features" not in "".join(numeric_lines(found, "out"))
    assert [c["right"] for c in data["cases"]] == [True, False, False, True]
    assert data["cases"][1]["runs"][0]["told"].startswith("wrong: last K tile missing")


def test_what_running_cannot_judge_is_left_out(rules: RuleBook) -> None:
    points = [rules.example(c) for c in ({}, {"tile_m": 96}, {"num_groups_to_merge": 2})]
    inside, outside = applicable(rules, points)
    assert (inside, outside) == ([points[0], points[2]], [points[1]])


# -- what is kept ----------------------------------------------------------------------------


def test_trials_are_kept(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.sqlite") as store:
        store.put("k", WRONG)
        assert store.get("k") == WRONG
        assert store.get("other") is None
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(ResultsError, match="cannot open the results"):
        TrialStore(tmp_path / "text" / "t.sqlite")


def test_a_trial_depends_on_kernel_problem_orders_and_executor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [trial_key("a", "p", "o"), trial_key("b", "p", "o"), trial_key("a", "q", "o")]
    monkeypatch.setattr("ckrules.certify.trials.executor_digest", lambda: "another")
    keys.append(trial_key("a", "p", "o"))
    assert len({*keys}) == 4
    assert len(executor_digest()) == 64


def test_a_trial_depends_on_the_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where other rows were cached, trials of the same problem's text were taken for its own."""
    digests = set()
    for number, text in enumerate(("A = 1", "# a comment\nA = 1", "A = 2")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "of_a_test.py").write_text(f"{text}\nclass Kind: ...\n")
        monkeypatch.syspath_prepend(tmp_path / str(number))
        monkeypatch.delitem(sys.modules, "of_a_test", raising=False)
        digests.add(reference_digest(importlib.import_module("of_a_test").Kind))
    assert len(digests) == 2


# -- labels ----------------------------------------------------------------------------------


def label(rules: RuleBook, status: str, **more: Any) -> str:
    """A line of a file of labels."""
    problem = "N=1,C=64,K=64,H=6,W=7,Y=3,X=3,pad=1"
    line = {"config": rules.example({}), "problem": problem, "status": status, **more}
    return json.dumps(line) + "\n"


def test_labels_beside_what_was_found(rules: RuleBook, tmp_path: Path) -> None:
    path = write(tmp_path, "labels.jsonl", "")
    Path(path).write_text(label(rules, "ok", schedule="any") + "\n" + label(rules, "wrong"))
    found = list(labels.read(path, Books("2025.11")))
    assert [lab.right for lab in found] == [True, False]
    (question,) = labels.questions(found)
    assert isinstance(question, TrialRequest)
    assert question.problems is not None
    trial = Trial(str(question.problems[0]), "fault", "lds-race")
    told, without = labels.compared(found, [question], [TrialAnswer([(trial, TAKEN)])])
    assert [(t.agrees, t.sees_more) for t in told] == [(True, True), (True, False)]
    assert without == []
    wrong = Trial(trial.problem, "wrong", "order: 912 values differ in reversed order")
    told, _ = labels.compared(found, [question], [TrialAnswer([(wrong, TAKEN)])])
    assert [(t.agrees, t.sees_more) for t in told] == [(True, True), (True, False)]
    _, without = labels.compared(found, [question], [TrialAnswer()])
    assert len(without) == 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "not a line of JSON"),
        ("[1]", "expected an object with config, problem and status"),
        ('{"config": {}, "problem": "N=1"}', "status is 'None'"),
        ('{"config": {"variant": "fwrd"}, "problem": "N=1", "status": "ok"}', "variant"),
    ],
)
def test_lines_that_are_no_labels(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UsageError, match="l.jsonl:1: .*" + what):
        list(labels.read(str(path), Books("2025.11")))


def test_bad_words_of_the_command(tmp_path: Path) -> None:
    for words, what in (
        (["numerics", "--order", "backwards"], "unknown order 'backwards'"),
        (["--keep", "out"], "no such option"),
        (["backend", "--minutes", "5"], "no such option"),
        (["numerics", "--labels", str(tmp_path / "none")], "No such file"),
        (["numerics", "--variant", "forward_depthwise"], "variant that can be certified"),
    ):
        done = run("certify", *words, "--arch", "gfx942")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
        assert what in done.stderr


# -- a real kernel ---------------------------------------------------------------------------


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_real_kernels_are_built_run_and_kept(rules: RuleBook, tmp_path: Path) -> None:
    require_toolchain()
    config = write(tmp_path, "c.json", rules.example(SMALL))
    words = [
        "certify", "numerics", "--arch", "gfx942", config, "--store", str(tmp_path / "t.sqlite"),
        "--keep", str(tmp_path / "out"), "--problems", "2", "--record", str(tmp_path / "e.toml"),
        "--jobs", "1", "--blocks", "2",
    ]  # fmt: skip
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "predicted right              1          0" in first.stdout
    built = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("*.hsaco")}
    assert len(built) == 1
    again = run(*words)
    assert again.stdout == first.stdout
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("*.hsaco")} == built
    assert 'method = "numerics"' in (tmp_path / "e.toml").read_text()


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_a_killed_run_goes_on_where_it_was(rules: RuleBook, tmp_path: Path) -> None:
    """Neither are its trials run again, nor are its kernels built for what has ended."""
    require_toolchain()
    configs = [write(tmp_path, f"{n}.json", rules.example(SMALL | {"tile_n": n})) for n in (16, 32)]
    store = tmp_path / "t.sqlite"
    common = ["certify", "numerics", "--arch", "gfx942", "--store", str(store), "--jobs", "1"]
    words = [*common, "--problems", "2", "--blocks", "2", *configs]

    def rows() -> set[tuple[Any, ...]]:
        with suppress(sqlite3.Error), sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return set(db.execute("SELECT rowid, * FROM trial"))
        return set()

    with subprocess.Popen([sys.executable, "-m", "ckrules", *words]) as process:
        deadline = time.monotonic() + 600
        while not any(row for row in rows() if "ok" in row) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
    before = rows()
    assert before
    record = tmp_path / "e.toml"
    part = run(*words, "--minutes", "0", "--record", str(record))
    assert (part.exit_code, rows()) == (1, before)
    assert "kernels judged in the time: the same command goes on" in part.stderr
    assert not record.exists()
    whole = run(*words)
    assert whole.exit_code == 0, whole.output
    assert before < rows()
    assert run(*words, "--minutes", "0").stdout == whole.stdout


def test_a_run_whose_time_was_over_leaves_kernels_open(rules: RuleBook) -> None:
    found = NumericFindings(NumericMatrix([case(rules, {}, OK)]), [], Manner(), left=2)
    assert not found.agrees
    assert list(notes(found)) == ["1 of 3 kernels judged in the time: the same command goes on"]
    assert json.loads(json_text(numeric_json(found)))["left"] == 2


@pytest.mark.parametrize(("blocks", "agrees"), [(32, True), (0, False)])
def test_what_seems_right_in_a_sample_of_blocks_runs_whole(
    rules: RuleBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, agrees: bool
) -> None:
    """Results that no block writes are not seen where not all blocks run."""
    asked: list[tuple[int, int]] = []
    folders: list[Path] = []

    class Sampled:
        """A bench whose kernels that break a rule are wrong where all blocks run."""

        def __init__(self, *words: Any) -> None:
            self.manner: Manner = words[4]
            folders.append(words[1])

        def run(self, questions: list[TrialRequest], *more: Any) -> list[TrialAnswer]:
            asked.append((self.manner.blocks, len(questions)))
            whole = not self.manner.blocks and len(asked) > 1
            broken = [bool(rules.violations(q.point)) for q in questions]
            return [TrialAnswer([(WRONG if whole and b else OK, TAKEN)], "", "k") for b in broken]

    monkeypatch.setattr(numeric_run, "Bench", Sampled)
    points = (rules.example({}), rules.example({"num_groups_to_merge": 2}))  # OP015
    choice = CertifyChoice(Books("2025.11"), load("gfx942"), ("forward",), points=points)
    options: Any = None
    found = NumericRun(choice, Manner(blocks=blocks)).run(options, tmp_path / "trials.sqlite")
    assert found.agrees is agrees
    assert asked == ([(32, 2), (0, 1)] if blocks else [(0, 2)])
    assert len(set(folders)) == len(folders)


def test_the_emulators_digest_covers_its_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert {"runtime.h", "driver.h"} <= {p.name for p in trials._sources()}
    digests = set()
    for text in ("int a;", "int b;"):
        (tmp_path / "driver.h").write_text(text)
        monkeypatch.setattr(trials, "_sources", lambda: iter([tmp_path / "driver.h"]))
        trials.executor_digest.cache_clear()
        digests.add(executor_digest())
    trials.executor_digest.cache_clear()
    assert len(digests) == 2


def test_the_family_of_given_configurations_is_theirs(tmp_path: Path) -> None:
    """Without --family they were asked about by the rules of convolutions."""
    point = {**book("aquant", ck="2025.11").vocabulary.baseline}
    given = tmp_path / "quant.jsonl"
    given.write_text(json.dumps(point) + "\n")
    books = Books("2025.11")
    drawn = CertifyChoice(books, gpu_of(books, "gfx942"), ("forward", "bwd_data"))
    points = points_of([str(given)], books, "gfx942")
    assert replace(drawn, points=points).every_variant == ("aquant",)
    assert drawn.every_variant == ("forward", "bwd_data")


def test_kernels_without_templates_are_not_drawn() -> None:
    """Rules judge flatmm with scales along K, and no template has them: the run ended there."""
    books = Books("2025.11")
    where = ("tile_m * tile_n * tile_k <= 8192 * wave_m * wave_n * wave_k",)
    choice = CertifyChoice(books, gpu_of(books, "gfx950"), ("flatmm",), where=where, count=30)
    bare = draw(choice.book, {"variant": ("flatmm",), "arch": ("gfx950",)}, 30, 0, where)
    along_k = {"per_1x32", "per_1x128"}
    assert along_k & {p["scales"] for p in bare.points[bare.legal :]}
    drawn = [q.point for q in NumericRun(choice, Manner()).questions]
    assert len(drawn) == 30
    assert not along_k & {p["scales"] for p in drawn}


@pytest.mark.toolchain
def test_builds_take_no_longer_than_a_configuration_may(rules: RuleBook, tmp_path: Path) -> None:
    """A GEMM took a compiler 22 minutes, whatever the command was told."""
    require_toolchain()
    config = write(tmp_path, "c.json", rules.example(SMALL))
    result = run(
        "certify", "numerics", "--arch", "gfx942", config, "--store", str(tmp_path / "t.sqlite"),
        "--timeout", "0.01", "--ck", "2025.11",
    )  # fmt: skip
    assert "took more than 0.01 s of processor time" in result.output

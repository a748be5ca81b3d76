"""Fields, rules and shared memory of CUTLASS's Hopper GEMMs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.rules import RuleDef
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import problem_books
from ckrules.kernels.families import declared, families
from ckrules.kernels.library import book
from tests.engine import backends

DATA = Path(__file__).parent / "data"
VARIANT = "hopper_gemm"
PROFILES = ("legal", "fast", "library")


def books() -> list[RuleBook]:
    """Every book of the family."""
    return [*(book(VARIANT, profile=p) for p in PROFILES), problem_books.book(VARIANT)]


def points(rules: RuleBook, accepted: bool, code: str) -> list[dict[str, Any]]:
    """The full points of a rule's examples."""
    found = next(r for r in rules.rules if r.code == code)
    given = found.accepts if accepted else found.rejects
    return [{**rules.vocabulary.baseline, **dict(e.fields)} for e in given]


@pytest.mark.parametrize("backend", backends.names())
def test_examples_are_decided_alike(backend: str) -> None:
    evaluate = backends.evaluate(backend)
    for rules in books():
        for r in rules.rules:
            for accepted in (True, False):
                tried = points(rules, accepted, r.code)
                assert tried, r.code
                found = evaluate([r.applies, r.expr, r.condition], tried)
                assert found == [[True, accepted, accepted]] * len(tried), (r.code, backend)


def test_every_rule_has_words_for_what_it_rejects() -> None:
    """CUTL001 had three sentences for five conditions, an internal error where it was broken."""
    for rules in books():
        for r in rules.rules:
            for point in points(rules, False, r.code):
                told = [str(v) for v in rules.violations(point) if v.rule.code == r.code]
                assert len(told) == 1
                assert r.code in told[0]


def test_the_baseline_is_legal_and_of_the_library() -> None:
    for rules in books():
        assert rules.violations(rules.vocabulary.baseline) == []


def test_every_rule_says_its_topic_source_and_fix() -> None:
    family = families()["cutlass"]
    rules: list[RuleDef] = declared(family)
    codes = [r.code for r in rules]
    assert len(codes) == len(set(codes)) >= 30
    for r in rules:
        assert r.code[:4] in family.topics, r.code
        assert r.template.sources, r.code
        assert "Why: " in r.template.doc, r.code
        assert "Fix: " in r.template.doc, r.code


def test_no_code_is_another_familys() -> None:
    own = {r.code for r in declared(families()["cutlass"])}
    for name, family in families().items():
        if name != "cutlass":
            assert own.isdisjoint(r.code for r in declared(family))


#: What nvcc 13.0 made of the headers: bytes of SharedStorage, stages, threads of a block, and
#: bytes of the epilogue's SharedStorage.
MEASURED = [json.loads(line) for line in (DATA / "shared_memory.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", MEASURED, ids=lambda r: r["name"].removeprefix("cutlass3x_sm90_"))
def test_shared_memory_is_what_the_headers_lay_out(row: dict[str, Any]) -> None:
    from ckrules.kernels.names import parse_name

    rules = book(VARIANT)
    point = {**parse_name(row["name"]).point, "arch": "sm_90a"}
    names = ["shared_bytes", "stage_count", "threads", "carveout"]
    found = rules.resources(point, names)
    assert [found[n] for n in names] == [row[n] for n in names]


def test_messages_name_the_numbers() -> None:
    rules = book(VARIANT)
    base = dict(rules.vocabulary.baseline)
    (found,) = rules.violations({**base, "stages": 8})
    assert "CUTS003 launch: A block's shared memory is within" in str(found)
    assert "shared_bytes" in str(found)
    (found,) = rules.violations({**base, "tile_m": 192})
    assert "tile_m = 192 is not a multiple of 128" in str(found)


def test_a_space_counts_what_checking_accepts() -> None:
    import itertools

    rules = book(VARIANT)
    held = {
        "dtype": ["bf16"], "acc": ["fp32"], "c_dtype": ["none"], "d_dtype": ["bf16"],
        "layout": ["ntt"], "align": [8], "cluster_m": [1], "cluster_n": [2], "stages": [0, 4],
        "fast_accum": [False], "tile_scheduler": ["persistent", "stream_k"], "swizzle": [1],
    }  # fmt: skip
    space = rules.space(**held)
    holds = compile_function([r.condition for r in rules.rules])
    values = itertools.product(*space.domains.values())
    points = [dict(zip(space.domains, v, strict=True)) for v in values]
    legal = [all(holds(p)) for p in points]
    assert space.count() == sum(legal) > 0
    for point, accepted in list(zip(points, legal, strict=True))[::101]:
        assert (rules.violations(point) == []) is accepted


def test_a_kernel_with_a_block_for_each_tile_has_a_grid_that_cuda_launches() -> None:
    """An H200 launched 65535 blocks along y or z, and refused 65536."""
    rules = problem_books.book(VARIANT)
    plain = {**rules.vocabulary.baseline, "schedule": "warpspecialized", "tile_n": 64}
    own = {v.rule.code for v in rules.violations(plain)}

    def faults(**changed: Any) -> set[str]:
        return {v.rule.code for v in rules.violations({**plain, **changed})} - own

    assert faults(batch=65535, N=65535 * 64) == set()
    assert faults(batch=65536) == faults(N=65535 * 64 + 8) == {"CUTP006"}
    assert faults(batch=65536, schedule="pingpong") == set()

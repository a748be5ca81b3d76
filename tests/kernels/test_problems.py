"""Problem applicability: the rules against a transcription of the kernels' argument checks."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import pytest

from ckrules.constraints import CK_VERSIONS, book
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.constraints.conv.problem_fields import values
from ckrules.kernels import problem_books
from ckrules.kernels.applicability import Applicability
from ckrules.kernels.books import Books
from ckrules.kernels.families import named, problems_of
from ckrules.output.rule_docs import every_rule
from ckrules.support.errors import UnknownNameError, UsageError
from tests.cli.run import legal, run, write
from tests.engine import backends

TEXT = "N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1"
CHOICES: dict[str, tuple[Any, ...]] = {
    "vector_a": (1, 2, 8), "vector_b": (1, 2, 8), "vector_c": (1, 2, 8),
    "dtype": ("fp16", "fp32"), "two_stage": (False, True),
    "specialization": ("default", "filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3"),
    "num_groups_to_merge": (1, 1, 2, 8), "pipeline": ("compv3", "compv6"),
    "streamk": ("off", "off", "tree"), "tile_k": (32, 64), "warp_tile_k": (8, 16),
}  # fmt: skip


def supported(p: dict[str, Any], q: Convolution, ck: str) -> bool:
    """IsSupportedArgument, read off the kernels line by line (rules of the hardware left out)."""
    new, variant = ck >= "2026.06", p["variant"]
    channels, outputs = q.in_channels // q.groups, q.out_channels // q.groups
    merge, va, vb, vc = (
        p["num_groups_to_merge"], p["vector_a"], p["vector_b"], p["vector_c"],
    )  # fmt: skip
    half = p["dtype"] != "fp32" and not p["two_stage"]
    if q.ndim != p["ndim"]:
        return False
    if variant == "forward" or (variant == "bwd_data" and not new):
        if q.split_k != 1:
            return False
    elif vc % 2 and half and q.split_k != 1:
        return False
    for f, s, left, right in zip(q.filter, q.stride, q.left_pad, q.right_pad, strict=True):
        if p["specialization"] == "filter1x1_stride1_pad0" and (f, s, left, right) != (1, 1, 0, 0):
            return False
        if p["specialization"] == "filter1x1_pad0" and (f, left, right) != (1, 0, 0):
            return False
        if p["specialization"] == "filter3x3" and f != 3:
            return False
    if p["specialization"] == "filter3x3" and channels != 1:
        return False
    if channels % vb:
        return False
    if variant == "forward":
        if new and merge > 1:
            if channels != 1 or q.groups % merge:
                return False
            return not (outputs % vc and (q.groups % merge or q.groups % vc))
        return not (channels % va or outputs % vc)
    if outputs % va or channels % vc:
        return False
    if variant == "bwd_data":
        tiles = [
            min(s // math.gcd(s, d), f)
            for s, d, f in zip(q.stride, q.dilation, q.filter, strict=True)
        ]
        return math.prod(tiles) <= 128
    if merge > 1 and q.groups % merge:
        return False
    if new:
        k = q.batch * math.prod(q.output)
        if p["streamk"] != "off":
            if q.split_k != 1:
                return False
        elif -(-k // p["warp_tile_k"]) < q.split_k:
            return False
        if p["pipeline"] == "compv6" and -(-k // (q.split_k * p["tile_k"])) < 4:
            return False
        if half and q.split_k > 128:
            return False
    return True


def random_problem(rng: random.Random) -> Convolution:
    """A small problem of 1 to 3 dimensions."""
    ndim, groups = rng.choice((1, 2, 2, 2, 3)), rng.choice((1, 2, 8))
    many = rng.choice(((1, 3), (3,), (1,), (1, 3, 5)))
    filters = tuple(rng.choice(many) for _ in range(ndim))
    pads = [tuple(rng.choice((0, 0, 1)) for _ in range(ndim)) for _ in range(2)]
    return Convolution(
        batch=rng.choice((1, 2, 32)), groups=groups,
        in_channels=groups * rng.choice((1, 2, 8, 12)),
        out_channels=groups * rng.choice((1, 2, 8, 12)),
        input=tuple(rng.choice((12, 13, 28)) for _ in range(ndim)), filter=filters,
        stride=tuple(rng.choice((1, 1, 2, 5, 16)) for _ in range(ndim)),
        dilation=tuple(rng.choice((1, 1, 2)) for _ in range(ndim)),
        left_pad=pads[0], right_pad=pads[1], split_k=rng.choice((1, 1, 2, 129)),
    )  # fmt: skip


@pytest.mark.parametrize("ck", CK_VERSIONS)
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_rules_say_what_the_argument_check_says(variant: str, ck: str) -> None:
    rng = random.Random(f"{variant} {ck}")
    base = dict(book(variant, ck=ck).vocabulary.baseline)
    rules = problem_books.book(variant, ck=ck)
    seen = {True: 0, False: 0}
    for _ in range(600):
        point = {**base, "variant": variant, **{k: rng.choice(v) for k, v in CHOICES.items()}}
        if rng.random() < 0.5:  # more that is accepted
            point |= {"vector_a": 1, "vector_b": 1, "vector_c": 1, "specialization": "default"}
        problem = random_problem(rng)
        point["ndim"] = rng.choice((problem.ndim, problem.ndim, problem.ndim, 2))
        found = rules.violations({**point, **values(problem)})
        expected = supported(point, problem, ck)
        # PROB022 is not the check's: the kernel is built without what a split sum needs.
        broken = [v.code for v in found if v.kind == "launch" and v.code != "PROB022"]
        assert bool(broken) is not expected, (str(problem), point, broken)
        seen[expected] += 1
    assert min(seen.values()) > 25


def test_many_gemms_are_refused() -> None:
    found = Applicability("N=1,C=64,K=64,H=99,W=99,Y=12,X=12,stride=12", Books())
    point = {**book("bwd_data").vocabulary.baseline, "variant": "bwd_data"}
    assert [v.code for v in found(point)] == ["PROB015"]
    even = Applicability("N=1,C=64,K=64,H=99,W=99,Y=12,X=12,stride=12,dilation=4", Books())
    assert even(point) == []


@pytest.mark.parametrize("backend", backends.names())
def test_backends_decide_examples_alike(backend: str) -> None:
    """Those of a rule that releases share are asked once."""
    evaluate, seen = backends.evaluate(backend), set()
    for rules in itertools.chain.from_iterable(map(problem_books.books, CK_VERSIONS)):
        for rule in rules.rules:
            good, bad = (rules.examples(rule, accepted=a) for a in (True, False))
            key = (rule.condition.id, *(tuple(p.items()) for p in (*good, *bad)))
            if key not in seen:
                seen.add(key)
                found = evaluate([rule.condition], [*good, *bad])
                assert found == [[True]] * len(good) + [[False]] * len(bad), rule.code
    assert len(seen) > 30


def test_depthwise_problem() -> None:
    rules = book("forward_depthwise")
    point = {**rules.vocabulary.baseline, "nbatch": 4}
    fits = Applicability("N=8,G=16,C=16,K=16,H=16,W=16,Y=3,X=3,pad=1", Books())
    assert fits(point) == []
    dense = Applicability("N=6,C=16,K=16,H=30,W=16,Y=5,X=3,pad=1", Books())
    assert [v.code for v in dense(point)] == ["PROB031", "PROB032", "PROB033", "PROB034"]


def test_kernels_of_another_kind_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(named("depthwise")), "problems", None)
    found = Applicability(TEXT, Books())
    assert found(book("forward").vocabulary.baseline) == []
    assert found(book("forward_depthwise").vocabulary.baseline) is None
    with pytest.raises(UsageError, match="nothing of the problems of depthwise kernels"):
        problem_books.book("forward_depthwise")


def test_every_problem_rule_has_a_page() -> None:
    codes = {r.code for ck in CK_VERSIONS for b in problem_books.books(ck) for r in b.rules}
    assert codes <= every_rule().keys()
    page = run("explain", "PROB005").stdout
    assert page.startswith("# PROB005: channels-not-whole-vectors-of-b")
    assert "PROB018" in run("explain", "prob").stdout


def test_command(tmp_path: Any) -> None:
    path = write(tmp_path, "a.jsonl", json.dumps(legal()) + "\n" + json.dumps(legal(vector_a=1)))
    assert run("check", path, "--problem", TEXT).exit_code == 0
    refused = run("check", path, "--problem", TEXT.replace("C=64", "C=60"))
    assert refused.exit_code == 1
    assert [line.split(" ")[1] for line in refused.stdout.splitlines()] == [
        "PROB004", "PROB005", "PROB005",
    ]  # fmt: skip
    assert (
        "vector_b = 8 does not divide the input channels of a group: C // G = 60" in refused.stdout
    )


def test_verdicts_carry_the_problem(tmp_path: Any) -> None:
    path = write(tmp_path, "a.json", legal())
    assert "problem" not in json.loads(run("check", path, "--verdicts").stdout)
    told = json.loads(run("check", path, "--verdicts", "--problem", TEXT + ",split_k=2").stdout)
    assert told["legal"] is True
    assert told["problem"]["accepted"] is False
    assert told["problem"]["problem"] == parse(TEXT + ",split_k=2").__str__()
    assert [v["code"] for v in told["problem"]["violations"]] == ["PROB007"]


def test_problem_rules_are_selected_like_others(tmp_path: Any) -> None:
    path = write(tmp_path, "a.json", legal())
    words = ("check", path, "--problem", TEXT.replace("C=64", "C=60"))
    assert run(*words, "--ignore", "PROB").exit_code == 0
    assert run(*words, "--ignore", "PROB004").stdout.count("PROB") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("N=1,C=8,K=8,H=9,W=9,Y=3,X=3,Q=1", "unknown size of a problem 'Q'"),
        ("N=1,C=8,K=8,H=9,W=9,Y=3,X=3,strid=1", "did you mean 'stride'"),
        ("N=1,C=8,K=8,H=9,W=9,Y=3,X=3,stride=65", "conv_stride_h = 65 is out of range"),
        ("N=0,C=8,K=8,H=9,W=9,Y=3,X=3", "N = 0 is not between 1 and"),
        ("N=1,C=8,K=8,H=2,W=9,Y=3,X=3", "the filter is larger than the padded image"),
        ("N=1,C=8", "the problem has no K"),
        ("N", "'N' is not of the form NAME=NUMBER"),
    ],
)
def test_faults_of_a_problem(text: str, said: str, tmp_path: Any) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=said):
        Applicability(text, Books())
    result = run("check", write(tmp_path, "a.json", legal()), "--problem", text)
    assert result.exit_code == 2
    assert said in result.stderr


GEMM = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x32_2x2x1_32x32x8"


def test_a_problem_of_other_kernels_is_not_passed_over_in_silence(tmp_path: Any) -> None:
    found = run("check", "--arch", "gfx942", "--problem", TEXT, GEMM)
    assert found.exit_code == 0
    assert "CFG011 file (warning): no kernel of gemm computes such a problem" in found.stdout
    other = run("check", "--problem", "M=64,N=64,K=64", write(tmp_path, "a.json", legal()))
    assert "no kernel of conv computes such a problem" in other.stdout
    assert (
        "CFG011" not in run("check", "--arch", "gfx942", "--problem", "M=64,N=64,K=64", GEMM).stdout
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"M": 64, "M": 128, "N": 64, "K": 64}', ":1: M is given twice"),
        ("M,N,K\n64,64,64,2\n", ":2: 4 cells below a header of 3"),
        ("M,N,K,k_batch\n64,64,64\n", ":2: 3 cells below a header of 4"),
        ('[{"M": 64, "N": 64, "K": 64}]', "a JSON list, expected JSON Lines: an object a line"),
        ('\n[\n {"M": 64, "N": 64, "K": 64}\n]', "a JSON list, expected JSON Lines"),
        ("M,N,K,M\n64,64,64,128\n", ":2: M is given twice"),
    ],
)
def test_files_of_problems_lose_nothing_in_silence(text: str, said: str) -> None:
    found = run("cover", GEMM, "--arch", "gfx942", "--problems", "-", stdin=text)
    assert found.exit_code == 2
    assert said in found.stderr


@pytest.mark.parametrize(
    ("variant", "text", "said"),
    [
        ("forward", "N=1,C=8,K=8,W=9,X=3,n=4", "N is given twice, as N and n"),
        ("forward", "N=1,C=8,K=8,Wi=9,X=3,W=7", "Wi is given twice, as Wi and W"),
        ("bwd_weight", "N=1,C=8,K=8,W=9,X=3,k_batch=1,split_k=2", "split_k is given twice"),
        ("standard", "M=8,N=8,K=8,lda=8,stride_a=9", "stride_a is given twice, as lda and"),
        ("flatmm", "M=8,N=8,K=8,m=2", "M is given twice, as M and m"),
        ("moe_flatmm", "tokens=8,N=8,K=8,topk=1,top_k=2", "topk is given twice"),
        ("fmha_fwd", "b=1,h=8,s=8,d=128,heads_q=4", "heads is given twice, as h and heads_q"),
    ],
)
def test_no_size_has_two_values(variant: str, text: str, said: str) -> None:
    kind = problems_of(variant)
    cells = dict(part.split("=") for part in text.split(","))
    for read, given in ((kind.parse, text), (kind.from_mapping, cells), (kind.from_row, cells)):
        with pytest.raises(UsageError, match=said):
            read(given)


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        ("forward", "batch=1,groups=8,c=16,k=16,H=8,W=7,y=3,x=3,Ho=6,kbatch=2"),
        ("moe_flatmm", "tokens=8,n=16,k=32,expert=4,top_k=2,splitk=2"),
    ],
)
def test_rows_have_the_names_of_lines(variant: str, text: str) -> None:
    cells = dict(part.split("=") for part in text.split(","))
    kind = problems_of(variant)
    assert kind.from_row({**cells, "us": "12.5"}) == kind.parse(text)


def test_no_other_kind_of_problem_takes_one_of_two_values() -> None:
    found = run("check", "--arch", "gfx942", "--problem", "M=64,N=64,K=64,m=2", GEMM)
    assert found.exit_code == 2
    assert "M is given twice, as M and m" in found.stderr

"""Sinks of attention: since which release, in names, and which windows they go with.

What kernels of CK 2026.06 see of K is walked through as their loops have it, row by row, and
compared with the mask; the rules have to say which walks are wrong.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from ckrules.constraints import book
from ckrules.constraints.fmha import problem_fields
from ckrules.constraints.fmha.problem import AttentionProblem, pack, parse
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import ConfigError, config_from_mapping, config_from_name
from ckrules.kernels.families import problems_of
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name, styled_name
from ckrules.support.errors import CkrulesError, UsageError

VARIANTS = ("fmha_fwd", "fmha_fwd_splitkv", "fmha_fwd_pagedkv", "fmha_batch_prefill")
NAME = (
    "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_vr_npad"
    "_nlogits_nbias_mask_nlse_ndropout_nskip_nsquant_ntrload"
)


# -- release ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_sinks_begin_with_2026(variant: str) -> None:
    old = book(variant, ck="2025.11")
    assert old.space(variant=variant, arch="gfx942", sink=True).count() == 0
    for ck in ("2026.06", "2026.09"):
        new = book(variant, ck=ck)
        with_sinks = new.space(variant=variant, arch="gfx942", sink=True).count()
        assert 0 < with_sinks == new.space(variant=variant, arch="gfx942", sink=False).count()


def test_a_kernel_of_2025_with_sinks_is_told_so() -> None:
    config = config_from_name(f"{NAME}_sink", Books("2025.11"), arch="gfx942")
    (fault,) = book("fmha_fwd", ck="2025.11").violations(config.point)
    assert (fault.rule.code, fault.message) == (
        "FMHA064", "the headers of CK 2025.11 have no sinks: sink = true",
    )  # fmt: skip
    assert not book("fmha_fwd", ck="2026.06").violations(config.point)


def test_configurations_may_leave_sinks_out() -> None:
    given = {n: v for n, v in BASELINE.items() if n != "sink"}
    for ck in ("2025.11", "2026.06"):
        assert config_from_mapping(given, Books(ck)).point["sink"] is False
        with pytest.raises(ConfigError, match="sink = 3 is not true or false"):
            config_from_mapping({**given, "sink": 3}, Books(ck))


@pytest.mark.parametrize("variant", VARIANTS)
def test_lists_of_2025_have_no_sinks_in_any_version(variant: str) -> None:
    counts = {
        book(variant, ck=ck, profile="receipt_0").space(variant=variant, arch="gfx942").count()
        for ck in ("2025.11", "2026.06", "2026.09")
    }
    assert len(counts) == 1


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sink", [False, True])
def test_names_say_sinks(variant: str, sink: bool) -> None:
    space = book(variant, ck="2026.06").space(variant=variant, arch="gfx942", sink=sink)
    for point in space.sample(20, seed=3):
        name = format_name(point)
        assert ("_sink" in name) is sink
        assert {**parse_name(name).point, "arch": "gfx942"} == point


@pytest.mark.parametrize("end", ["_nsink", "_nsink_gfx9", "_sink_gfx950", "_gfx9"])
def test_names_of_2026_print_back(end: str) -> None:
    parsed = parse_name(NAME + end)
    assert parsed.point["sink"] is end.startswith("_sink")
    assert format_name(parsed.point, parsed.spelling) == NAME + end


@pytest.mark.parametrize("end", ["", "_nsink", "_sink_gfx9", "_nsink_gfx115"])
@pytest.mark.parametrize(("word", "scaled"), [("nqscale", False), ("pertensor", True)])
def test_words_of_2026_for_scales_print_back(end: str, word: str, scaled: bool) -> None:
    name = NAME.replace("nsquant", word) + end
    parsed = parse_name(name)
    assert parsed.point["squant"] is scaled
    assert format_name(parsed.point, parsed.spelling) == name
    assert format_name(parsed.point).removesuffix("_sink") == (
        NAME if not scaled else NAME.replace("nsquant", "squant")
    )
    other = {"nqscale": "pertensor", "pertensor": "nqscale"}[word]
    changed = format_name({**parsed.point, "squant": not scaled}, parsed.spelling)
    assert changed == NAME.replace("nsquant", other) + end


@pytest.mark.parametrize("word", ["blockscale", "kv_blockscale", "perhead", "mx"])
def test_scales_without_a_field_are_refused(word: str) -> None:
    with pytest.raises(KernelNameError, match="heads and MX have no field") as caught:
        parse_name(NAME.replace("nsquant", word) + "_nsink")
    assert caught.value.column == NAME.index("nsquant") + 1


@pytest.mark.parametrize("pipeline", ["qr_tdm", "qr_tdm_v128", "qr_async_trload_v3"])
def test_pipelines_without_a_word_are_refused(pipeline: str) -> None:
    word = BASELINE["pipeline"]
    with pytest.raises(KernelNameError, match=r"expected pipeline \(qr, .*not modelled") as caught:
        parse_name(NAME.replace(f"_{word}_v", f"_{pipeline}_v"))
    assert caught.value.column == NAME.index(f"_{word}_v") + 2


def test_words_for_scales_are_those_of_forward() -> None:
    splits = format_name({**BASELINE, "variant": "fmha_fwd_splitkv", "lse": True})
    with pytest.raises(KernelNameError, match="expected squant"):
        parse_name(splits.replace("nsquant", "nqscale"))


def test_a_changed_kernel_does_not_keep_the_word() -> None:
    parsed = parse_name(f"{NAME}_nsink")
    assert format_name({**parsed.point, "sink": True}, parsed.spelling) == f"{NAME}_sink"


@pytest.mark.parametrize("end", ["_sink_nsink", "_nsink_nsink", "_sink_sink", "_nsinks"])
def test_other_ends_are_refused(end: str) -> None:
    with pytest.raises(KernelNameError):
        parse_name(NAME + end)


def test_points_without_the_field_have_names() -> None:
    point = {n: v for n, v in BASELINE.items() if n != "sink"}
    assert format_name(point) == format_name(BASELINE)
    assert styled_name({**BASELINE, "sink": True}, "generator").endswith("_sink_gfx9")


# -- problems ---------------------------------------------------------------------------------

SIZES = "batch=1,heads=8,heads_k=8,seqlen_q=1024,seqlen_k=1024,hdim=128"


def test_problems_say_sinks() -> None:
    problem = parse(f"{SIZES},mask=window,left=100,sink=yes,sink_size=4")
    assert (problem.sink, problem.sink_size) == ("yes", 4)
    assert parse(str(problem)) == problem
    assert "sink" not in str(parse(SIZES))
    kind = problems_of("fmha_fwd")
    assert kind.from_row({n: str(v) for n, v in kind.row(problem, "fmha_fwd").items()}) == problem


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("sink_size=4", "sink_size = 4 is for mask = window"),
        ("mask=causal,sink_size=4", "sink_size = 4 is for mask = window"),
        ("sink=3", "unknown sink"),
        ("mask=window,sink_size=-1", "sink_size"),
    ],
)
def test_sinks_that_mean_nothing_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(CkrulesError, match=wrong):
        parse(f"{SIZES},{text}")


@pytest.mark.parametrize("more", ["sink=yes", "mask=window,sink_size=4"])
def test_sinks_are_not_run(more: str) -> None:
    with pytest.raises(UsageError, match=r"kernels are built for CK 2025\.11 alone"):
        pack(parse(f"{SIZES},{more}"))


def _faults(ck: str, kernel: dict[str, Any], problem: AttentionProblem) -> set[str]:
    rules = problem_books.book("fmha_fwd", ck=ck)
    own = {n: v for n, v in rules.vocabulary.baseline.items() if not n.startswith("p_")}
    point = {**own, "pad_s": True, "pad_sk": True, **kernel, **problem_fields.values(problem)}
    return {v.rule.code for v in rules.violations(point)}


ASYNC = {"pipeline": "qr_async", "pad_d": True, "pad_dv": True}
SPLIT = {"variant": "fmha_fwd_splitkv", "lse": True}
SPLIT_SINKS = {"mask": "mask", "sink": True, **SPLIT}
SCALED = {"dtype": "fp8", "warp_tile_k0": 32, "warp_tile_k1": 32, "squant": True}


@pytest.mark.parametrize(
    ("kernel", "more", "codes"),
    [
        ({}, "sink=yes", set()),
        ({"mask": "mask"}, "mask=causal,sink=yes", {"FPROB036"}),
        ({"mask": "mask", "sink": True}, "mask=causal,sink=yes", set()),
        ({"mask": "mask", "sink": True}, "mask=causal", set()),
        ({"mask": "mask", **SPLIT}, "mask=causal,sink=yes", set()),
        ({"mask": "mask"}, "mask=window,left=99,sink_size=4", {"FPROB036"}),
        ({"mask": "mask"}, "mask=window,left=1023,sink_size=4", set()),
        ({"logits": True}, "logits=yes,sink=yes", {"FPROB039"}),
        (SCALED, "squant=yes,sink=yes", {"FPROB042"}),
        (SCALED, "squant=yes", set()),
        ({**SCALED, **SPLIT}, "squant=yes,sink=yes", set()),
        (SPLIT_SINKS, "mask=window,left=99,sink=yes", {"FPROB038"}),
        (SPLIT_SINKS, "mask=window,left=99,sink=yes,splits=1", set()),
        (SPLIT_SINKS, "mask=window,left=99,sink_size=129", {"FPROB040"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ck", ["2026.06", "2026.09"])
def test_problems_of_kernels(ck: str, kernel: dict[str, Any], more: str, codes: set[str]) -> None:
    assert _faults(ck, kernel, parse(f"{SIZES},{more}")) == codes


@pytest.mark.parametrize("more", ["sink=yes", "mask=window,left=99,sink_size=4"])
def test_no_kernel_of_2025_computes_sinks(more: str) -> None:
    problem = parse(f"{SIZES},{more}")
    mask = {"mask": "mask" if "mask" in more else "no"}
    assert _faults("2025.11", mask, problem) == {"FPROB036"}


def test_windows_of_batch_prefill_are_right_since_2026() -> None:
    kernel = {**ASYNC, "variant": "fmha_batch_prefill", "paged_kv": True, "mask": "mask"}
    problem = parse(f"{SIZES},mask=window,left=99")
    assert _faults("2025.11", kernel, problem) == {"FPROB012"}
    assert _faults("2026.06", {**kernel, "sink": True}, problem) == set()


# -- what kernels of June 2026 make of the score --------------------------------------------------


def _score_as_counted(bias: bool, cap: bool, scaled: bool, score: float) -> float:
    """What the pipelines of fmha_fwd make of a score of sinks, which exp2 is taken of at last."""
    handed = 128**-0.5 * math.log2(math.e)  # scale_s, with CK_TILE_FMHA_FWD_FAST_EXP2
    scale = handed * (0.5 * 0.25 if scaled else 1.0)  # q_descale * k_descale
    m = score / handed * math.log2(math.e)
    if bias:
        m *= scale
    exponent = m if bias or cap else scale * m
    return exponent / math.log2(math.e)


@pytest.mark.parametrize(
    ("bias", "cap", "scaled"), [t for t in product((False, True), repeat=3) if not all(t[:2])]
)
def test_rules_say_which_scores_are_counted_right(bias: bool, cap: bool, scaled: bool) -> None:
    right = math.isclose(_score_as_counted(bias, cap, scaled, 1.75), 1.75)
    kernel: dict[str, Any] = {"bias": "bias" if bias else "no", "logits": cap}
    kernel |= SCALED if scaled else {}
    words = zip(("bias=bias", "logits=yes", "squant=yes"), (bias, cap, scaled), strict=True)
    asked = ",".join([SIZES, "sink=yes", *(word for word, on in words if on)])
    assert _faults("2026.06", kernel, parse(asked)) == {
        *({"FPROB039"} if cap else ()), *({"FPROB042"} if scaled else ()),
    }  # fmt: skip
    assert right is not (cap or scaled)


# -- what kernels of June 2026 see --------------------------------------------------------------


class Mask:
    """SimplifiedGenericAttentionMask of a window that ends at the last row and column."""

    def __init__(self, problem: AttentionProblem, m: int, n: int) -> None:
        self.rows, self.columns = problem.seqlen_q, problem.seqlen_k
        left, right = problem.window
        self.x = 1 + right + self.columns - self.rows
        self.y = 1 + left + self.rows - self.columns
        self.sink, self.m, self.n = problem.sink_size, m, n

    def is_seen_once(self, block: int, reads: Iterable[int]) -> bool:
        """Whether rows of a block see each of their columns once among those that are read."""
        rows = np.arange(block, min(block + self.m, self.rows))[:, None]
        times = np.bincount(list(reads), minlength=self.columns)
        columns = np.arange(len(times))
        first, end = rows + 1 - self.y, np.minimum(rows + self.x, self.columns)
        kept = (columns < self.sink) & (columns < rows + self.x) & (self.y < self.rows)
        shown = (kept & (rows < self.columns)) | (first <= columns) & (columns < end)
        return np.array_equal(times * shown, shown & (columns < self.columns))

    def tiles(self, block: int) -> tuple[int, int]:
        first = max(block + 1 - self.y, 0) // self.n * self.n
        end = min(block + self.m - 1 + self.x, self.columns)
        return first, -(-end // self.n) * self.n

    def tiles_with_sinks(self, block: int) -> tuple[int, int, int]:
        first, end = self.tiles(block)
        kept = -(-self.sink // self.n) * self.n
        return (0, 0, end) if first <= kept and self.sink else (kept, first, end)


def _places(pipeline: str, mask: Mask, block: int) -> Iterator[int]:
    """The first columns of the tiles that the loop of a pipeline reads."""
    kept, first, end = mask.tiles_with_sinks(block)
    at = first if kept == 0 and first > 0 else 0
    loops = -(-(end - first) // mask.n) + -(-kept // mask.n)
    for i in range(loops):
        yield at
        if pipeline == "qr" and i == 0:
            at += first - kept
        if pipeline == "moved" and i + 1 == -(-kept // mask.n):
            at += first - kept
        at += mask.n


def _right(pipeline: str, problem: AttentionProblem, m: int, n: int) -> bool:
    mask = Mask(problem, m, n)
    return all(
        mask.is_seen_once(
            block, [c for at in _places(pipeline, mask, block) for c in range(at, at + n)]
        )
        for block in range(0, problem.seqlen_q, m)
    )


@pytest.mark.parametrize("pipeline", ["qr", "qr_async", "moved"])
def test_rules_say_which_windows_are_reached(pipeline: str) -> None:
    """No window that the rules accept is read wrong; of those they refuse few are right.

    "moved" moves on behind the tiles that are kept, as batch prefill does, and forward since then.
    """
    draw = random.Random(7)
    m, n = 64, 32
    kernel: dict[str, Any] = {
        "tile_m0": m, "tile_n0": n, "mask": "mask", "sink": True, "warp_tile_m0": 16,
        "warp_tile_m1": 16, **({} if pipeline == "qr" else ASYNC),
    }  # fmt: skip
    ck = "2026.09" if pipeline == "moved" else "2026.06"
    verdicts: Counter[tuple[bool, bool]] = Counter()
    for _ in range(400):
        rows, columns = draw.randint(1, 200), draw.randint(1, 260)
        left, right = draw.randint(0, 150), draw.choice((0, 0, 5, 40))
        kept = draw.choice((0, 1, 4, 31, 32, 33, 64, 70))
        text = f"seqlen_q={rows},seqlen_k={columns},left={left},right={right},sink_size={kept}"
        problem = parse(f"batch=1,heads=8,hdim=128,mask=window,{text}")
        accepted = not {"FPROB037", "FPROB041"} & _faults(ck, kernel, problem)
        right_values = _right(pipeline, problem, m, n)
        verdicts[accepted, right_values] += 1
        assert right_values or not accepted, text
    assert verdicts[True, True] > 100
    if pipeline == "moved":
        assert verdicts[False, False] < 5
    else:
        assert verdicts[False, False] > 40
    assert 20 * verdicts[False, True] <= verdicts[False, False]


def _split(mask: Mask, block: int, splits: int, i: int) -> tuple[int, int, int]:
    """GetSinkTileRangeAlongX of a split."""
    first, last = mask.tiles(block)
    each = max(1, -(-mask.columns // splits))
    start, end = max(first, each * i), min(last, min(mask.columns, each * i + each))
    kept = -(-mask.sink // mask.n) * mask.n
    own = each * i <= first <= min(mask.columns, each * i + each) and kept <= start
    return (kept if own else 0), start, end


def _of_splits(mask: Mask, block: int, splits: int, paged: bool) -> tuple[int, Counter[int]]:
    """How often the score of sinks counts for a block, and how often each column is read."""
    scores, columns = 0, Counter[int]()
    for i in range(splits):
        kept, start, end = _split(mask, block, splits, i)
        if end <= start:
            scores += i == 0
            continue
        _, before, until = _split(mask, block, splits, i - 1) if i else (0, 0, 0)
        scores += before >= until if i else 1
        aligned = start // mask.n * mask.n if paged else start
        sinks = -(-kept // mask.n)
        at = aligned if kept == 0 and aligned > 0 else 0
        for loop in range(-(-(end - aligned) // mask.n) + sinks):
            least = 0 if loop == sinks - 1 or not paged else start
            columns.update(c for c in range(at, at + mask.n) if least <= c < end)
            at += mask.n + (start - kept if loop == sinks - 1 else 0)
    return scores, columns


@pytest.mark.parametrize("paged", [False, True])
def test_rules_say_what_splits_lose(paged: bool) -> None:
    draw = random.Random(11)
    m, n = 64, 32
    kernel: dict[str, Any] = {
        **SPLIT, "tile_m0": m, "tile_n0": n, "mask": "mask", "sink": True, "warp_tile_m0": 16,
        "warp_tile_m1": 16, "paged_kv": paged,
    }  # fmt: skip
    lost, twice = Counter[tuple[bool, bool]](), Counter[tuple[bool, bool]]()
    for _ in range(300):
        rows, columns = draw.randint(1, 200), draw.randint(1, 300)
        left, splits = draw.randint(0, 150), draw.randint(1, 5)
        kept = draw.choice((0, 1, 4, 31, 32, 33, 64, 70))
        text = f"seqlen_q={rows},seqlen_k={columns},left={left},splits={splits},sink_size={kept}"
        problem = parse(f"batch=1,heads=8,hdim=128,mask=window,sink=yes,{text}")
        faults = _faults("2026.09", kernel, problem)
        mask = Mask(problem, m, n)
        found = {b: _of_splits(mask, b, splits, paged) for b in range(0, rows, m)}
        once = all(scores == 1 for scores, _ in found.values())
        whole = all(mask.is_seen_once(b, reads.elements()) for b, (_, reads) in found.items())
        twice["FPROB038" not in faults, once] += 1
        lost["FPROB040" not in faults, whole] += 1
        assert once or "FPROB038" in faults, text
        assert whole or "FPROB040" in faults, text
    assert twice[False, True] == 0 < 30 < twice[False, False]
    assert 5 * lost[False, True] < lost[False, False] > 20  # rows of a number beyond K keep nothing

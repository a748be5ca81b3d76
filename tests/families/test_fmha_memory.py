"""How Q, K, V and O lie in memory: problems that say it, tensors, rules and dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.fmha import problem_fields
from ckrules.constraints.fmha.device.tensors import AttentionTensors
from ckrules.constraints.fmha.dispatch import chosen
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.device.tensors import between, from_memory, samples, size, to_memory
from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UnknownNameError, UsageError

SIZES = "batch=2,heads=4,heads_k=2,seqlen_q=5,seqlen_k=7,hdim=16,hdim_v=8"


def _tensors(text: str, **changed: Any) -> AttentionTensors:
    return AttentionTensors(parse(f"{SIZES}{text}"), {**BASELINE, **changed})


def _faults(kernel: dict[str, Any], text: str, variant: str = "fmha_fwd") -> set[str]:
    book = problem_books.book(variant, ck="2025.11")
    own = {n: v for n, v in book.vocabulary.baseline.items() if not n.startswith("p_")}
    point = {**own, **kernel, **problem_fields.values(parse(text))}
    return {v.rule.code for v in book.violations(point)}


def test_problems_say_how_tensors_lie() -> None:
    problem = parse(f"{SIZES},order=bhsd,order_o=bshd,stride_q=99,v_layout=c")
    assert (problem.order_q, problem.order_v, problem.order_o) == ("bhsd", "bhsd", "bshd")
    assert str(problem) == (
        f"{SIZES},order_q=bhsd,order_k=bhsd,order_v=bhsd,v_layout=col,stride_q=99"
    )
    assert parse(str(problem)) == problem
    kind = problems_of("fmha_fwd")
    assert kind.from_row({n: str(v) for n, v in kind.row(problem, "fmha_fwd").items()}) == problem
    assert parse(f"{SIZES},order_k=bhsd,order=bshd").said() == {"order_k": "bhsd"}


def test_heads_that_lie_apart_are_told_from_near_words() -> None:
    problem = parse(f"{SIZES},nhead_stride_k=48,stride_k=99")
    assert problem.said() == {"stride_k": 99, "head_stride_k": 48}
    assert parse(str(problem)) == problem
    with pytest.raises(UnknownNameError, match="did you mean 'head_stride_q'"):
        parse(f"{SIZES},head_strid_q=48")
    with pytest.raises(UsageError, match="head_stride_q"):
        parse(f"{SIZES},head_stride_q=-1")


def test_heads_of_a_group_lie_behind_all_its_rows() -> None:
    """The rows of all sequences follow each other, where the total is said."""
    group: dict[str, Any] = {"mode": "group", "pad_s": True, "pad_sk": True}
    text = f"{WHOLE},mode=group,total_q=200,order_q=bhsd,head_stride_q="
    assert _faults(group, f"{text}{200 * 128}") == set()
    assert _faults(group, f"{text}{200 * 128 - 1}") == {"FPROB031"}


def test_what_nothing_is_said_of_is_as_it_was() -> None:
    assert str(parse(SIZES)) == SIZES
    assert not any(t.apart for t in _tensors("").all)
    assert next(t for t in _tensors("").all if t.name == "q").order == (0, 2, 1, 3)


@pytest.mark.parametrize(
    ("more", "changed", "name", "where"),
    [
        # the element that has head 1, row 2 and column 3 of sequence 1
        ("", {}, "q", ((1 * 5 + 2) * 4 + 1) * 16 + 3),
        (",stride_q=99", {}, "q", (1 * 5 + 2) * 99 + 16 + 3),
        (",order_q=bhsd", {}, "q", ((1 * 4 + 1) * 5 + 2) * 16 + 3),
        (",order_q=bhsd,stride_q=17", {}, "q", ((1 * 4 + 1) * 5 + 2) * 17 + 3),
        (",head_stride_q=48", {}, "q", ((1 * 5 + 2) * 4 + 1) * 48 + 3),
        (",head_stride_q=48,stride_q=200", {}, "q", (1 * 5 + 2) * 200 + 48 + 3),
        (",order_q=bhsd,head_stride_q=99", {}, "q", (1 * 4 + 1) * 99 + 2 * 16 + 3),
        (",order_q=bhsd,nhead_stride_q=99,stride_q=17", {}, "q", (1 * 4 + 1) * 99 + 2 * 17 + 3),
        (",stride_v=11,head_stride_v=90", {"v_layout": "col"}, "v", (1 * 2 + 1) * 90 + 3 * 11 + 2),
        (",stride_k=33", {}, "k", (1 * 7 + 2) * 33 + 16 + 3),
        (",stride_v=17", {}, "v", (1 * 7 + 2) * 17 + 8 + 3),
        (",order_v=bhsd,stride_v=9", {}, "v", ((1 * 2 + 1) * 7 + 2) * 9 + 3),
        (",stride_v=11", {"v_layout": "col"}, "v", ((1 * 2 + 1) * 8 + 3) * 11 + 2),
        (",order_v=bhsd", {"v_layout": "col"}, "v", ((1 * 2 + 1) * 8 + 3) * 7 + 2),
    ],
)
def test_elements_lie_where_strides_say(
    more: str, changed: dict[str, Any], name: str, where: int
) -> None:
    tensors = _tensors(more, **changed)
    tensor = next(t for t in tensors.all if t.name == name)
    values = samples(tensors)[name]
    stored = to_memory(tensor, values)
    assert stored.nbytes == size(tensor)
    assert np.ravel(stored).view(np.float16)[where] == values[1, 1, 2, 3]
    assert np.array_equal(from_memory(tensor, stored.tobytes()), values)
    assert (between(tensor, stored.tobytes()) == 0xFF).all()


def test_pages_and_listed_rows_lie_by_head_too() -> None:
    paged = {"variant": "fmha_fwd_pagedkv", "paged_kv": True}
    k = next(t for t in _tensors(",page=4,order=bhsd,stride_k=18", **paged).all if t.name == "k")
    assert (k.order, k.pitch, k.inner) == ((0, 1, 2, 3), 18, 1)
    listed = {"variant": "fmha_batch_prefill", "paged_kv": True}
    k = next(t for t in _tensors(",order=bhsd", **listed).all if t.name == "k")
    assert (k.shape, k.order) == ((14, 2, 1, 16), (1, 2, 0, 3))
    k = next(t for t in _tensors(",stride_k=40", **listed).all if t.name == "k")
    assert (k.order, k.pitch, k.inner) == ((0, 2, 1, 3), 40, 2)


WHOLE = "batch=2,heads=8,heads_k=8,seqlen_q=128,seqlen_k=128,hdim=128"
COLUMNS = {"v_layout": "col", "mask": "mask"}


@pytest.mark.parametrize(
    ("kernel", "text", "codes"),
    [
        ({}, ",stride_q=3072,stride_k=3072,stride_v=3072", set()),
        ({}, ",order=bhsd,stride_q=129,stride_k=131,stride_v=133,stride_o=135", set()),
        ({}, ",stride_k=1023", {"FPROB031"}),
        ({}, ",order_k=bhsd,stride_k=127", {"FPROB031"}),
        ({}, ",head_stride_q=384,head_stride_k=384,head_stride_v=384", set()),
        ({}, ",head_stride_q=129,stride_q=1031,head_stride_o=130", set()),
        ({}, ",head_stride_q=129,stride_q=1030", {"FPROB031"}),
        ({}, ",head_stride_v=127", {"FPROB031"}),
        ({}, ",heads=1,heads_k=1,stride_q=1,head_stride_q=128", {"FPROB031"}),
        ({}, ",order_k=bhsd,head_stride_k=16384", set()),
        ({}, ",order_k=bhsd,head_stride_k=16383", {"FPROB031"}),
        ({}, ",order_k=bhsd,heads=1,heads_k=1,head_stride_k=1", set()),
        ({}, ",head_stride_k=2147483647", {"FPROB033", "FPROB034"}),
        ({}, ",v_layout=col", {"FPROB032"}),
        ({}, ",v_layout=row", set()),
        (COLUMNS, ",mask=causal,v_layout=row", {"FPROB032"}),
        (COLUMNS, ",mask=causal,v_layout=col,stride_v=127", {"FPROB031"}),
        (COLUMNS, ",mask=causal,v_layout=col,stride_v=131", set()),
        (COLUMNS, ",mask=causal,seqlen_k=101", {"FPROB035"}),
        (COLUMNS, ",mask=causal,seqlen_k=102", set()),
        (COLUMNS, ",mask=causal,seqlen_k=102,stride_v=103", {"FPROB035"}),
        ({**COLUMNS, "pad_sk": True}, ",mask=causal,seqlen_k=101,stride_v=103", set()),
        ({}, ",seqlen_q=2097280", {"FPROB033", "FPROB034"}),
        ({}, ",seqlen_q=2097280,batch=1", {"FPROB034"}),
        ({}, ",seqlen_q=1048704,batch=1,heads=16", {"FPROB034"}),
        ({}, ",seqlen_q=1048704,batch=1,heads=16,order=bhsd", set()),
    ],
)  # fmt: skip
def test_rules_of_memory(kernel: dict[str, Any], text: str, codes: set[str]) -> None:
    """As runs on the device cpu showed; those of 4 GiB, too, of rows that lie 2 GiB apart."""
    words = dict(part.split("=") for part in f"{WHOLE}{text}".split(","))
    assert _faults(kernel, ",".join(f"{n}={v}" for n, v in words.items())) == codes


def test_messages_say_how_far_heads_lie_apart() -> None:
    book = problem_books.book("fmha_fwd", ck="2025.11")
    own = {n: v for n, v in book.vocabulary.baseline.items() if not n.startswith("p_")}
    problem = parse(f"{WHOLE},head_stride_k=2147483647")
    found = book.violations({**own, **problem_fields.values(problem)})
    (message,) = (v.message for v in found if v.code == "FPROB034")
    assert message.startswith("a head of K reaches over more bytes than offsets: stride_k = 0, ")
    assert message.endswith("head_stride_k = 2147483647, seqlen_k = 128, heads_k = 8, hdim = 128")


def test_only_rows_that_are_there_count_where_they_are_padded() -> None:
    """Stores of rows behind Q's last tile begin again at 0 beyond 4 GiB, unless they are padded."""
    text = "batch=1,heads=1,seqlen_q=2,seqlen_k=128,hdim=128,stride_o="
    assert _faults({}, f"{text}{2**24}") == set()
    assert _faults({}, f"{text}{2**25}") == {"FPROB034"}
    assert _faults({"pad_s": True}, f"{text}{2**30}") == set()


@pytest.mark.parametrize(
    ("variant", "more", "codes"),
    [
        ("fmha_bwd", ",order=bhsd,stride_q=129", set()),
        ("fmha_bwd", ",head_stride_q=384,head_stride_k=384,head_stride_v=384", set()),
        ("fmha_bwd", ",stride_k=1023", {"BPROB031"}),
        ("fmha_bwd", ",head_stride_o=127", {"BPROB031"}),
        ("fmha_fwd_v3", ",head_stride_o=256", {"TPROB008"}),
        ("fmha_fwd_appendkv", ",order_v=bhsd,head_stride_v=16383", {"KPROB031"}),
        ("fmha_bwd", ",v_layout=col", {"BPROB032"}),
        ("fmha_bwd", ",stride_o=16777216", {"BPROB033"}),
        ("fmha_bwd", ",batch=1,stride_q=17000000", {"BPROB034"}),
        ("fmha_bwd", ",batch=1,stride_v=17000000", {"BPROB034"}),
        ("fmha_fwd_splitkv", ",batch=4,heads=32,heads_k=32,seqlen_q=8192,splits=8", set()),
        ("fmha_fwd_splitkv", ",batch=5,heads=32,heads_k=32,seqlen_q=8192,splits=8", {"FPROB052"}),
        ("fmha_fwd_appendkv", ",order=bhsd,stride_v=129", set()),
        ("fmha_fwd_appendkv", ",order_k=bhsd,stride_k=127", {"KPROB031"}),
        ("fmha_fwd_appendkv", ",v_layout=col", {"KPROB032"}),
        ("fmha_fwd_splitkv_combine", ",v_layout=col", set()),
        ("fmha_bwd_dot_do_o", ",stride_o=16777216", {"KPROB033"}),
    ],
)
def test_rules_of_memory_of_the_others(variant: str, more: str, codes: set[str]) -> None:
    own: dict[str, Any] = {"variant": variant}
    before = _faults(own, WHOLE, variant)
    words = dict(part.split("=") for part in f"{WHOLE}{more}".split(","))
    text = ",".join(f"{n}={v}" for n, v in words.items())
    assert _faults(own, text, variant) - before == codes


def test_gradients_lie_as_what_they_are_of() -> None:
    """dQ as Q, dO as O; dK and dV, of all heads of Q, packed in the order of K and V."""
    from ckrules.constraints.fmha_bwd.device.tensors import BackwardTensors
    from ckrules.constraints.fmha_bwd.vocabulary import BASELINE as BACKWARD

    text = f"{SIZES},order_q=bhsd,order_v=bhsd,stride_q=18,stride_k=99,stride_o=77"
    found = BackwardTensors(parse(text), {**BACKWARD, "max_seqlen_q": 16})
    lying = {t.name: (t.order, t.pitch, t.inner) for t in found.all}
    assert lying["q"] == lying["dq"] == ((0, 1, 2, 3), 18, 1)
    assert lying["do"] == ((0, 2, 1, 3), 77, 2)
    assert (lying["k"], lying["dk"]) == (((0, 2, 1, 3), 99, 2), ((0, 2, 1, 3), 0, 2))
    assert lying["dv"] == ((0, 1, 2, 3), 0, 1)


def test_new_rows_are_packed_in_the_order_of_the_cache() -> None:
    kind = problems_of("fmha_fwd_appendkv")
    book = problem_books.book("fmha_fwd_appendkv", ck="2025.11")
    own = {**book.vocabulary.baseline, "variant": "fmha_fwd_appendkv", "rope": "no"}
    for layout, order in (("row", (0, 1, 2, 3)), ("col", (0, 1, 3, 2))):
        point = {**own, "v_layout": layout, "paged_kv": False}
        tensors = kind.tensors(parse(f"{SIZES},order_v=bhsd,stride_v=19"), point)
        lying = {t.name: (t.order, t.pitch) for t in tensors.all}
        assert (lying["v"], lying["v_new"]) == ((order, 19), (order, 0))


def test_upstream_has_no_kernel_of_column_major_v() -> None:
    """The generator of CK 2025.11 lists row-major V alone, whatever the traits of a call say."""
    text = "batch=1,heads=8,seqlen_q=1024,hdim=128"
    for gpu in ("gfx942", "gfx950", "gfx1201"):
        row = chosen(parse(f"{text},v_layout=row"), gpu)
        assert row is not None
        assert row == chosen(parse(text), gpu)
        assert chosen(parse(f"{text},v_layout=col"), gpu) is None

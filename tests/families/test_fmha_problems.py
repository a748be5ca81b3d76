"""Attention problems: which kernels compute them right, and what upstream's dispatch calls."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints.fmha import problem_fields
from ckrules.constraints.fmha.dispatch import chosen
from ckrules.constraints.fmha.problem import parse
from ckrules.kernels import problem_books
from ckrules.support.errors import UsageError


def _faults(kernel: Any, text: str, ck: str = "2025.11") -> set[str]:
    rules = problem_books.book("fmha_fwd", ck=ck)
    point = {**kernel, **problem_fields.values(parse(text))}
    return {v.rule.code for v in rules.violations(point)}


def _choice(text: str, gpu: str, dtype: str = "fp16", receipt: int = 0) -> Any:
    return chosen(parse(text), gpu, dtype, receipt)


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942", "gfx1201"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("mode", ["batch", "group"])
@pytest.mark.parametrize("length", [1, 100, 128, 1000, 1024])
@pytest.mark.parametrize("heads", ["hdim=32", "hdim=64", "hdim=80", "hdim=128", "hdim=256"])
def test_upstream_chooses_right_kernels(
    gpu: str, dtype: str, mode: str, length: int, heads: str
) -> None:
    for more in ("", ",mask=causal", ",bias=bias", ",bias=alibi,lse=1", ",dropout=1"):
        lengths = f"seqlen_q={length},seqlen_k={length}"
        text = f"batch=2,heads=8,heads_k=2,{lengths},{heads},mode={mode}{more}"
        kernel = _choice(text, gpu, dtype)
        assert kernel is not None, text
        assert _faults(kernel, text) == set(), text


def test_unpadded_kernels_take_lengths_of_any_size_on_gfx950() -> None:
    """The test of qr_async_trload is the word true: composable_kernel pull request 3747.

    What CK 2025.11 computes is right all the same, as runs show.
    """
    text = "batch=2,heads=8,seqlen_q=15,seqlen_k=1000,hdim=128"
    kernel = _choice(text, "gfx950")
    assert kernel["pipeline"] == "qr_async_trload"
    assert not kernel["pad_sk"]
    assert _faults(kernel, text) == set()
    assert _faults(kernel, text, "2026.06") == {"FPROB001", "FPROB002"}
    whole = text.replace("15", "16").replace("1000", "1024")
    assert _faults(kernel, whole, "2026.06") == set()


@pytest.mark.parametrize(
    ("changed", "more", "codes"),
    [
        ({}, ",seqlen_q=1000,seqlen_k=1024", set()),
        ({}, ",seqlen_q=1024,seqlen_k=1000", {"FPROB002"}),
        ({"mask": "mask"}, ",seqlen_q=7,seqlen_k=1001,mask=causal", set()),
        ({"mask": "mask", "bias": "bias"}, ",seqlen_q=7,seqlen_k=1001,mask=causal,bias=bias",
         {"FPROB010"}),
        ({"mode": "group"}, ",seqlen_q=7,mode=group", {"FPROB002"}),
        ({"mode": "group"}, ",seqlen_q=7,seqlen_k=128,mode=group", set()),
        ({"mode": "group", "mask": "mask"}, ",seqlen_q=7,mode=group,mask=causal", set()),
    ],
)  # fmt: skip
def test_what_kernels_without_padding_compute(
    changed: dict[str, Any], more: str, codes: set[str]
) -> None:
    """As runs on the device cpu showed: rows of Q need no padding, scores of K a mask or one."""
    kernel = {**problem_books.book("fmha_fwd", ck="2025.11").vocabulary.baseline, **changed}
    point = {n: v for n, v in kernel.items() if not n.startswith("p_")}
    assert _faults(point, "batch=1,heads=2,hdim=128" + more) == codes


def test_odd_heads_have_a_kernel_where_they_are_padded() -> None:
    odd = "batch=1,heads=1,seqlen_q=128,hdim=81"
    assert _choice(odd, "gfx942") is None
    assert _choice(odd, "gfx942", receipt=1)["pipeline"] == "qr"
    assert _choice(odd, "gfx1201")["pad_d"]


def test_large_heads_have_none() -> None:
    assert _choice("batch=1,heads=1,seqlen_q=128,hdim=512", "gfx942") is None


def test_other_gpus_are_refused() -> None:
    with pytest.raises(UsageError, match="refuses gfx1100"):
        _choice("batch=1,heads=1,seqlen_q=128,hdim=64", "gfx1100")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("batch=1,heads=8,seqlen_q=5", "no hdim"),
        ("batch=1,heads=8,heads_k=3,seqlen_q=5,hdim=8", "not a multiple of heads_k = 3"),
        ("batch=1,heads=8,seqlen_q=0,hdim=8", "seqlen_q = 0 is not between"),
        ("batch=1,heads=8,seqlen_q=5,hdim=8,mask=causl", "causal"),
        ("batch=1,heads=8,seqlen_q=5,hdim=8,sequence=3", "sequence"),
    ],
)
def test_faults_in_problems(text: str, what: str) -> None:
    with pytest.raises((UsageError, LookupError), match=what):
        parse(text)


def test_problems_are_read_as_written() -> None:
    text = "batch=2,heads=32,heads_k=8,seqlen_q=1024,seqlen_k=77,hdim=192,hdim_v=128,mask=causal"
    assert str(parse(text)) == text
    assert parse(text).flops == 2 * 32 * 1024 * 77 * (192 + 128)

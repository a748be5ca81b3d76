"""FGEN: what each receipt of upstream's attention generator takes of the kernels it lists.

What all receipts share is in `ckrules.constraints.fmha.generator`. Facts: ``get_*_blobs`` of
example/ck_tile/01_fmha/codegen/ops/fmha_{fwd,fwd_splitkv,pagedkv_prefill,batch_prefill}.py.
"""

from __future__ import annotations

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.generator import FWD, OPS, PREFILL, SPLIT, SPLIT_KERNEL
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies
from ckrules.engine.rules import rule

_FLASH = (w.profile(2), w.profile(3))


@rule(
    "FGEN011", "receipt-2-leaves-out", kind="profile", profiles=_FLASH,
    applies=lambda c: (c.variant != SPLIT),
    says=["flash attention takes fp16 and bf16, not {dtype}",
          "flash attention takes no bias and alibi, not {bias}",
          "flash attention skips no sequences: skip = {skip}"],
    source=f"{OPS}: get_*_blobs, receipt in (2, 3)",
    accepts=[{}, {"bias": "alibi"}], rejects=[{"dtype": "fp8"}, {"bias": "bias"}, {"skip": True}],
)  # fmt: skip
def flash_attention_takes(c: AttentionQuantities) -> BoolExpr:
    """Receipts 2 and 3 take 16-bit types without elementwise bias and skipping.

    Why: flash attention has no such functions.
    """
    return all_of(c.dtype.isin(*w.HALVES), c.bias.isin("no", "alibi"), ~c.skip)


@rule(
    "FGEN012", "receipt-2-leaves-splits-out", kind="profile", profiles=(w.profile(2),),
    applies=lambda c: c.variant == SPLIT,
    says=["flash attention takes fp16 and bf16, not {dtype}",
          "flash attention takes no bias and alibi, not {bias}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: get_fwd_splitkv_blobs, receipt == 2",
    accepts=[SPLIT_KERNEL], rejects=[{**SPLIT_KERNEL, "bias": "bias"}],
)  # fmt: skip
def flash_attention_splits(c: AttentionQuantities) -> BoolExpr:
    """Receipt 2 takes split-KV kernels of 16-bit types without elementwise bias.

    Why: as for fwd; receipt 3 is not asked about here and lists all.
    """
    return c.dtype.isin(*w.HALVES) & c.bias.isin("no", "alibi")


@rule(
    "FGEN013", "receipt-4-leaves-out", kind="profile", profiles=(w.profile(4),),
    applies=lambda c: c.variant != SPLIT,
    says=["PyTorch takes fp16 and bf16, not {dtype}", "PyTorch takes no bias and elementwise bias, not {bias}",
          "PyTorch skips no sequences: skip = {skip}", "PyTorch takes batch mode of fwd: mode = {mode}",
          "PyTorch caps no scores of fwd: logits = {logits}"],
    source=f"{OPS}: get_*_blobs, receipt == 4",
    accepts=[{}, {"bias": "bias"}],
    rejects=[{"bias": "alibi"}, {"logits": True}, {"mode": "group"}],
)  # fmt: skip
def pytorch_takes(c: AttentionQuantities) -> BoolExpr:
    """Receipt 4 takes 16-bit types without alibi and skipping, of fwd in batch mode without cap.

    Why: PyTorch has no such functions.
    """
    forward = c.variant == FWD
    return all_of(
        c.dtype.isin(*w.HALVES), c.bias.isin("no", "bias"), ~c.skip,
        implies(forward, c.mode == "batch"), implies(forward, ~c.logits),
    )  # fmt: skip


@rule(
    "FGEN014", "receipt-4-without-splits", kind="profile", profiles=(w.profile(4),),
    says="receipt 4 lists no {variant}: its test has \"fp16, bf16\" as one type",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: get_fwd_splitkv_blobs, receipt == 4",
    accepts=[{}], rejects=[SPLIT_KERNEL],
)  # fmt: skip
def pytorch_splits_nothing(c: AttentionQuantities) -> BoolExpr:
    """Receipt 4 lists no split-KV kernels.

    Why: a quotation mark is missing: dtype in ["fp16, bf16"] is never true. Its combine kernels
    are listed.
    """
    return c.variant != SPLIT


def _aiter(c: AttentionQuantities) -> BoolExpr:
    """What aiter's receipts take: 16-bit types, and fp8bf16 of fwd with head dimension 128."""
    eight = (c.variant == FWD) & (c.dtype == "fp8bf16") & (c.hdim == 128)
    return c.dtype.isin(*w.HALVES) | eight


@rule(
    "FGEN015", "receipt-100-leaves-out", kind="profile", profiles=(w.profile(100),),
    applies=lambda c: c.variant != SPLIT,
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "mha_fwd has one length: mode = {mode}"],
    source=f"{OPS}: get_*_blobs, receipt == 100",
    accepts=[{}], rejects=[{"dtype": "fp8"}, {"mode": "group"}],
)  # fmt: skip
def aiter_takes_batches(c: AttentionQuantities) -> BoolExpr:
    """Receipt 100 takes batch mode of 16-bit types and of fp8bf16 with head dimension 128.

    Why: aiter's mha_fwd; split-KV kernels are not asked about.
    """
    return all_of(_aiter(c), c.mode == "batch")


@rule(
    "FGEN016", "receipt-200-leaves-out", kind="profile", profiles=(w.profile(200),),
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "mha_varlen_fwd has lengths of their own: mode = {mode}"],
    source=f"{OPS}: get_*_blobs, receipt == 200",
    accepts=[{"mode": "group"}], rejects=[{}],
)  # fmt: skip
def aiter_takes_groups(c: AttentionQuantities) -> BoolExpr:
    """Receipt 200 takes group mode of 16-bit types and of fp8bf16 with head dimension 128.

    Why: aiter's mha_varlen_fwd and mha_batch_prefill.
    """
    return all_of(_aiter(c), c.mode == "group")


@rule(
    "FGEN017", "receipt-600-leaves-out", kind="profile", profiles=(w.profile(600),),
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "aiter takes batch prefill in group mode: mode = {mode}"],
    source=f"{OPS}: get_*_blobs, receipt == 600",
    accepts=[{}], rejects=[{"dtype": "fp8"}],
)  # fmt: skip
def aiter_takes_both(c: AttentionQuantities) -> BoolExpr:
    """Receipt 600 takes 16-bit types, fp8bf16 with head dimension 128, and prefill in group mode.

    Why: aiter's C++ functions.
    """
    return all_of(_aiter(c), implies(c.variant == PREFILL, c.mode == "group"))


@rule(
    "FGEN018", "receipt-888-leaves-out", kind="profile", profiles=(w.profile(888),),
    applies=lambda c: c.variant == FWD,
    says=["receipt 888 has 8-bit types, not {dtype}", "receipt 888 has head dimension 128, not {hdim}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs, receipt == 888 (CK 2025.11)",
    accepts=[{"dtype": "fp8"}], rejects=[{}],
)  # fmt: skip
def narrow_types_only(c: AttentionQuantities) -> BoolExpr:
    """Receipt 888 takes 8-bit types of head dimension 128.

    Why: for tests of these types.
    """
    return all_of(c.dtype.isin("fp8", "fp8bf16", "fp8fp32"), c.hdim == 128)


@rule(
    "FGEN019", "fp32-not-listed", kind="profile", profiles=w.profiles(but=(800, 801)),
    says="only receipts 800 and 801 list {dtype}",
    source=f"{OPS}: get_*_blobs, \"Don't build fp32 by default\"",
    accepts=[{}], rejects=[{"dtype": "fp32"}],
)  # fmt: skip
def single_precision_is_apart(c: AttentionQuantities) -> BoolExpr:
    """fp32 is listed by receipts 800 and 801 alone.

    Why: it is for tests.

    Fix: use receipt 800.
    """
    return c.dtype != "fp32"


@rule(
    "FGEN020", "receipt-800-leaves-out", kind="profile", profiles=(w.profile(800), w.profile(801)),
    says=["receipts 800 and 801 have fp32, not {dtype}", "receipts 800 and 801 skip no sequences: skip = {skip}",
          "receipts 800 and 801 cap no scores: logits = {logits}"],
    source=f"{OPS}: get_*_blobs, receipt == 800",
    accepts=[{"dtype": "fp32"}], rejects=[{}, {"dtype": "fp32", "logits": True}],
)  # fmt: skip
def single_precision_only(c: AttentionQuantities) -> BoolExpr:
    """Receipts 800 and 801 take fp32, without cap and skipping.

    Why: they are for tests of fp32; kernels for caches have no tiles of it.
    """
    return all_of(c.dtype == "fp32", ~c.skip, ~c.logits)


@rule(
    "FGEN021", "receipt-801-leaves-out", kind="profile", profiles=(w.profile(801),),
    says=["receipt 801 has head dimensions 48 and 128, not {hdim}",
          "receipt 801 has batch mode: mode = {mode}", "receipt 801 has no bias: bias = {bias}",
          "receipt 801 stores no LSE: lse = {lse}", "receipt 801 has no dropout: dropout = {dropout}", "receipt 801 has no mask: mask = {mask}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs, receipt == 801 (CK 2025.11)",
    accepts=[{"dtype": "fp32"}], rejects=[{"lse": True}],
)  # fmt: skip
def few_kernels_of_single_precision(c: AttentionQuantities) -> BoolExpr:
    """Receipt 801 takes the plainest kernels of head dimensions 48 and 128.

    Why: for quick tests of fp32.

    Fix: use receipt 800.
    """
    return all_of(
        c.hdim.isin(48, 128), c.mode == "batch", c.bias == "no", ~c.lse, ~c.dropout, c.mask == "no"
    )

"""Words of attention kernels: variants, types, pipelines, and the receipts of upstream's generator."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.kernels.family import Family

VARIANTS = ("fmha_fwd", "fmha_fwd_splitkv", "fmha_fwd_pagedkv", "fmha_batch_prefill")
#: ``FWD_DTYPE_MAP`` of the generator.
DTYPES = ("fp32", "fp16", "bf16", "fp8", "fp8fp16", "fp8bf16", "fp8fp32")
#: Bytes of an element of Q, K and V, which ``FmhaFwdTypeConfig`` of fmha_fwd.hpp gives one type.
ELEMENT_BYTES: Mapping[str, int] = {
    "fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "fp8fp16": 1, "fp8bf16": 1, "fp8fp32": 1,
}  # fmt: skip
#: The type that warp GEMMs of each see (`ckrules.arch` has their shapes).
OPERANDS: Mapping[str, str] = {d: d if b > 1 else "fp8" for d, b in ELEMENT_BYTES.items()}
NARROW = tuple(d for d, b in ELEMENT_BYTES.items() if b == 1)
HALVES = ("fp16", "bf16")
MODES = ("batch", "group")
#: Since CK 2026.06 qr that pads heads and loads and stores vectors of them all the same.
HPAD = "qr_hpad"
#: Split KV whose waves lie beside each other along K, and hand scores over in LDS.
SHUFFLED = "qr_nwarp_sshuffle"
PIPELINES = ("qr", HPAD, "qr_async", "qr_async_trload", "qs", "qr_pagedkv", SHUFFLED)
#: The pipelines that each kernel can be made of, but for that one.
OF_VARIANT: Mapping[str, tuple[str, ...]] = {
    "fmha_fwd": ("qr", "qr_async", "qr_async_trload", "qs"),
    "fmha_fwd_splitkv": ("qr", SHUFFLED),
    "fmha_fwd_pagedkv": ("qr_pagedkv",),
    "fmha_batch_prefill": ("qr_async",),
}
V_LAYOUTS = ("row", "col")
#: Rows of pages of batch prefill that lists of 2026 have.
PAGES = (1, 16, 1024)
#: What batch prefill of CK 2025.11 has of pages: every row is listed.
LISTED: Mapping[str, int | bool] = {
    "page_size": 1, "kv_vectors": False, "kv_table": False, "kv_global": False,
}  # fmt: skip
BIASES = ("no", "bias", "alibi")
#: ``mask`` is SimplifiedGenericAttentionMask; ``causal`` and ``generic`` are of ``-m generic``.
MASKS = ("no", "mask", "causal", "generic")

RECEIPTS: Mapping[int, str] = {
    0: "head dimensions in multiples of 8", 1: "more kernels, for every head dimension",
    2: "flash attention", 3: "flash attention, backward without determinism", 4: "PyTorch",
    100: "aiter: mha_fwd", 200: "aiter: mha_varlen_fwd", 300: "aiter: mha_bwd",
    400: "aiter: mha_varlen_bwd", 600: "aiter: the C++ functions", 800: "fp32, all kernels",
    801: "fp32, a few kernels", 888: "8-bit types of head dimension 128",
}  # fmt: skip


def profile(receipt: int) -> str:
    """The rule set of a receipt.

    >>> profile(100)
    'receipt_100'
    """
    return f"receipt_{receipt}"


def profiles(*, but: tuple[int, ...] = ()) -> tuple[str, ...]:
    """The rule sets of all receipts but some.

    >>> profiles(but=(0, 1))[:2]
    ('receipt_2', 'receipt_3')
    """
    return tuple(profile(r) for r in RECEIPTS if r not in but)


PROFILES: Mapping[str, str] = {
    **Family.profiles,
    **{profile(r): f"what upstream's generator of CK 2025.11 lists for receipt {r} ({text})"
       for r, text in RECEIPTS.items()},
}  # fmt: skip

#: What people write for values, in lower case without ``_`` and ``-``.
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "variant": {
        "fmha": "fmha_fwd", "attention": "fmha_fwd", "mha": "fmha_fwd", "splitkv": "fmha_fwd_splitkv",
        "pagedkv": "fmha_fwd_pagedkv", "pagedkvprefill": "fmha_fwd_pagedkv",
        "batchprefill": "fmha_batch_prefill",
    },
    "dtype": {"half": "fp16", "float16": "fp16", "float": "fp32", "float32": "fp32"},
    "mode": {"varlen": "group", "fixed": "batch"},
    "bias": {"none": "no", "elementwise": "bias"},
    "mask": {"none": "no", "simplified": "mask", "window": "generic"},
}  # fmt: skip

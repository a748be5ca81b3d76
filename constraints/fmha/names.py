"""Names of attention forward, as upstream's generator of November 2025 calls its kernels::

    fmha_fwd_d{hdim}_{dtype}_{mode}_b{tile: m0 n0 k0 n1 k1 k0max}_r{waves 0}_r{waves 1}
        _w{warp tile 0}_w{warp tile 1}[_o{block_per_cu}]_{pipeline}_v{r|c}_{pads}_{traits}

Traits are words that are always written, those that are off with an n before them; which there
are differs between the kernels. The generator's files have a word for the GPU behind the name,
``_gfx9``, ``_gfx950`` or ``_gfx12``: such names are read, and are written as style ``generator``.
The generator of 2026 ends names with ``_sink`` or ``_nsink``, and those of fmha_fwd say ``_nqscale``
or ``_pertensor`` for ``_nsquant`` and ``_squant``: these are read, and written where the name was
read with them. What no field says is refused with its place: other scales, and pipelines of 2026.

Names of batch prefill in 2026 say pages, before the tile and at the end, and how they are loaded::

    fmha_batch_prefill_d{hdim}_{dtype}_{mode}_ps{page_size}_{bload|gload}_b{tile}_..._{traits}
        _{nsink|sink}_{linear|vectorized}_{sglang|vllm}

Kernels with a trait of pages are written so, and others where they were read so. Older
names lack ``bload``, have ``64bit`` for ``gload``, or say no sinks; they are read.

Facts: the properties ``name`` and ``filename`` of example/ck_tile/01_fmha/codegen/ops/*.py, CK
2025.11; those of fmha_fwd.py @ 014d097, fmha_pagedkv_prefill.py @ 16f85eb and fmha_batch_prefill.py
@ 0fcb74e for 2026, and for ``bload`` and ``gload`` @ cec3dac of the fork zpengmei/rocm-libraries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.trait_names import (
    SUFFIXED_BOUNDS,
    V_LETTERS,
    KernelForm,
    TargetNames,
    TraitNames,
    pads,
    switch,
    waves_and_tiles,
)
from ckrules.constraints.fmha.vocabulary import DEFAULTS, PADS, TILE
from ckrules.kernels.name_grammar import (
    Grammar,
    KernelNameError,
    Piece,
    flag,
    literal,
    number,
    numbers,
    one_of,
)
from ckrules.kernels.parts import ParsedName, Point

#: The words of a bias and of a mask.
BIAS: Mapping[str, str] = {"nbias": "no", "bias": "bias", "alibi": "alibi"}
MASK: Mapping[str, str] = {"nmask": "no", "mask": "mask", "mc": "causal", "mg": "generic"}
#: By variant, the traits behind the mask in order.
TRAITS: Mapping[str, Sequence[str]] = {
    "fmha_fwd": ("lse", "dropout", "skip", "squant", "trload"),
    "fmha_fwd_splitkv": ("lse", "squant", "paged_kv"),
    "fmha_fwd_pagedkv": ("lse", "skip", "squant", "paged_kv"),
    "fmha_batch_prefill": ("lse", "dropout", "squant"),
}
#: What kernels have whose names do not say it.
FIXED: Mapping[str, Mapping[str, Any]] = {"fmha_batch_prefill": {"paged_kv": True}}
_WORDS = {"paged_kv": "pagedkv"}
#: How names of 2026 end that say that there are no sinks.
NO_SINK = "_nsink"
#: The words of fmha_fwd in 2026 for scales, and those that no field says.
SCALES: Mapping[str, bool] = {"nqscale": False, "pertensor": True}
#: Words that no field says: a pattern, what is read in their place, and why they are not.
_OTHER_WORDS = (
    (r"(kv_blockscale|blockscale|perhead|per_token_head|mx)(?=_n?trload|_n?sink_|_linear_|_vectorized_)",
     f"squant (squant, nsquant, {', '.join(SCALES)})", "scales of blocks, pages, heads and MX have no field"),
    (r"(qr_(?:tdm\w*?|async_trload_v3))(?=_v[rc]_)",
     f"pipeline ({', '.join(w.PIPELINES)})", "this pipeline is not modelled"),
)  # fmt: skip


def purpose(variant: str, dtypes: Sequence[str]) -> list[Piece]:
    """The beginning of a name, up to the mode."""
    return [
        literal(f"{variant}_d"), number("hdim"), literal("_"), one_of("dtype", dtypes),
        literal("_"), one_of("mode", w.MODES),
    ]  # fmt: skip


def _traits(variant: str) -> list[Piece]:
    out = [p for t in TRAITS[variant] for p in switch(t, _WORDS.get(t, t))]
    if variant != "fmha_fwd":
        return out
    scaled = one_of("squant", {"squant": True, "nsquant": False, **SCALES})
    return [scaled if p.field == "squant" else p for p in out]


def _refuse_other_words(text: str) -> None:
    for pattern, expected, hint in _OTHER_WORDS:
        if other := re.search(f"_{pattern}", text):
            raise KernelNameError(text, other.start(1) + 1, expected, hint)


def _pieces(pages: Sequence[Piece] = ()) -> list[Piece]:
    """A name from the tile to the mask."""
    return [
        *pages, literal("_b"), *numbers(TILE, "x"), *waves_and_tiles((0, 1), (0, 1)),
        one_of("block_per_cu", SUFFIXED_BOUNDS), literal("_"),
        one_of("pipeline", w.PIPELINES), literal("_v"),
        one_of("v_layout", V_LETTERS), literal("_"), pads(PADS),
        *switch("logits", "logits"), literal("_"), one_of("bias", BIAS), literal("_"),
        one_of("mask", MASK),
    ]  # fmt: skip


def _grammar(variant: str) -> Grammar:
    pieces = [*purpose(variant, w.DTYPES), *_pieces(), *_traits(variant)]
    return Grammar(pieces, [flag("_sink", "sink")], refuse=_refuse_other_words)


def _paged() -> KernelForm:
    """Batch prefill as names of 2026 have it."""
    loads = {"_bload": False, "_gload": True, "": False, "_64bit": True}
    return KernelForm("fmha_batch_prefill", Grammar([
        *purpose("fmha_batch_prefill", w.DTYPES),
        *_pieces([literal("_ps"), number("page_size"), one_of("kv_global", loads)]),
        *switch("lse", "lse"), *switch("dropout", "dropout"), literal("_"),
        one_of("squant", SCALES), one_of("sink", {"_nsink": False, "_sink": True, "": False}),
        literal("_"), one_of("kv_vectors", {"linear": False, "vectorized": True}),
        literal("_"), one_of("kv_table", {"sglang": False, "vllm": True}),
    ], refuse=_refuse_other_words), {**DEFAULTS, **FIXED["fmha_batch_prefill"]}, PADS)  # fmt: skip


KERNELS = tuple(
    KernelForm(v, _grammar(v), {**DEFAULTS, **FIXED.get(v, {})}, PADS) for v in w.VARIANTS
)


PAGED = _paged()
_PAGES = re.compile(r"fmha_batch_prefill_d\d+_[a-z0-9]+_[a-z]+_ps")


class AttentionNames(TraitNames):
    """The names of attention forward."""

    prefix = "fmha_fwd_d"
    beginnings = tuple(f"{v}_d" for v in w.VARIANTS[1:])
    kernels = KERNELS

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`; words of 2026 are kept as the spelling."""
        parsed, whole = super().parse(text), super()._bare(text)[0]
        spelling = dict(parsed.spelling)
        if span := self.span(text, "squant"):
            word = text[slice(*span)]
            spelling |= {"squant": word} if word in SCALES else {}
        if whole.endswith(NO_SINK):
            if parsed.point["sink"]:
                raise KernelNameError(text, len(whole) - len(NO_SINK) + 1, "the end")
            spelling["sink"] = NO_SINK
        if self._kernel(text) is PAGED:
            spelling = {"pages": "ps"}
        return replace(parsed, spelling=spelling)

    def _kernel(self, text: str) -> KernelForm:
        return PAGED if _PAGES.match(text) else super()._kernel(text)

    def _bare(self, text: str) -> tuple[str, str]:
        head, word = super()._bare(text)
        return head.removesuffix(NO_SINK), word

    def _written(self, point: Point, spelt: dict[str, str]) -> str:
        point, ending = {"sink": False, **w.LISTED, **point}, spelt.pop("sink", "")
        paged = spelt.pop("pages", "") or any(point[n] != v for n, v in w.LISTED.items())
        if paged and point["variant"] == PAGED.variant:
            return PAGED.format(point)
        name = super()._written(point, spelt)
        if spelt.pop("squant", "") and point["variant"] == "fmha_fwd":
            begin, end = self.span(name, "squant") or (0, 0)
            word = next(w for w, on in SCALES.items() if on == point["squant"])
            name = name[:begin] + word + name[end:]
        return name + ("" if point["sink"] else ending)


def _apart(point: Point) -> bool | None:
    """As fwd does, but batch prefill, whose names say no GPU."""
    return None if point["variant"] == "fmha_batch_prefill" else point["variant"] == "fmha_fwd"


NAMING = AttentionNames()
STYLES = {"generator": TargetNames(NAMING, _apart)}

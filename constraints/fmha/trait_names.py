"""The parts of names of attention kernels that several families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from ckrules.constraints.fmha.targets import NONE, target
from ckrules.kernels.name_grammar import Grammar, KernelNameError, Piece, literal, numbers, one_of
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError, unknown

TARGETS = ("gfx9", "gfx950", "gfx12", "gfx11", "gfx115", "gfx125")
"""The words behind names in the generator's lists; the last three are of 2026."""
BOUNDS: Mapping[str, int] = {"auto": -1, "-1": -1, **{str(n): n for n in range(17)}}
"""The launch bound in names that always have one; auto: the pipeline decides. The generator's lists
have -1, which no identifier of C++ may have."""
SUFFIXED_BOUNDS: Mapping[str, int] = {"": -1, **{f"_o{n}": n for n in range(17)}}
"""The launch bound in names that have one where the pipeline does not decide."""
V_LETTERS: Mapping[str, str] = {"r": "row", "c": "col"}
PAD_WORDS: Mapping[str, str] = {"pad_s": "s", "pad_sk": "sk", "pad_d": "d", "pad_dv": "dv"}


def switch(name: str, word: str) -> list[Piece]:
    """``_word`` where a field is true, ``_nword`` where it is not."""
    return [literal("_"), one_of(name, {word: True, f"n{word}": False})]


def pad_word(names: Sequence[str], values: Sequence[bool], none: str = "npad") -> str:
    """The word for paddings.

    >>> pad_word(("pad_s", "pad_sk"), (True, True)), pad_word(("pad_s", "pad_sk"), (False, False))
    ('pssk', 'npad')
    """
    said = "".join(PAD_WORDS[n] for n, on in zip(names, values, strict=True) if on)
    return f"p{said}" if said else none


def pads(names: Sequence[str]) -> Piece:
    """The word for all paddings, which is a field ``pads`` of the grammar."""
    words = [pad_word(names, values) for values in product((False, True), repeat=len(names))]
    return one_of("pads", words)


def waves_and_tiles(waves: Sequence[int], tiles: Sequence[int]) -> list[Piece]:
    """``_r`` with the waves of products, then ``_w`` with their warp tiles."""
    out: list[Piece] = []
    for head, field, numbered in (("_r", "wave", waves), ("_w", "warp_tile", tiles)):
        for p in numbered:
            out += [literal(head), *numbers([f"{field}_{x}{p}" for x in "mnk"], "x")]
    return out


def listed(name: str) -> str:
    """A name as the generator's lists have it.

    >>> listed("fmha_bwd_dot_do_o_d32_fp16_b64_batch_oauto_npad")
    'fmha_bwd_dot_do_o_d32_fp16_b64_batch_o-1_npad'
    """
    return name.replace("_oauto_", "_o-1_")


@dataclass(frozen=True)
class KernelForm:
    """The names of one kind of kernel."""

    variant: str
    grammar: Grammar
    fixed: Mapping[str, Any]
    """What such kernels have where their names do not say it."""
    pads: Sequence[str] = ()
    """The paddings that one word says."""
    bare: str = "npad"
    """The word for none of them."""

    def parse(self, text: str) -> dict[str, Any]:
        """The point of a name."""
        said, _ = self.grammar.parse(text)
        if self.pads:
            said |= self._padded(said.pop("pads"))
        return {"variant": self.variant, **self.fixed, **said}

    def _padded(self, word: str) -> dict[str, bool]:
        every = product((False, True), repeat=len(self.pads))
        found = next(v for v in every if pad_word(self.pads, v, self.bare) == word)
        return dict(zip(self.pads, found, strict=True))

    def format(self, point: Point) -> str:
        """The name of a point; raises `UsageError` where no name says it."""
        for name, value in self.fixed.items():
            if name not in self._said and name in point and point[name] != value:
                raise UsageError(f"names of {self.variant} do not say {name} = {point[name]}")
        lacking = next((n for n in self.pads if n not in point), None)
        if lacking is not None:
            raise UsageError(f"a configuration without {lacking!r} has no name")
        word = pad_word(self.pads, [bool(point[n]) for n in self.pads], self.bare)
        return self.grammar.format({**point, "pads": word})

    @cached_property
    def _said(self) -> frozenset[str]:
        ends = (p for s in self.grammar.suffixes for p in s.pieces)
        return frozenset(p.field for p in (*self.grammar.pieces, *ends))

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        return self.grammar.span(text, "pads" if name in self.pads else name)


class TraitNames:
    """The names of a family, a form a kind of kernel."""

    prefix = ""
    beginnings: tuple[str, ...] = ()
    kernels: tuple[KernelForm, ...] = ()

    def _kernel(self, text: str) -> KernelForm:
        """The kind of kernel of a name: that with the longest beginning."""
        fit = [k for k in self.kernels if text.startswith(f"{k.variant}_d")]
        return max(fit, key=lambda k: len(k.variant), default=self.kernels[0])

    def _bare(self, text: str) -> tuple[str, str]:
        """A name without the generator's word for the GPU, and the word."""
        head, _, word = text.rpartition("_")
        return (head, word) if word in TARGETS else (text, "")

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`."""
        bare, word = self._bare(text)
        try:
            point = self._kernel(text).parse(bare)
        except KernelNameError as error:
            raise KernelNameError(text, error.column, error.expected, error.hint) from None
        return ParsedName(point, {"target": word} if word else {})

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt = dict(spelling or {})
        word = spelt.pop("target", "")
        name = self._written(point, spelt)
        for key in spelt:
            raise unknown("spelling", key, ("target",))
        return f"{listed(name)}_{word}" if word else name

    def _written(self, point: Point, spelt: dict[str, str]) -> str:
        """The name without the word for the GPU; what it says of ``spelt`` is taken out of it."""
        return next(k for k in self.kernels if k.variant == point["variant"]).format(point)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        return self._kernel(text).span(self._bare(text)[0], name)

    def without_defaults(self, text: str) -> str:
        """The text itself: these names leave nothing out."""
        return text

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """Nothing: upstream's lists spell values as everybody does."""
        return {}


@dataclass(frozen=True)
class TargetNames:
    """Names as in the generator's lists, with its word for the GPU."""

    naming: TraitNames
    apart: Callable[[Point], bool | None]
    """Whether names of the kernel tell gfx950 from gfx9; None: they have no word for the GPU."""

    def format(self, point: Point) -> str:
        """The name of a point with a GPU."""
        apart = self.apart(point)
        word = NONE if apart is None else target(str(point.get("arch", "")), apart=apart)
        return listed(self.naming.format(point)) + ("" if word == NONE else f"_{word}")

"""What tools call GEMM kernels, beside the usual names: with less in them.

`TILE_ENGINE` has the names of tile_engine of November 2025 and, behind ``gemm_universal_``, of
2026; `REGISTRY` the identifiers under which the dispatcher registers kernels, `KEY` the keys of
its declarations, `DISPATCHER` its kernels' names. What such a name leaves out is taken as the tool
makes it where it is asked for nothing else, and said to have been (`ParsedName.taken`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm import words as w
from ckrules.constraints.gemm.dispatcher import BUFFERS, OUTPUT
from ckrules.constraints.gemm.names import GRAMMAR, OPERATIONS, SWITCHES, body, parse, usual, write
from ckrules.constraints.tile_gemm.names import BITS, Form, shapes, switches
from ckrules.kernels.name_grammar import (
    Grammar,
    KernelNameError,
    Suffix,
    flag,
    literal,
    number,
    one_of,
)
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError, unknown

#: What kernels of these tools have and their names leave out, where it is one value for all.
_FIXED: Mapping[str, Any] = {"transpose_c": False, "num_wave_groups": 1}
#: What names leave out although kernels of one name may differ, and what is meant.
_LEFT_OUT: Mapping[str, Any] = {"permute_n": False, "k_block_per_cu": 1, "streamk": "off"}


class GemmToolNames(Form):
    """The names of one tool: a grammar, and what the fields that it says mean for a point."""

    variants: tuple[str, ...] = ("standard", "preshuffle", "multi_d")

    def parse(self, text: str) -> ParsedName:
        """The kernel of a name, with what was taken for what the name leaves out."""
        said, _ = self.grammar.parse(text)
        point, taken = self.meant(said)
        return ParsedName(point, {"style": self.style}, taken)

    def meant(self, said: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """The point of what a name says, and the part of it that was taken."""
        raise NotImplementedError

    def format(self, point: Point) -> str:
        """The name; raises `UsageError` for a kernel that the tool does not make."""
        if point["variant"] not in self.variants:
            raise UsageError(f"{self.tool} has no name for kernels of {point['variant']}")
        for key, value in self.fixed(point).items():
            if key in point and point[key] != value:
                raise UsageError(f"{self.tool} has no kernel with {key} = {point[key]}")
        return self.grammar_of(point).format(self.said(point))

    def grammar_of(self, point: Point) -> Grammar:
        """The grammar of the point's name, where a tool has several."""
        return self.grammar

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """What all kernels of the tool have, or what follows from the rest."""
        raise NotImplementedError


#: By variant what tile_engine's names begin with; its own folders are called so.
TILE_ENGINE_PREFIXES = {
    "standard": "gemm_", "preshuffle": "gemm_preshuffle_", "multi_d": "gemm_multi_d_",
}  # fmt: skip
#: What tile_engine's names of batched kernels begin with, which came in 2026.
BATCHED = "batched_gemm_"


class TileEngineNames(GemmToolNames):
    """tile_engine's names, which several kernels may share.

    Args:
        style: The word for them.
        prefixes: What they begin with, by variant.
    """

    tool = "tile_engine"

    def __init__(self, style: str, prefixes: Mapping[str, str]) -> None:
        self.style, self.prefixes = style, prefixes
        words = {p: v for v, p in prefixes.items()}
        self.grammar = Grammar([one_of("variant", words), *body()])

    def meant(self, said: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Two D tensors that are multiplied, no permuted columns, one block on a compute unit."""
        ds = said["variant"] == "multi_d"
        point = {**said, **_LEFT_OUT, "elementwise_op": "multiply"}
        taken: dict[str, Any] = {"k_block_per_cu": 1}
        if said["variant"] == "preshuffle":
            taken = {"permute_n": False, **taken}
        if ds:
            taken = {"elementwise_op": "multiply", **taken}
        return {**point, **self.fixed(point)}, taken

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """What tile_engine makes of variant, type and pipeline, and what all of its kernels have."""
        ds = point["variant"] == "multi_d"
        return {
            **usual(point), **_FIXED, "streamk": "off",
            "double_smem_buffer": point["pipeline"] in w.TILE_ENGINE_BUFFERS,
            "num_d": 2 if ds else 0, **({} if ds else {"elementwise_op": "passthrough"}),
        }  # fmt: skip

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        found = self.grammar.span(text, name)
        return (found[0], found[1] - 1) if found and name == "variant" else found


class TileEngineNames2026(TileEngineNames):
    """tile_engine's names of 2026, which has batched and grouped kernels as well.

    Those of a batch do not say whether they are persistent::

        batched_gemm_{dtype}_{abc}_{pipeline}_{epilogue}_{scheduler}_{pad_m}_{pad_n}_{pad_k}_…
    """

    variants = (*TileEngineNames.variants, "batched", "grouped")

    def __init__(self) -> None:
        super().__init__("tile_engine_2026", {
            **TILE_ENGINE_PREFIXES, "standard": "gemm_universal_", "grouped": "grouped_gemm_",
        })  # fmt: skip
        self.batched = Grammar([one_of("variant", {BATCHED: "batched"}), *body(SWITCHES[:-1])])

    def parse(self, text: str) -> ParsedName:
        """See `GemmToolNames.parse`."""
        if not text.startswith(BATCHED):
            return super().parse(text)
        said, _ = self.batched.parse(text)
        point, taken = self.meant({**said, "persistent": False})
        return ParsedName(point, {"style": self.style}, {"persistent": False, **taken})

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """Beside what all have, nothing persistent in a batch."""
        own = {"persistent": False} if point["variant"] == "batched" else {}
        return {**super().fixed(point), **own}

    def grammar_of(self, point: Point) -> Grammar:
        """That of batched kernels, or that of all others."""
        return self.batched if point["variant"] == "batched" else self.grammar

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        if not text.startswith(BATCHED):
            return super().span(text, name)
        found = self.batched.span(text, name)
        return (found[0], found[1] - 1) if found and name == "variant" else found


def _dispatched(point: Point) -> dict[str, Any]:
    """What the dispatcher makes of type and pipeline, and what all of its kernels have."""
    return {
        "dtype_c": OUTPUT.get(str(point["dtype"])), "dtype_acc": "fp32", **_FIXED, **_LEFT_OUT,
        "double_smem_buffer": point["pipeline"] in BUFFERS,
    }  # fmt: skip


class DispatcherNames(GemmToolNames):
    """The dispatcher's names of June 2026: the usual ones without suffixes of our own."""

    style, tool, grammar = "dispatcher", "the dispatcher", GRAMMAR

    def parse(self, text: str) -> ParsedName:
        """The kernel of a name, with what the dispatcher makes of type and pipeline.

        Raises:
            KernelNameError: Where a name says what the dispatcher's leave out, with its own name.
            UnknownNameError: For types that the dispatcher lacks, with near matches.
        """
        said = parse(text).point
        if said["dtype"] not in OUTPUT:
            raise unknown("dtype", str(said["dtype"]), OUTPUT)
        taken = self.fixed(said)
        point = {**said, **taken}
        if (own := self.format(point)) != text:  # which goes on where the dispatcher's name ends
            raise KernelNameError(text, len(own) + 1, "the end", f"did you mean {own!r}?")
        return ParsedName(point, {"style": self.style}, taken)

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """See `_dispatched`."""
        return _dispatched(point)

    def format(self, point: Point) -> str:
        """The name; raises `UsageError` for a kernel that the dispatcher does not make."""
        super().format({**point, "preshuffle": False, "buffers": "", "kind": ""})
        return write({**point, **usual(point)})


_KEY_PIPELINES = {"compv1": "basic_v1", "compv2": "basic_v2", **{p: p for p in w.PIPELINES}}
_ONE_TYPE = tuple(word for word, (a, b, _) in w.TYPES.items() if a == b)
_KEY_OPERATIONS = {k: v for k, v in OPERATIONS.items() if k != "PassThrough"}


class RegistryNames(GemmToolNames):
    """Identifiers of the dispatcher's registry, in which scheduler default is ``auto``::

    {dtype of A}_{abc}_{pipeline}_{epilogue}_{scheduler}_{pad_m}_{pad_n}_{pad_k}_{persistent}
        _{tile}_{waves}_{warp tile}[_{Op}][_d{n}][_preshuffle]
    """

    style, tool = "registry", "the dispatcher's registry"

    def __init__(self) -> None:
        schedulers = {"auto": "default", "intrawave": "intrawave", "interwave": "interwave"}
        head = [
            one_of("dtype", _ONE_TYPE), literal("_"), one_of("layout", w.PLAIN_LAYOUTS),
            literal("_"), one_of("pipeline", _KEY_PIPELINES), literal("_"),
            one_of("epilogue", w.EPILOGUES), literal("_"), one_of("scheduler", schedulers),
        ]  # fmt: skip
        self.grammar = Grammar(
            [*head, *switches(SWITCHES), *shapes()],
            (
                Suffix("_splitk", "_splitkN", (literal("_splitk"), number("split_k")), {"split_k": 1}),
                Suffix(
                    "_", "_OP", (literal("_"), one_of("elementwise_op", _KEY_OPERATIONS)),
                    {"elementwise_op": "passthrough"},
                ),
                Suffix("_d", "_dN", (literal("_d"), number("num_d")), {"num_d": 0}),
                flag("_sparse", "sparse"),
                flag("_preshuffle", "preshuffle"),
            ),
        )  # fmt: skip

    def parse(self, text: str) -> ParsedName:
        """The kernel of an identifier; sparse kernels are not covered."""
        said, _ = self.grammar.parse(text)
        for name, value in (("sparse", False), ("split_k", 1)):
            if said[name] != value:
                at = (self.grammar.span(text, name) or (0, 0))[0]
                raise KernelNameError(text, at + 1, f"no {name.replace('_', '-')}")
        return super().parse(text)

    def meant(self, said: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Types that follow from that of A, and D tensors that lie as C does."""
        said = {k: v for k, v in said.items() if k not in ("sparse", "split_k")}
        return _of_key(said, said["layout"][2])

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """What follows from type and pipeline."""
        layout = str(point["layout"])
        return {
            **usual(point),
            **_FIXED,
            **_LEFT_OUT,
            "layout": layout[:3] + layout[2:3] * (len(layout) - 3),
        }

    def said(self, point: Point) -> Mapping[str, Any]:
        """The layout of A, B and C, and nothing that kernels of a registry lack."""
        layout = str(point["layout"])[:3]
        shuffled = point["variant"] == "preshuffle"
        return {**point, "layout": layout, "preshuffle": shuffled, "sparse": False, "split_k": 1}


def _of_key(said: dict[str, Any], d_layout: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The point of a key's fields, and what was taken."""
    shuffled = said.pop("preshuffle")
    ds = said["num_d"]
    variant = "preshuffle" if shuffled else "multi_d" if ds else "standard"
    point = {**_FIXED, **_LEFT_OUT, **said, "variant": variant}
    if ds:
        point["layout"] += d_layout
    known = usual(point)
    taken = {k: v for k, v in {**known, **_FIXED, **_LEFT_OUT}.items() if k not in said}
    if ds and "layout" in said and len(point["layout"]) > len(said["layout"]):
        taken["layout"] = point["layout"]
    return {**known, **point}, taken


class KeyNames(GemmToolNames):
    """Keys of the dispatcher's declarations, which are C++ aliases of kernels::

        ck_tile_gemm_dt_{dtype}_ly_{abc}_tile_{tile}_warp_{waves}_wtile_{warp tile}
            _pipe_{pipeline}_epi_{epilogue}_sched_{scheduler}
            [_pad{m}{n}{k}][_persist][_preshuffle][_ew_{Op}_nd{n}_dly_{d}][_wg{n}][_kbpc{n}]

    Pads are bits, and left out where all three are on.
    """

    style, tool = "dispatcher_key", "the dispatcher"

    def __init__(self) -> None:
        self.grammar = Grammar(
            [
                literal("ck_tile_gemm_dt_"), one_of("dtype", _ONE_TYPE), literal("_ly_"),
                one_of("layout", w.PLAIN_LAYOUTS), *shapes(("_tile_", "_warp_", "_wtile_")),
                literal("_pipe_"), one_of("pipeline", w.PIPELINES), literal("_epi_"),
                one_of("epilogue", w.EPILOGUES), literal("_sched_"), one_of("scheduler", w.SCHEDULERS),
            ],
            (
                Suffix(
                    "_pad", "_padMNK",
                    (literal("_pad"), *(one_of(k, BITS) for k in ("pad_m", "pad_n", "pad_k"))),
                    {"pad_m": True, "pad_n": True, "pad_k": True},
                ),
                flag("_persist", "persistent"),
                flag("_preshuffle", "preshuffle"),
                Suffix(
                    "_ew", "_ew_OP_ndN_dly_D",
                    (literal("_ew_"), one_of("elementwise_op", OPERATIONS), literal("_nd"),
                     number("num_d"), literal("_dly_"), one_of("d_layout", ("r", "c"))),
                    {"elementwise_op": "passthrough", "num_d": 0, "d_layout": ""},
                ),
                Suffix("_wg", "_wgN", (literal("_wg"), number("num_wave_groups")),
                       {"num_wave_groups": 1}),
                Suffix("_kbpc", "_kbpcN", (literal("_kbpc"), number("k_block_per_cu")),
                       {"k_block_per_cu": 1}),
            ),
        )  # fmt: skip

    def meant(self, said: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Types that follow from that of A and B."""
        d_layout = said.pop("d_layout")
        point, taken = _of_key(said, d_layout)
        return point, {k: v for k, v in taken.items() if k != "layout"}

    def fixed(self, point: Point) -> Mapping[str, Any]:
        """What follows from type and pipeline."""
        return {**usual(point), "transpose_c": False, "permute_n": False}

    def said(self, point: Point) -> Mapping[str, Any]:
        """The layout in two parts."""
        layout = str(point["layout"])
        shuffled = point["variant"] == "preshuffle"
        return {**point, "layout": layout[:3], "d_layout": layout[3:], "preshuffle": shuffled}


TILE_ENGINE = TileEngineNames("tile_engine", TILE_ENGINE_PREFIXES)
TILE_ENGINE_2026 = TileEngineNames2026()
DISPATCHER = DispatcherNames()
REGISTRY = RegistryNames()
KEY = KeyNames()
#: By the word for them.
STYLES: Mapping[str, GemmToolNames] = {
    n.style: n for n in (TILE_ENGINE, TILE_ENGINE_2026, DISPATCHER, KEY, REGISTRY)
}

_IDENTIFIERS = tuple(f"{d}_{layout}_" for d in _ONE_TYPE for layout in w.PLAIN_LAYOUTS)
#: What names begin with that do not begin with ``gemm_``.
BEGINNINGS = ("ck_tile_gemm_dt_", BATCHED, "grouped_gemm_", *_IDENTIFIERS)
_BY_PREFIX: tuple[tuple[tuple[str, ...], GemmToolNames], ...] = (
    (("gemm_preshuffle_", "gemm_multi_d_"), TILE_ENGINE),
    (("gemm_universal_", BATCHED, "grouped_gemm_"), TILE_ENGINE_2026),
    (("ck_tile_gemm_dt_",), KEY),
    (_IDENTIFIERS, REGISTRY),
)


def of_text(text: str) -> GemmToolNames | None:
    """The names that a text is one of by its beginning; None for the usual ones."""
    return next((names for begins, names in _BY_PREFIX if text.startswith(begins)), None)


def identified(text: object) -> dict[str, Any]:
    """The fields that a registry's identifier says; none for what is not an identifier.

    >>> identified("fp16_rcr_mem_default_auto_True_True_True_False_16x32x32_1x1x1_16x16x16")["pad_m"]
    True
    """
    if not isinstance(text, str) or not REGISTRY.grammar.matches(text):
        return {}
    return REGISTRY.grammar.parse(text)[0]

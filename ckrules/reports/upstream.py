"""The page on upstream's rule sets: what they list, what is generated, what the C++ accepts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules import constraints
from ckrules.arch import load_all
from ckrules.constraints import catalogs
from ckrules.constraints.conv.vocabulary import KERNEL_DTYPES, VARIANTS
from ckrules.engine.book import RuleBook
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.space import Space
from ckrules.engine.text import to_text

PAGE = "docs/upstream-differences.md"
NDIMS = (2, 3)  # what upstream's generator builds where it is not told otherwise


@dataclass
class Tally:
    """Numbers of kernels of one catalog, GPU and direction."""

    listed: int = 0
    generated: int = 0
    legal: int = 0
    both: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def tally(catalog: catalogs.Catalog, variant: str, gpu: str) -> Tally:
    """The numbers over two and three dimensions and every dtype."""
    out = Tally()
    for ndim, dtype in itertools.product(NDIMS, KERNEL_DTYPES):
        points = catalog.listed(variant, gpu, ndim, dtype)
        generated = catalog.stage(points, "generated")
        legal = catalog.stage(points, "legal")
        out.listed += len(points)
        out.generated += len(generated.points)
        out.legal += len(legal.points)
        out.both += len(catalog.stage(generated.points, "legal").points)
        out.filtered.update(generated.removed)
        out.refused.update(legal.removed)
        for point, codes in legal.reasons:
            for code in codes:
                out.examples.setdefault(code, f"`{catalog.kernel_name(point)}` on {gpu}")
    return out


Tallies = Mapping[tuple[str, str, str], Tally]


def tallies() -> dict[tuple[str, str, str], Tally]:
    """The numbers by catalog, GPU and direction."""
    return {
        (name, gpu.name, variant): tally(catalogs.load(name), variant, gpu.name)
        for name in catalogs.names()
        for gpu in load_all()
        for variant in VARIANTS
    }


def page(found: Tallies | None = None) -> str:
    """The text of docs/upstream-differences.md."""
    numbers = tallies() if found is None else found
    parts = [_intro(), _counts(numbers), _nothing(numbers), _filtered(numbers), _refused(numbers)]
    return "\n\n".join(p for part in parts for p in part) + "\n"


def _intro() -> list[str]:
    rows = [["catalog", "what it is", "from"]]
    for name in catalogs.names():
        data = catalogs.load(name).data
        rows.append([f"`{name}`", data.title, data.source])
    return [
        "# Upstream's rule sets: listed, generated, legal",
        "Made by `ckrules catalogs --report`; do not edit.",
        (
            "Upstream (June 2026) curates sets of kernels. A set's list is checked configuration "
            "by configuration (rules BLDR001 to BLDR009) before it is *listed*; before code is "
            "written, the dispatcher's filter (the DISP rules) decides what is *generated*. "
            "Beside them stands what is *legal*: what breaks no rule of severity error of our "
            "book, so that it compiles, launches and computes right with the headers of CK 2026.06."
        ),
        (
            "Every number counts kernels of two and three dimensions in fp16, bf16 and fp32. "
            "`forward` includes the depthwise kernels, which no check of upstream looks at."
        ),
        _table(rows),
    ]


def _counts(numbers: Tallies) -> Iterator[str]:
    yield "## Counts"
    yield (
        "*Both* are generated and legal: what upstream builds and the C++ accepts. A catalog or "
        "GPU without a line lists nothing."
    )
    for name in catalogs.names():
        rows = [["GPU", "direction", "listed", "generated", "legal", "both"]]
        for (which, gpu, variant), t in numbers.items():
            if which == name and t.listed:
                cells = (t.listed, t.generated, t.legal, t.both)
                rows.append([gpu, variant, *(f"{n:,}" for n in cells)])
        yield f"### {name}"
        yield _table(rows)


def _nothing(numbers: Tallies) -> Iterator[str]:
    builder, dispatcher = _book("builder"), _book("dispatcher")
    wide, narrow = builder["BLDR003"], dispatcher["DISP003"]
    yield "## Why upstream generates nothing for gfx1201, gfx1200 and gfx1100"
    yield (
        f"The two rules {_link(wide)} and {_link(narrow)} contradict each other, so what one "
        "lists the other removes:"
    )
    yield _table([
        ["rule", "where", "says", "condition"],
        ["BLDR003", "before listing", wide.summary, f"`{to_text(wide.expr)}`"],
        ["DISP003", "before generating", narrow.summary, f"`{to_text(narrow.expr)}`"],
    ])  # fmt: skip
    rows = [["GPU", "dtype", "warp tiles with BLDR003", "with DISP003", "with both"]]
    for gpu, dtype in itertools.product(("gfx1100", "gfx1200", "gfx1201"), ("fp16", "bf16")):
        counts = [_warp_tiles(gpu, dtype, r) for r in ([wide], [narrow], [wide, narrow])]
        rows.append([gpu, dtype, *map(str, counts)])
    yield "Of the warp tiles that the book has candidates for, each leaves:"
    yield _table(rows)
    rdna = ("gfx1100", "gfx1200", "gfx1201")
    backward = sum(numbers["full", g, v].listed for g in rdna for v in VARIANTS[1:])
    left = sum(numbers["full", g, v].generated for g in rdna for v in VARIANTS[1:])
    forward = sorted({numbers["full", g, "forward"].generated for g in rdna})
    yield (
        f"So of {backward:,} backward kernels of `full` on these GPUs {left} are generated. In "
        f"forward {' or '.join(map(str, forward))} are, all of them depthwise. The C++ sides with "
        "DISP003: gfx11 and gfx12 have 16x16x16 WMMA only (WARP002), and the listed 16x16x32 "
        "compiles to a kernel that computes nothing. fp32 has no row in upstream's table there, "
        "so no tiling is exact and none is listed; none of the wave maps of `default` is a map of "
        "these GPUs (BLDR008). `rdna` skips the check and so lists 16x16x16."
    )
    yield "## Why upstream generates nothing of full for backward data, on any GPU"
    data = dispatcher["DISP004"]
    pipelines = sorted({p for s in _pipelines("bwd_data") for p in s})
    allowed = [p for p in ("compv3", "mem") if p in pipelines]
    total = sum(t.listed for (c, _, v), t in numbers.items() if (c, v) == ("full", "bwd_data"))
    built = sum(t.generated for (c, _, v), t in numbers.items() if (c, v) == ("full", "bwd_data"))
    yield (
        f"The rule set's own table of pipelines (CAT004) and {_link(data)} contradict each other: "
        f"for backward data the table has {' and '.join(f'`{p}`' for p in pipelines)} (written "
        "compv1 and wavelet) and nothing else, and DISP004 lets only `compv3` and `mem` pass. "
        f"They have {len(allowed)} pipelines in common, so {built} of {total:,} listed kernels are "
        "generated. CK 2026.06 compiles both pipelines in this direction (PIPE001). `default` "
        "lists compv3 and mem for backward data, and those are generated."
    )


def _filtered(numbers: Tallies) -> Iterator[str]:
    dispatcher = _book("dispatcher")
    yield "## What the dispatcher's filter removes"
    yield "A kernel may break several rules; each is counted under every one that it breaks."
    yield _table([
        ["rule", "name", "lets pass", "source"],
        *([_link(r), r.name, r.summary, r.sources[0]] for r in dispatcher.rules),
    ])  # fmt: skip
    for name in catalogs.names():
        seen = sorted({c for (n, *_), t in numbers.items() if n == name for c in t.filtered})
        rows = [["GPU", "direction", "removed", *seen]]
        for (which, gpu, variant), t in numbers.items():
            if which == name and t.filtered:
                cells = (t.listed - t.generated, *(t.filtered[c] for c in seen))
                rows.append([gpu, variant, *(f"{n:,}" for n in cells)])
        yield f"### {name}: removed by the filter"
        yield _table(rows) if seen else "Nothing."


def _refused(numbers: Tallies) -> Iterator[str]:
    yield "## What upstream lists and the C++ does not accept"
    yield (
        "Listed configurations that break a rule of the legal profile, over all GPUs. How many of "
        "them upstream also builds is *generated* less *both* above."
    )
    rules = {r.code: r for v in ("forward", "forward_depthwise") for r in _book("legal", v).rules}
    for name in catalogs.names():
        own = {k[1:]: t for k, t in numbers.items() if k[0] == name and t.refused}
        if not own:
            continue
        total: Counter[str] = Counter()
        for t in own.values():
            total.update(t.refused)
        yield f"### {name}: refused by rule"
        rows = [["rule", "breaks", "kernels", "in", "legal kernels", "source"]]
        for code, n in sorted(total.items()):
            where = sorted({v for (_, v), t in own.items() if code in t.refused})
            r = rules[code]
            cells = [_link(r), r.kind, f"{n:,}", ", ".join(where), r.summary, r.sources[0]]
            rows.append(cells)
        yield _table(rows)
        if name == "full":
            yield "One of each, with the GPU:"
            first: dict[str, str] = {}
            for t in own.values():
                for code, text in t.examples.items():
                    first.setdefault(code, text)
            yield "\n".join(f"- {c}: {first[c]}" for c in sorted(first))
    yield "## Kinds"
    yield "\n".join(f"- {kind}: {text}" for kind, text in KINDS.items())


# -- small parts -------------------------------------------------------------------------------


def _book(profile: str, variant: str = "forward") -> RuleBook:
    return constraints.book(variant, profile=profile)


def _warp_tiles(gpu: str, dtype: str, rules: Sequence[Rule]) -> int:
    """How many warp tiles the rules leave for a GPU and dtype."""
    fields = _book("legal").fields
    names = ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")
    space = Space([fields[n] for n in names], [r.condition for r in rules])
    return space.bind(arch=gpu, dtype=dtype).count()


def _pipelines(variant: str) -> Iterator[tuple[str, ...]]:
    data = catalogs.load("full").data
    for (direction, *_), pairs in data.pipelines.items():
        if direction == variant:
            yield tuple(p for p, _ in pairs)
    for feature in data.features:
        if feature.variant == variant and feature.pipelines:
            yield tuple(p for p, _ in feature.pipelines)


def _link(rule: Rule) -> str:
    return f"[{rule.code}](rules/{rule.code}.md)"


def _table(rows: Sequence[Sequence[Any]]) -> str:
    head, *body = ([str(c).replace("|", "\\|") for c in row] for row in rows)
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)

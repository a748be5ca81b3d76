"""Writes docs/upstream-differences.md: what upstream lists and generates, and what is legal.

    python scripts/upstream_differences.py            print the page
    python scripts/upstream_differences.py --write    write it
    python scripts/upstream_differences.py --check    exit 1 unless the file is that page

Every number and name on the page is counted from the catalogs and rules; the template beside
this script says what they are and concludes nothing from them.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import page_command

from ckrules.arch import Gpu, load_all
from ckrules.constraints import catalogs
from ckrules.constraints.conv.vocabulary import KERNEL_DTYPES, VARIANTS
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import named
from ckrules.readers.catalogs import load_catalog

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "upstream-differences.md"
TILE_ENGINE = ROOT / "tests" / "data" / "tile_engine"
"""tile_engine's own configuration files of November 2025."""
NDIMS = (2, 3)
"""What upstream's generator builds where nothing else is asked for."""

Row = Sequence[object]
Key = tuple[str, str, str]


@dataclass
class Tally:
    """Numbers of kernels of one catalog, GPU and direction."""

    listed: int = 0
    generated: int = 0
    depthwise: int = 0
    legal: int = 0
    both: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def tally(catalog: catalogs.Catalog, gpu: str, variant: str) -> Tally:
    """The numbers over two and three dimensions and every dtype."""
    out = Tally()
    for ndim, dtype in itertools.product(NDIMS, KERNEL_DTYPES):
        points = catalog.listed(variant, gpu, ndim, dtype)
        generated = catalog.stage(points, "generated")
        legal = catalog.stage(points, "legal")
        out.listed += len(points)
        out.generated += len(generated.points)
        out.depthwise += sum(p["variant"] == "forward_depthwise" for p in generated.points)
        out.legal += len(legal.points)
        out.both += len(catalog.stage(generated.points, "legal").points)
        out.filtered.update(generated.removed)
        out.refused.update(legal.removed)
        for point, codes in legal.reasons:
            for code in codes:
                out.examples.setdefault(code, f"`{catalog.kernel_name(point)}` on {gpu}")
    return out


def _known() -> list[Gpu]:
    """The GPUs that upstream's dispatcher knows."""
    return [g for g in load_all() if g.dispatcher is not None]


def tallies(names: Iterable[str] | None = None) -> dict[Key, Tally]:
    """The numbers by catalog, GPU and direction, where a catalog lists something."""
    keys = itertools.product(
        catalogs.upstream("conv") if names is None else names, [g.name for g in _known()], VARIANTS
    )
    found = {key: tally(catalogs.load(key[0]), *key[1:]) for key in keys}
    return {key: t for key, t in found.items() if t.listed}


def page(numbers: Mapping[Key, Tally]) -> str:
    """The text of the page."""
    profiles = named("conv").profiles
    rules = {r.code: r for p in profiles for v in VARIANTS for r in _book(p, v).rules}
    rules |= {r.code: r for r in _book("legal", "forward_depthwise").rules}
    by_catalog = {
        name: {key[1:]: t for key, t in numbers.items() if key[0] == name}
        for name in dict.fromkeys(key[0] for key in numbers)
    }
    return page_command.rendered(
        "upstream-differences.md.j2", table=_table, link=_link, kinds=KINDS, ck=library.DEFAULT_CK,
        catalogs=[[f"`{n}`", (d := catalogs.load(n).data).title, d.source] for n in by_catalog],
        counts={name: list(_counts(own)) for name, own in by_catalog.items()},
        nothing=list(_nothing(numbers)),
        wide=rules["BLDR003"], narrow=rules["DISP003"],
        header=rules["WARP001"], real=rules["WARP002"],
        warp_tiles=list(_warp_tiles(rules)),
        backward=rules["DISP004"], usable=rules["PIPE001"], pipelines=list(_pipelines(rules)),
        filter_rules=[[_link(r), r.name, r.summary] for r in _book("dispatcher", "forward").rules],
        removed={name: _removed(own) for name, own in by_catalog.items()},
        refused={n: rows for n, own in by_catalog.items() if (rows := list(_refused(own, rules)))},
        **_gemms(),
    )  # fmt: skip


def _counts(own: Mapping[tuple[str, str], Tally]) -> Iterator[Row]:
    for (gpu, variant), t in own.items():
        yield [gpu, variant, t.listed, t.generated, t.depthwise, t.legal, t.both]


def _nothing(numbers: Mapping[Key, Tally]) -> Iterator[Row]:
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for (name, gpu, variant), t in numbers.items():
        if not t.generated:
            found.setdefault((name, variant), []).append((gpu, t.listed))
    for (name, variant), gpus in found.items():
        yield [name, variant, ", ".join(g for g, _ in gpus), sum(n for _, n in gpus)]


def _warp_tiles(rules: Mapping[str, Rule]) -> Iterator[Row]:
    """How many warp tiles the rules leave for each wave32 GPU and dtype."""
    fields = _book("legal", "forward").fields
    names = ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k")
    for gpu in _known():
        if gpu.wave_size != 32:
            continue
        for dtype in KERNEL_DTYPES:
            counts = []
            for codes in (
                ("BLDR003",), ("DISP003",), ("BLDR003", "DISP003"),
                ("WARP001", "WARP002"), ("BLDR003", "WARP001", "WARP002"),
            ):  # fmt: skip
                conditions = [rules[code].condition for code in codes]
                space = Space([fields[n] for n in names], conditions)
                counts.append(space.bind(arch=gpu.name, dtype=dtype).count())
            yield [gpu.name, dtype, *counts]


def _pipelines(rules: Mapping[str, Rule]) -> Iterator[Row]:
    data = catalogs.load("full").data
    own = [pairs for (variant, *_), pairs in data.pipelines.items() if variant == "bwd_data"]
    own += [f.pipelines for f in data.features if f.variant == "bwd_data" and f.pipelines]
    listed = {pipeline for pairs in own for pipeline, _ in pairs}
    passes, compiles = (_allowed(rules[code]) for code in ("DISP004", "PIPE001"))
    for title, found in (
        ("in the table of `full`", listed),
        (f"that {_link(rules['DISP004'])} lets pass", passes),
        (f"that {_link(rules['PIPE001'])} accepts", compiles),
        ("in the table and let pass", listed & passes),
        ("in the table and accepted", listed & compiles),
    ):
        yield [title, ", ".join(f"`{p}`" for p in sorted(found)) or "none"]


def _allowed(rule: Rule) -> set[object]:
    """The pipelines for backward data that a rule about pipelines accepts."""
    fields = _book("legal", "bwd_data").fields
    space = Space([fields["variant"], fields["pipeline"]], [rule.condition])
    bound = space.bind(variant="bwd_data")
    return {p for p in domain_of(fields["pipeline"]).values if bound.bind(pipeline=p).count()}


def _removed(own: Mapping[tuple[str, str], Tally]) -> tuple[list[str], list[Row]]:
    codes = sorted({code for t in own.values() for code in t.filtered})
    rows: list[Row] = [
        [gpu, variant, t.listed - t.generated, *(t.filtered[c] for c in codes)]
        for (gpu, variant), t in own.items()
        if t.filtered
    ]
    return codes, rows


def _refused(own: Mapping[tuple[str, str], Tally], rules: Mapping[str, Rule]) -> Iterator[Row]:
    total: Counter[str] = sum((t.refused for t in own.values()), Counter())
    for code, n in sorted(total.items()):
        where = sorted({variant for (_, variant), t in own.items() if code in t.refused})
        first = next(t.examples[code] for t in own.values() if code in t.examples)
        r = rules[code]
        yield [_link(r), r.kind, n, ", ".join(where), r.summary, first]


# -- GEMMs -----------------------------------------------------------------------------------------

GEMM_GPUS = ("gfx90a", "gfx942", "gfx950")
_GEOMETRY = tuple(f"{group}_{d}" for group in ("tile", "wave", "warp_tile") for d in "mnk")


@cache
def _gemms() -> Mapping[str, Sequence[Row]]:
    """The tables about GEMMs, which depend on the catalogs and rules alone."""
    tables = {
        "sets": _sets,
        "geometries": _geometries,
        "listed": _listed,
        "production": _production,
    }
    return {name: list(rows()) for name, rows in tables.items()}


def _codes(removed: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {n}" for code, n in removed.items()) or "none"


def _every(catalog: catalogs.Catalog, gpu: str) -> list[dict[str, Any]]:
    """All that a catalog lists for a GPU."""
    values = [domain_of(catalog.book().fields[k]).values for k in catalog.keys[2:]]
    keys = itertools.product(catalog.family.variants, [gpu], *values)
    return [p for key in keys for p in catalog.listed(*key)]


def _sets() -> Iterator[Row]:
    """Upstream's preselected sets, which are written without being asked about."""
    for name, gpu in itertools.product(catalogs.upstream("gemm"), GEMM_GPUS):
        catalog = catalogs.load(name)
        points = _every(catalog, gpu)
        generated, legal = (catalog.stage(points, s) for s in ("generated", "legal"))
        yield [
            f"`{name}`", gpu, len(points), len(generated.points), _codes(generated.removed),
            len(legal.points), _codes(legal.removed),
        ]  # fmt: skip


def _of_tile_engine(folder: str) -> catalogs.Catalog:
    return load_catalog(str(TILE_ENGINE / f"{folder}__default_config.json"), Books("2025.11"))


def _geometries() -> Iterator[Row]:
    """Geometries in the ranges of tile_engine's default configuration: legal, and listed."""
    catalog = _of_tile_engine("gemm")
    rules = library.book("standard", ck="2025.11").select(lambda r: r.severity == "error")
    assert catalog.data.sweep is not None
    axes = {k: list(v) for k, v in catalog.data.sweep.axes.items() if k in _GEOMETRY}
    for gpu, dtype, pipeline in itertools.product(
        GEMM_GPUS, ("fp16", "fp8"), ("compv3", "compv4", "mem")
    ):
        method = {"pipeline": pipeline, "scheduler": "intrawave", "epilogue": "cshuffle"}
        points = [
            p
            for p in catalog.listed("standard", gpu, "rcr", dtype)
            if all(p[k] == v for k, v in method.items()) and not p["persistent"]
        ]
        if not points:
            continue
        rest = {k: v for k, v in points[0].items() if k not in _GEOMETRY}
        space = rules.space(**{k: [v] for k, v in rest.items()}, **axes)
        both = len(catalog.stage(points, "legal").points)
        yield [gpu, dtype, pipeline, space.count(), len(points), both]


def _listed() -> Iterator[Row]:
    """What tile_engine's default configurations list, and which rules refuse some of it."""
    for folder, variant, layout, dtypes in (
        ("gemm", "standard", "rcr", ("fp16", "fp8")),
        ("gemm_preshuffle", "preshuffle", "rcr", ("fp16", "fp8")),
        ("gemm_multi_d", "multi_d", "rcrr", ("fp16",)),
    ):
        catalog = _of_tile_engine(folder)
        for gpu, dtype in itertools.product(GEMM_GPUS, dtypes):
            points = catalog.listed(variant, gpu, layout, dtype)
            legal = catalog.stage(points, "legal")
            yield [folder, gpu, dtype, len(points), len(legal.points), _codes(legal.removed)]


def _production() -> Iterator[Row]:
    """Tiles, waves and warp tiles of aiter's pre-shuffled weights, as each rule set sees them."""
    for gpu, (profile, ck) in itertools.product(
        ("gfx942", "gfx950"),
        (("tile_engine", "2025.11"), ("dispatcher", "2026.06"), ("dispatcher", "2026.09"),
         ("legal", "2025.11"), ("legal", "2026.06"), ("legal", "2026.09")),
    ):  # fmt: skip
        points = catalogs.load("aiter").listed("flatmm", gpu, "fp8")
        shapes = dict.fromkeys(tuple(p[k] for k in _GEOMETRY) for p in points)
        rules = library.book("preshuffle", ck=ck, profile=profile)
        rules, books = rules.select(lambda r: r.severity == "error"), Books(ck)
        broken: Counter[str] = Counter()
        passed = 0
        for shape in shapes:
            given = {
                "variant": "preshuffle", "arch": gpu, "dtype": "fp8", "layout": "rcr",
                "pipeline": "preshufflev2", "scheduler": "default", "epilogue": "cshuffle",
                **dict(zip(_GEOMETRY, shape, strict=True)),
            }  # fmt: skip
            found = rules.violations(config_from_mapping(given, books).point)
            broken.update(v.code for v in found)
            passed += not found
        yield [gpu, profile, ck, len(shapes), passed, _codes(broken)]


def _book(profile: str, variant: str) -> RuleBook:
    return library.book(variant, profile=profile)


def _link(rule: Rule) -> str:
    return f"[{rule.code}](rules/{rule.code}.md)"


def _table(head: Sequence[str], rows: Iterable[Row]) -> str:
    cells = [[_cell(c) for c in row] for row in rows]
    lines = [list(head), ["---"] * len(head), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(page_command.run(__doc__, PAGE, lambda: page(tallies())))

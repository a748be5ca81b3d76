"""How `ckrules rank` and `ckrules search` show kernels with predicted times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.formats import Forms
from ckrules.cli.options import option
from ckrules.support.errors import CkrulesError
from ckrules.support.tables import aligned
from ckrules.support.visible import json_text

if TYPE_CHECKING:
    from ckrules.ranking.ranker import Ranked, Ranking

model_option = option(
    "--model",
    metavar="FILE|none",
    help="A model of `ckrules train`, or none: estimates alone [the package's model].",
)
product_option = option(
    "--product", metavar="NAME", help="Product of the GPU, such as MI355X [its first]."
)
draw_option = option(
    "--draw",
    default=20_000,
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw this many where there are more [20000].",
)

FORMS: Forms = {"table": (".txt",), "json": (".json",), "jsonl": (".jsonl",), "names": ()}


def render(ranking: Ranking, form: str, *, explain: bool) -> str:
    """The kernels in one of `FORMS`; ``explain`` adds to a table what times are made of."""
    if form == "json":
        return _json(ranking)
    if form == "jsonl":
        return "".join(json_text(named_object(r)) + "\n" for r in ranking.kernels)
    if form == "names":
        return "".join(name(r) + "\n" for r in ranking.kernels)
    return _table(ranking, explain)


def _table(ranking: Ranking, explain: bool) -> str:
    rows = [["us", "range", "TFLOPS", "of peak", "limited by", "kernel"]]
    for r in ranking.kernels:
        rows.append(
            [
                f"{r.microseconds:.1f}", f"{r.low:.1f}-{r.high:.1f}",
                f"{r.figures['tflops']:.1f}", f"{r.figures['of_peak']:.1%}", r.limit, name(r),
            ]
        )  # fmt: skip
    text = aligned(rows, right={0, 1, 2, 3})
    if not explain:
        return text
    return text + "".join(f"\n{name(r)}\n{_parts(r)}" for r in ranking.kernels)


def _parts(r: Ranked) -> str:
    rows = [[what, f"{us:.1f} us"] for what, us in sorted(r.bounds.items(), key=lambda b: -b[1])]
    f = r.figures
    rows += [
        ["blocks", f"{f['blocks']:,.0f} in {f['rounds']:,.0f} rounds"],
        ["blocks of a CU at once", f"{f['blocks_per_cu']:.0f}"],
        ["useful multiplications", f"{f['useful']:.1%}"],
        ["busy compute units", f"{f['busy']:.1%}"],
    ]
    return aligned(rows, right={1}, indent="  ")


def mixed(ranked: Sequence[Ranked]) -> str:
    """The note that kernels in one order do not compute the same; empty: they do."""
    from ckrules.ranking.best import kinds

    told = kinds([r.point for r in ranked])
    return f"note: these kernels do not compute the same: {told}" if told else ""


def name(r: Ranked) -> str:
    """The kernel's name; its configuration where it has none."""
    from ckrules.kernels.names import format_name

    try:
        return format_name(r.point)
    except CkrulesError:
        return json.dumps(dict(r.point))


def named_object(r: Ranked) -> dict[str, Any]:
    """Everything that is known of a ranked kernel, for JSON."""
    return {
        "name": name(r), "microseconds": r.microseconds, "low": r.low, "high": r.high,
        "limited_by": r.limit, "learned": r.learned, **r.figures, "bounds": dict(r.bounds),
        "config": dict(r.point),
    }  # fmt: skip


def _json(ranking: Ranking) -> str:
    found = {
        "source": ranking.source,
        "looked_at": ranking.looked_at,
        "assumed": dict(ranking.assumed),
        "kernels": [named_object(r) for r in ranking.kernels],
    }
    return json_text(found, indent=2) + "\n"

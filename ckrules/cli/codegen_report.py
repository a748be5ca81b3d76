"""``ckrules certify --codegen``: the rules beside what the back end makes of kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.cli.output import text_output
from ckrules.cli.terminal import note, progress
from ckrules.support.visible import json_text, visible_lines

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.certify.backend import Compared
    from ckrules.compiling.toolchain import Toolchain
    from ckrules.engine.rules.book import RuleBook


def answer(
    book: RuleBook,
    points: Sequence[dict[str, Any]],
    tools: Toolchain,
    gpu: Gpu,
    timeout: float,
    store: Path,
    form: str,
    output: str | None,
    keep: Callable[[Sequence[Compared]], None] = lambda _: None,
) -> int:
    """Compiles the points' kernels to code objects, writes what they say of the rules and keeps it.

    The exit code is 1 if a kernel that the rules let through is refused, clamped or empty, or has
    less LDS than they say.
    """
    from ckrules.certify.backend import compare
    from ckrules.certify.codeobjects import CodeObjects, FigureStore, measured

    maker = CodeObjects(tools, gpu, timeout)
    cases = []
    with FigureStore(store) as kept, progress("compiling", len(points)) as bar:
        for point, found in measured(points, maker, kept):
            cases.append(compare(book, point, found))
            bar.advance(1)
    with text_output(output) as stream:
        stream.write((_json if form == "json" else _text)(cases) + "\n")
    for case in cases:
        if case.failure:
            note(f"no answer: {case.failure}")
    keep(cases)
    return 1 if any(c.differs or c.failure for c in cases) else 0


def _text(cases: list[Compared]) -> str:
    from ckrules.certify.backend import SIGNS, by_rule, estimates

    found = estimates(cases)
    both, predicted, missed, neither = found.spills
    half, most = found.within(0.5), found.within(0.9)
    out = [
        f"{len(cases)} kernels, {found.kernels} code objects",
        f"LDS       {found.lds_exact} of {found.kernels} as predicted, {found.lds_more} more",
    ]
    if half is not None and most is not None:
        out.append(
            f"registers half within {100 * half:.0f} %, nine of ten within {100 * most:.0f} %"
        )
    out.append(
        f"spills    {both} predicted and found, {predicted} predicted only, "
        f"{missed} found only, {neither} neither"
    )
    out += ["", f"rule     kernels  alone{''.join(f'{s:>9}' for s in SIGNS)}  no sign"]
    for r in by_rule(cases):
        counts = "".join(f"{r.signs[s]:>9}" for s in SIGNS)
        out.append(f"{r.code:<9}{r.kernels:>7}{r.alone:>7}{counts}{r.kernels - r.confirmed:>9}")
    for case in cases:
        if case.differs:
            out += ["", *_difference(case)]
    return visible_lines("\n".join(out))


def _difference(case: Compared) -> list[str]:
    figures = case.figures
    assert figures is not None
    said = f"predicted {case.lds_bytes} bytes of LDS and {case.threads} threads"
    made = figures.error or (
        f"{figures.lds_bytes} bytes of LDS, {figures.max_threads} threads, "
        f"{figures.matrix} matrix instructions"
    )
    return ["differs: " + json.dumps(dict(case.point)), f"  rules: {said}", f"  compiler: {made}"]


def _json(cases: list[Compared]) -> str:
    from dataclasses import asdict

    from ckrules.certify.backend import by_rule, estimates

    found = estimates(cases)
    rows = [
        {
            "config": dict(c.point),
            "broken": list(c.broken),
            "predicted": {"lds_bytes": c.lds_bytes, "vgprs": c.vgprs, "threads": c.threads},
            "found": None if c.figures is None else asdict(c.figures),
            "signs": sorted(c.signs),
            "error": c.failure or None,
        }
        for c in cases
    ]
    rules = {r.code: {"kernels": r.kernels, "alone": r.alone, **r.signs} for r in by_rule(cases)}
    return json_text({"estimates": asdict(found), "rules": rules, "cases": rows}, indent=1)

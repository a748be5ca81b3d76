"""Say why a configuration is illegal, or why a region is empty."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ckrules.cli.answers import (
    Writer,
    answer_options,
    configurations,
    name_or_text,
    source_lines,
    timeout_option,
    title_of,
)
from ckrules.cli.options import Request, space_options
from ckrules.engine.errors import UsageError

EPILOG = """\b
CONFIG is a kernel name, a file, - or a JSON object. Without it, the options
describe a region: why no legal point is in it, or a point that is.

\b
Examples:
  ckrules why --arch gfx1201 grouped_conv_fwd_fp16_nhwgc_2d_compv4_...
  ckrules why --where "pipeline == 'comp_async' & arch == 'gfx1201'"

\b
Exit codes: 0 legal or not empty, 1 illegal or empty, 2 bad input, 4 undecided.
"""


@click.command(epilog=EPILOG)
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@space_options
@click.option(
    "--deep",
    is_flag=True,
    help="Fewest values that clash under the whole book, not only near a broken rule. Slower.",
)
@timeout_option(60)
@answer_options
def command(
    configs: tuple[str, ...],
    request: Request,
    deep: bool,
    timeout: float,
    write: Writer,
) -> int:
    """Say why a configuration is illegal, or why a region is empty."""
    if configs:
        return _points(configs, request, deep, timeout, write)
    if not request.given and not request.where:
        raise UsageError("why of what? Give a configuration, or a region with --where or --arch")
    from ckrules.reasoning.why import why_region

    selection = request.selection
    found = why_region(selection.book, selection.bound, selection.where, timeout=timeout)

    def lines() -> Iterator[str]:
        if found.witness is not None:
            yield f"not empty: {name_or_text(found.witness)} on {found.witness.get('arch')}"
        elif found.clash is not None:
            yield f"empty: {found.clash.sentence()}"
            yield from source_lines(found.clash.rules)

    write({**request.to_dict(), **found.to_dict()}, lines())
    return 1 if found.empty else 0


def _points(
    configs: tuple[str, ...],
    request: Request,
    deep: bool,
    timeout: float,
    write: Writer,
) -> int:
    from ckrules.reasoning.why import why

    extra = set(request.given) - {"arch"}
    if request.where or extra or len(request.given.get("arch", ())) > 1:
        raise UsageError("a configuration is asked about alone: only one --arch may go with it")
    arch = next(iter(request.given.get("arch", ())), None)
    items = configurations(configs, request.books, arch)
    if not items:
        raise UsageError("no configurations found")
    answers = [why(request.books.of(c.variant), c.point, deep=deep, timeout=timeout) for c in items]

    def lines() -> Iterator[str]:
        for config, answer in zip(items, answers, strict=True):
            yield title_of(config)
            if answer.legal:
                yield "  legal: no rule is broken"
                continue
            for v, clash in zip(answer.violations, answer.clashes, strict=True):
                yield f"  {v.code} [{v.kind}] {v.message}"
                yield f"    clash: {clash.sentence()}"
                yield f"    source: {'; '.join(v.rule.sources)}"
            if answer.core is not None:
                yield f"  core: {answer.core.sentence()}"
                seen = {v.code for v in answer.violations}
                more = [r for r in answer.core.rules if r.code not in seen]
                yield from source_lines(more)

    shown = [{"name": c.name, **a.to_dict()} for c, a in zip(items, answers, strict=True)]
    write(shown[0] if len(shown) == 1 else shown, lines())
    return 0 if all(a.legal for a in answers) else 1

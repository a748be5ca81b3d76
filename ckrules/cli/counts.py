"""What the commands that count share: forms, what they refuse, and how answers are written."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.cli.formats import Forms
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import is_terminal
from ckrules.output.counts import Group, render_groups, rows_of, write_parquet
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text

FORMS: Forms = {
    "table": (".txt",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "parquet": (".parquet", ".pq"),
}

WHY = "nothing is left: `ckrules why` with the same options says which rules leave nothing"
"""What is said beside a count of 0."""
_BAR = 30  # columns of the longest bar on a terminal


def whole_or_part(by: Sequence[str] | None, shard: tuple[int, int] | None) -> None:
    """Refuses groups of a part.

    Raises:
        UsageError: If both are asked for.
    """
    if by and shard:
        raise UsageError("--by counts the whole space: leave out --shard")


def write_counts(
    by: Sequence[str] | None,
    count: int,
    groups: Sequence[Group] | None,
    form: str,
    output: str | None,
    about: Mapping[str, Any],
) -> None:
    """Writes the count, or the groups where there are some; ``about`` is what JSON says first."""
    by = by or ()
    if form == "parquet":
        with binary_output(output) as binary:
            write_parquet(by, count, groups, binary)
        return
    with text_output(output) as stream:
        if form == "json":
            more = {} if groups is None else {"by": list(by), "groups": rows_of(by, groups)}
            stream.write(json_text({**about, "count": count, **more}) + "\n")
        else:
            bars = _BAR if output is None and is_terminal(sys.stdout) else 0
            stream.write(render_groups(by, count, groups, form, bars=bars))

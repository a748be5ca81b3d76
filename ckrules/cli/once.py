"""Options that take one value, apart from those that know families: some commands start at once."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ckrules.support.errors import UsageError

LIST = "LIST"
"""The name of types whose one value is several words."""


class Once(click.Option):
    """An option that takes one value: given twice it is an error, and the last does not win."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Collects every value, so that a second one is seen."""
        super().add_to_parser(parser, ctx)
        if self.multiple or self.is_flag or self.count or self.nargs != 1:
            return
        for known in (parser._long_opt, parser._short_opt):
            for option in {id(o): o for o in known.values() if o.obj is self}.values():
                option.action = "append"

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """The one value."""
        given = opts.get(self.name or "")
        if isinstance(given, list) and not self.multiple:
            if len(given) > 1:
                hint = ": put commas between its values" if self.type.name == LIST else ""
                raise click.UsageError(f"{self.opts[0]} is given twice{hint}", ctx)
            opts = {**opts, str(self.name): given[0]}
        if self.name == "output" and isinstance(output := opts.get("output"), str):
            for word in _files(ctx.command, opts):
                path = word.partition("#/")[0]
                if os.path.isfile(path) and os.path.realpath(path) == os.path.realpath(output):
                    raise UsageError(f"-o {output}: is also read: choose another file")
        return super().handle_parse_result(ctx, opts, args)


def _files(command: click.Command, opts: Mapping[str, Any]) -> Iterator[str]:
    """What may name files that a command reads: its arguments, and options that say so."""
    for param in command.params:
        metavar = param.metavar or ""
        named = isinstance(param, click.Argument) or "FILE" in metavar or "PATH" in metavar
        if named and param.name != "output":
            given = opts.get(param.name or "")
            words = given if isinstance(given, (list, tuple)) else [given]
            yield from (word for word in words if isinstance(word, str))


#: `click.option`, of which each takes one value unless it says ``multiple``.
option = functools.partial(click.option, cls=Once)

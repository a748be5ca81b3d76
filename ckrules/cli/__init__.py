"""The command line: ``ckrules COMMAND``, each command a module of `ckrules.cli.commands`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0 clean, 1 findings, 2 usage, bad input or an internal error, 3 nothing to work on,
    4 undecided, 130 interrupted, 143 and 129 asked to end by SIGTERM and SIGHUP.

    Args:
        arguments: Words of the command line (default: those of the process).
    """
    try:
        from ckrules.cli.interrupts import Interrupts, request_behind

        try:
            with Interrupts():
                from ckrules.cli.group import cli

                return cli.run(arguments)
        except BaseException as error:  # while the modules are still being imported
            if asked := request_behind(error):
                return 128 + asked.number
            raise
    except KeyboardInterrupt:  # before anything handles signals
        return 130


def gpu_helper() -> int:
    """The program ``gpu_helper``: `ckrules gpu-helper` with the same words."""
    return main(["gpu-helper", *sys.argv[1:]])

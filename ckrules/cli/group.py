"""The root command: commands found by file name, imported when invoked, and every exit code."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from ckrules import __version__
from ckrules.cli import commands as package
from ckrules.cli.interrupts import request_behind
from ckrules.cli.once import Once
from ckrules.cli.terminal import note
from ckrules.support.errors import (
    CkrulesError,
    HardSpaceWarning,
    NeverTrueWarning,
    UndecidedError,
    nearest,
)
from ckrules.support.submodules import submodule, submodules

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

HELP = """The rules of AMD's CK Tile kernels: enumerate, count, check, explain, build.

Covers grouped and depthwise convolution in fp16, bf16 and fp32, GEMM (gemm) in
these and in fp8, bf8, int8, fp8_bf8, bf8_fp8, fp16_i4 and bf16_i4, quantised GEMM
(quant), with fp8_i4, bf8_i4, i4_fp8 and i4_bf8, scaled GEMM (scaled), with fp16_fp4,
bf16_fp4 and fp8_fp4, and attention (fmha, fmha_bwd, fmha_steps, fmha_v3), with fp8fp16,
fp8bf16 and fp8fp32, for CK 2025.11, 2026.06 and 2026.09 and the GPUs of `ckrules archs`.

\b
Examples:
  ckrules enumerate --variant bwd_weight --arch gfx1201
  ckrules count --variant forward --arch gfx942 --by pipeline,scheduler
  ckrules check --arch gfx942 kernels.txt
  ckrules explain tile_m

\b
Exit codes: 0 clean, 1 findings, 2 usage or bad input, 3 nothing to work on, 4 undecided.
"""


#: The groups of the list of commands; each command's module names its own as ``GROUP``.
GROUPS = {
    "explore": "Explore the space",
    "check": "Check configurations and rules",
    "build": "Build and run kernels",
    "maintain": "Maintain the rules",
}
_GROUP = re.compile(rb'^GROUP = "([a-z]+)"', re.MULTILINE)


@dataclass
class Session:
    """What every command may want to know: colours, tracebacks, and its own command line."""

    color: str = "auto"
    debug: bool = False
    words: Sequence[str] = ()


def session() -> Session:
    """The session of the running command."""
    context = click.get_current_context(silent=True)
    found = context.find_root().obj if context is not None else None
    return found if isinstance(found, Session) else Session()


def _remember(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def store(context: click.Context, _: click.Parameter, value: Any) -> None:
        root = context.find_root()
        root.obj = root.obj or Session()
        if value:
            setattr(root.obj, key, value)

    return store


def _common() -> list[click.Parameter]:
    return [
        Once(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_remember("color"),
            help="Colours: on a terminal (auto), always or never.",
        ),
        Once(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_remember("debug"),
            help="Show the traceback of an internal error.",
        ),
    ]


class LazyGroup(click.Group):
    """A group whose commands are modules, imported when they are invoked."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (modules := _commands()):
            return None
        command: click.Command = submodule(package.__name__, modules[cmd_name]).command
        command.epilog = _epilog(modules[cmd_name])
        if not any(p.name == "color" for p in command.params):
            command.params.extend(_common())
            command.context_settings.setdefault("help_option_names", ["-h", "--help"])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, two = args[0], " ".join(args[:2])
        if two in self.list_commands(ctx) and len(args) > 1:
            return two, self.get_command(ctx, two), args[2:]
        if not word.startswith("-") and word not in (known := self.list_commands(ctx)):
            hits = nearest(word, known)
            tail = f"did you mean {' or '.join(hits)}?" if hits else f"known are {', '.join(known)}"
            raise click.UsageError(f"no command {word!r}: {tail}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        about = {name: about_of(name) for name in self.list_commands(ctx)}
        for group, title in GROUPS.items():
            rows = [(name, summary) for name, (own, summary) in about.items() if own == group]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=10)

    def overview(self, ctx: click.Context) -> str:
        """What there is, for who asks for nothing."""
        formatter = ctx.make_formatter()
        formatter.write_paragraph()
        formatter.write_text(HELP.partition("\n\n\b")[0])
        self.format_commands(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text("ckrules help COMMAND shows how a command is used.")
        return formatter.getvalue().strip()

    def main(  # type: ignore[override]  # click's is overloaded
        self, args: Any = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Runs and exits; `click.testing` calls it too."""
        extra.pop("standalone_mode", None)
        sys.exit(self.run(args, prog_name, **extra))

    def run(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> int:
        """Runs and returns the exit code; errors become one line on standard error."""
        words = list(sys.argv[1:] if args is None else args)
        name = prog_name or "ckrules"
        self._main_shell_completion(extra, name, extra.pop("complete_var", None))
        if sys.stdout is None:  # closed by the shell: >&-
            sys.stdout = ClosedOutput()
        _tolerate_encodings()
        code = _guarded(lambda: self._invoked(words, name, extra), "--debug" in words)
        return _flushed(code)

    def _invoked(self, words: list[str], name: str, extra: dict[str, Any]) -> int:
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, (HardSpaceWarning, NeverTrueWarning)):
                note(str(message))
            else:
                shown(message, category, *where, **more)

        with warnings.catch_warnings(), self.make_context(name, words, **extra) as context:
            warnings.showwarning = show
            context.obj = context.obj or Session()
            context.obj.words = tuple(words)
            if not words:
                click.echo(self.overview(context))
                return 0
            result = self.invoke(context)
        return result if isinstance(result, int) else 0


def _commands() -> dict[str, str]:
    """The module of each command; a package holds commands of two words beside its own."""
    found: dict[str, str] = {}
    for folder in package.__path__:
        for name in submodules(package.__path__):
            found[name.replace("_", "-")] = name
            inside = submodules([os.path.join(folder, name)])
            found |= {f"{name} {second}".replace("_", "-"): f"{name}.{second}" for second in inside}
    return found


def _home(module: str) -> Path:
    return Path(next(iter(package.__path__)), *module.split("."))


def _epilog(module: str) -> str | None:
    """What a command's help ends with: the text file beside its module, shown as it is."""
    path = _home(module).with_suffix(".txt")
    if not path.exists():
        return None
    return "\n\n".join(f"\b\n{p}" for p in path.read_text(encoding="utf-8").split("\n\n"))


def about_of(command: str) -> tuple[str, str]:
    """The group and the first line of a command's module, read without importing it."""
    home = _home(_commands()[command])
    text = (home / "__init__.py" if home.is_dir() else home.with_suffix(".py")).read_bytes()
    summary = text.partition(b"\n")[0].decode().strip().strip('"').rstrip(".")
    group = _GROUP.search(text)
    return (group[1].decode() if group else ""), summary


def _guarded(body: Callable[[], int], debug: bool) -> int:
    try:
        return body()
    except BaseException as error:
        asked = request_behind(error)
        return 128 + asked.number if asked else _told(error, debug)


def _told(fault: BaseException, debug: bool) -> int:
    """The exit code of what ended a command, after it is said in a line."""
    try:
        raise fault
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        return _usage(error)
    except click.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _piped()
    except UndecidedError as error:
        note(f"undecided: {error}")
        return 4
    except CkrulesError as error:
        note(f"error: {error}")
    except OSError as error:
        if error.errno in _DISK and not error.filename:
            return _unwritten(error)
        what = f"{error.filename}: " if error.filename else ""
        note(f"error: {what}{error.strerror or error}")
    except MemoryError:
        note("error: out of memory")
    except SystemExit as error:  # of a plug-in: its code would be taken for one of ours
        note(f"error: a part of a plug-in ended the program: SystemExit: {error}")
    except Exception as error:
        note(f"internal error: {_one_line(error)} (--debug shows the traceback)")
        if debug:
            import traceback

            for line in traceback.format_exc().splitlines():
                note(line)
    return 2


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def _usage(error: click.ClickException) -> int:
    text = " ".join(error.format_message().split()).rstrip(".")
    text = text[:1].lower() + text[1:]
    context = getattr(error, "ctx", None)
    tail = f" ({context.command_path} --help shows the options)" if context is not None else ""
    note(f"error: {text}{tail}")
    return 2


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed before the command began; what writes to it fails."""

    @property
    def buffer(self) -> IO[bytes]:
        """What bytes would go to."""
        raise OSError(errno.EBADF, "standard output is closed")

    def write(self, text: str) -> int:
        """Says that nothing can be written."""
        raise OSError(errno.EBADF, "standard output is closed")


def _piped() -> int:
    """The reader of our output has gone: nothing failed, and nothing more can be said."""
    if isinstance(sys.stdout, ClosedOutput):
        return 0
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    return 0


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _piped()
    except OSError as error:
        return _unwritten(error)
    return code


def _unwritten(error: OSError) -> int:
    note(f"error: cannot write the output: {error.strerror}")
    _piped()  # or the interpreter complains again at exit
    return 2


def _tolerate_encodings() -> None:
    """Characters that the terminal lacks are escaped instead of stopping the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


cli = LazyGroup(
    name="ckrules",
    help=HELP,
    params=_common(),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    epilog="ckrules help COMMAND shows a command's options.",
)
click.version_option(__version__, "-V", "--version", prog_name="ckrules")(cli)

"""The frame of the command line: help, near matches, exit codes, pipes and interruptions."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import ckrules
from ckrules.arch import CK_VERSIONS
from ckrules.cli.group import GROUPS, LazyGroup, about_of, cli
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.books import Books
from ckrules.support.errors import UndecidedError
from tests.cli.run import ILLEGAL, process, run
from tests.helpers.waiting import interrupted, until

ROOT = Path(__file__).parents[2]
COMMANDS = ["archs", "check", "count", "enumerate", "explain", "rules", "sample"]


def test_version_is_the_packages() -> None:
    assert run("--version").stdout == f"ckrules, version {ckrules.__version__}\n"


def test_nothing_asked_shows_the_commands_in_groups() -> None:
    result = run()
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for title in GROUPS.values():
        assert f"{title}:" in lines
    assert "Options:" not in lines


def test_every_command_is_in_a_group() -> None:
    listed = run().stdout
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    names = cli.list_commands(context)
    assert all(re.search(rf"^  {name}( |$)", listed, re.MULTILINE) for name in names)
    assert all(about_of(name)[0] in GROUPS for name in names)


def test_help_says_what_is_covered() -> None:
    said = " ".join(run("--help").stdout.split())
    books = Books()
    for book in books.every():
        for dtype in domain_of(book.fields["dtype"]).values:
            assert dtype in said
    for version in CK_VERSIONS:
        assert version in said
    for family in books.families:
        assert {"conv": "grouped", "depthwise": "depthwise"}.get(family.name, family.name) in said


def test_help_of_a_command_and_the_version() -> None:
    assert run("help", "count").stdout == run("count", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    assert "did you mean count" in run("help", "coun").stderr
    assert run("-V").stdout == run("--version").stdout


def _closed(words: str) -> subprocess.CompletedProcess[str]:
    line = f'"{sys.executable}" -m ckrules {words}'
    return subprocess.run(line, shell=True, capture_output=True, text=True)


def test_a_closed_output_is_one_line(tmp_path: Path) -> None:
    done = _closed("archs >&-")
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: standard output is closed\n"
    assert _closed(f"archs -o '{tmp_path}/gpus.json' >&-").returncode == 0
    assert (tmp_path / "gpus.json").stat().st_size > 1000
    assert (_closed("archs gfx1 2>&-").returncode, _closed("archs gfx1 2>&-").stdout) == (2, "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command_with_a_summary(flag: str) -> None:
    result = run(flag)
    assert result.exit_code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z]", result.stdout, re.MULTILINE)


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from ckrules.cli import main; main(['--help']);"
        "sys.exit(any(m.startswith('ckrules.cli.commands.') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_every_text_belongs_to_a_command() -> None:
    """A text beside no module, such as that of a command with another name now, shows nowhere."""
    home = Path(ckrules.__file__).parent / "cli" / "commands"
    for text in home.rglob("*.txt"):
        command = " ".join(text.relative_to(home).with_suffix("").parts).replace("_", "-")
        first = text.read_text(encoding="utf-8").splitlines()[0]
        assert first in run(*command.split(), "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = run(command, "-h")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")
    assert "--color" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["enumrate"], "no command 'enumrate': did you mean enumerate"),
        (["count", "--arhc", "gfx942"], "--arch"),
        (["count", "--arch", "gfx1202"], "unknown arch 'gfx1202': did you mean"),
        (["count", "--variant", "bwd_wieght"], "did you mean 'bwd_weight'"),
        (["count", "--dtype", "pf16"], "unknown dtype 'pf16': did you mean 'fp16'"),
        (["count", "--set", "tile_mm=64"], "unknown field 'tile_mm': did you mean 'tile_m'"),
        (["count", "--set", "tile_m"], "--set 'tile_m' is not of the form FIELD=VALUE"),
        (["count", "--set", "tile_m=big"], "tile_m = 'big' is not an integer"),
        (["count", "--where", "tile_mm > 3"], "unknown field 'tile_mm': did you mean tile_m"),
        (["count", "--where", "tile_m >"], "not an expression"),
        (["count", "--where", "tile_m = 64"], "compare with ==, not ="),
        (["count", "--where", "tile_m == 64 or 128"], "`tile_m == 64 or tile_m == 128` (or"),
        (["count", "--by", "pipline"], "unknown field 'pipline': did you mean 'pipeline'"),
        (["count", "--variant", "forward,forward_depthwise"], "different fields"),
        (["count", "--format", "jsn"], "unknown format 'jsn': did you mean 'json'"),
        (["count", "--ck", "2026.6"], "unknown CK version '2026.6'"),
        (["count", "--profile", "leagl"], "unknown profile 'leagl': did you mean 'legal'"),
        (["count", "--shard", "0/4"], "parts are numbered from 1 to N"),
        (["count", "--shard", "half"], "not of the form I/N"),
        (["count", "--arch", "gfx942,,gfx950"], "empty word"),
        (["count", "--arch-file", "no-such.toml"], "no-such.toml: cannot read"),
        (["enumerate", "--fields", "tile_m,lds_byte", "--format", "csv"], "'lds_bytes'"),
        (["enumerate", "--fields", "tile_m"], "--fields needs a format with columns"),
        (["enumerate", "--format", "cvs"], "unknown format 'cvs': did you mean 'csv'"),
        (["enumerate", "--limit", "-1"], "-1"),
        (["explain", "TILE01"], "did you mean 'TILE001'"),
        (["explain"], "missing argument"),
        (["rules", "--topic", "TIL"], "unknown topic 'TIL': did you mean 'TILE'"),
        (["rules", "--kind", "compil"], "unknown kind 'compil': did you mean 'compile'"),
        (["archs", "gfx1202"], "unknown arch 'gfx1202'"),
        (["check"], "missing argument"),
        (["check", ILLEGAL, "--arch", "gfx9"], "unknown arch 'gfx9'"),
    ],
)
def test_a_mistake_is_one_clear_line(words: list[str], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    "words",
    [["why", "--arch", "gfx942"], ["fix", "no-such"], ["diff", "a", "b"], ["lint"], ["cover", "x"]],
    ids=lambda words: words[0],
)
def test_an_answer_in_no_format_is_not_looked_for(words: list[str]) -> None:
    result = run(*words, "--format", "jsn")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: unknown format 'jsn': did you mean 'json'?\n"


def _break(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("ckrules.arch.load_all", fail)


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, ZeroDivisionError("division\nby zero"))
    result = run("archs")
    assert result.exit_code == 2
    said = "internal error: ZeroDivisionError: division by zero (--debug shows the traceback)\n"
    assert result.stderr == said
    assert "Traceback" in run("archs", "--debug").stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UndecidedError("the solver gave up"), 4),
        (KeyboardInterrupt(), 130),
        (MemoryError(), 2),
        (SystemExit(1), 2),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    _break(monkeypatch, error)
    assert run("archs").exit_code == code


def test_a_closed_pipe_ends_silently() -> None:
    command = [sys.executable, "-m", "ckrules", "rules", "--format", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ckrules", "archs"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def _unread(pipe: int) -> int:
    """Bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_ctrl_c_ends_with_130() -> None:
    command = [sys.executable, "-m", "ckrules", "check", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        child.stdin.write(b"# waits for more\n")
        child.stdin.flush()
        while _unread(child.stdin.fileno()):  # the command is at work when it has taken the line
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        assert interrupted(child.wait())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_no_temporary_file(number: signal.Signals, tmp_path: Path) -> None:
    """It comes twice, as from ``timeout``: to the process and to its group."""
    words = ["enumerate", "--arch", "gfx942", "--format", "jsonl", "-o", str(tmp_path / "out")]
    command = [sys.executable, "-m", "ckrules", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as child:
        until(lambda: any(p.stat().st_size for p in tmp_path.iterdir()) or child.poll() is not None)
        (part,) = tmp_path.iterdir()
        assert part.name.endswith(".part")
        child.send_signal(number)
        if number != signal.SIGINT:
            child.send_signal(number)
        assert interrupted(child.wait(), number)
        assert child.stderr is not None
        assert child.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


FINALIZER = """
class Kept: pass
kept = Kept()
watch = weakref.ref(kept, lambda _: asked())
del kept
time.sleep(60)
"""
CLEARED = """
try: asked()
except BaseException: pass
time.sleep(60)
"""
CLEANUP = """
try: asked()
finally:
    try: raise OSError
    except OSError: time.sleep(1)
    print("tidy")
"""
EXECUTED = "exec('asked()')"
ASKED = """
import os, signal, time, weakref
from ckrules.cli.interrupts import Ended, Interrupts
def asked():
    os.kill(os.getpid(), signal.{signal})
    for _ in range(10_000): pass
try:
    with Interrupts():
        exec({text!r})
except Ended as error:
    print("ended by", error.number)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("text", [FINALIZER, CLEARED, CLEANUP, EXECUTED])
def test_a_request_to_end_is_obeyed_once(text: str, number: signal.Signals) -> None:
    """Also where Python drops what is raised, where C clears it, and in code that is executed."""
    program = ASKED.format(signal=number.name, text=text)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    tidy = "tidy\n" if text == CLEANUP else ""
    assert (done.stdout, done.stderr) == (f"{tidy}ended by {int(number)}\n", "")
    assert done.returncode == 0


IN_A_CLASS = """
import os, signal, sys
from ckrules.cli import main
class Asking:
    def __set_name__(self, *_):
        os.kill(os.getpid(), signal.{signal})
        for _ in range(10_000): pass
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            class Made: part = Asking()
sys.meta_path.insert(0, Finder())
raise SystemExit(main(["archs"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["ckrules.cli.group", "ckrules.cli.commands.archs"])
def test_a_request_to_end_is_obeyed_while_a_class_is_made(
    module: str, number: signal.Signals
) -> None:
    """Python 3.11 turns it into a RuntimeError there, as in any import of cached properties."""
    program = IN_A_CLASS.format(signal=number.name, module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 128 + number)


def test_a_strange_encoding_does_not_stop_the_output() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("explain", "TILE001", env=environment)
    assert done.returncode == 0


def test_module_and_script_are_the_same_command() -> None:
    assert isinstance(cli, LazyGroup)
    assert process("--version").stdout == run("--version").stdout


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False)])
def test_colour_can_be_chosen(choice: str, coloured: bool) -> None:
    before = run("--color", choice, "check", "--arch", "gfx942", ILLEGAL).stdout
    after = run("check", "--color", choice, "--arch", "gfx942", ILLEGAL).stdout
    assert before == after
    assert ("\x1b[" in after) is coloured


def test_colour_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("check", "--arch", "gfx942", ILLEGAL).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("check", "--arch", "gfx942", ILLEGAL).stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ckrules count --format js", ["json", "jsonl"]),
        ("ckrules enumerate --stage l", ["legal", "listed"]),
        ("ckrules rules --kind w", ["wrong-result"]),
        ("ckrules check --input-format re", ["registry"]),
        ("ckrules lint --select LINT001,LINT007", ["LINT001,LINT007"]),
        ("ckrules cache c", ["clear"]),
        ("ckrules count --set pipel", ["pipeline="]),
        ("ckrules count --set scheduler=int", ["scheduler=interwave", "scheduler=intrawave"]),
        ("ckrules count --by tile_m,lds_by", ["tile_m,lds_bytes"]),
        ("ckrules count --catalog full", ["full", "full-tests"]),
        ("ckrules check --arch gfx942,gfx115", [f"gfx942,gfx115{n}" for n in "012"]),
    ],
)
def test_known_words_are_completed(
    words: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.shell_completion import ShellComplete

    head, _, last = words.rpartition(" ")
    found = ShellComplete(cli, {}, "ckrules", "_CKRULES_COMPLETE")
    assert sorted(c.value for c in found.get_completions(head.split()[1:], last)) == offered

"""The command: what its options select, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from ckrules.explore import serving
from ckrules.explore.choice import FieldChoice
from ckrules.explore.site import Site
from ckrules.explore.subject import Subject
from tests.cli.run import run
from tests.cli.test_selection import BASE, CHANGES
from tests.explore.client import TOKEN, total

pytestmark = pytest.mark.whole

SMALL = ("--variant", "forward_depthwise", "--arch", "gfx942", "--dtype", "fp16")


@contextmanager
def served(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process of its own, and the address that it prints."""
    command = [sys.executable, "-m", "ckrules", "explore", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_it_serves_until_it_is_interrupted_and_goes_on_at_the_same_address() -> None:
    port = "0"
    for _ in range(2):
        with served(*SMALL, "--port", port, "--token", TOKEN) as (address, process):
            assert address.startswith("http://127.0.0.1:")
            assert address.endswith(f"/?token={TOKEN}")
            port = address.split(":")[2].split("/")[0]
            with httpx2.Client() as browser:
                browser.cookies.set(f"ckrules_{port}", TOKEN)  # what it kept from before
                kept = f"http://127.0.0.1:{port}/?stride_h=1&filter=3"
                page = browser.get(kept)
                counted = run("count", *SMALL, "--set", "stride_h=1", "--set", "filter=3")
                assert total(page.text) == int(counted.stdout)
            os.killpg(process.pid, signal.SIGINT)  # as the terminal does
            out, err = process.communicate()
            assert (process.returncode, out, err) == (0, "", "Ctrl-C ends it\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_as_they_end_every_command(number: signal.Signals) -> None:
    with served(*SMALL) as (address, process):
        assert address
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode == 128 + number
        assert err in ("Ctrl-C ends it\n", "")  # which is said behind the address


def test_only_this_machine_reaches_it() -> None:
    with served(*SMALL) as (address, _):
        port = int(address.split(":")[2].split("/")[0])
        with socket.socket() as other:
            other.settimeout(600)  # 127.0.0.2 is this machine too, but not the page's address
            with pytest.raises(ConnectionRefusedError):
                other.connect(("127.0.0.2", port))


def test_tokens_are_new_each_time() -> None:
    assert serving.new_token() != serving.new_token()
    assert len(serving.new_token()) >= 32


def test_a_port_that_is_taken_is_said() -> None:
    with serving.listening(0) as place:
        port = place.getsockname()[1]
        result = run("explore", *SMALL, "--port", str(port))
    assert result.exit_code == 2
    assert result.stderr == f"error: cannot serve at port {port}: Address already in use\n"


@pytest.mark.parametrize("token", ["short", "x" * 300, "sixteen letters&more", "ä" * 20])
def test_tokens_that_are_no_tokens(token: str) -> None:
    result = run("explore", *SMALL, "--token", token)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "16 to 200 letters" in result.stderr


def test_results_that_are_not_there_are_said() -> None:
    result = run("explore", *SMALL, "--results", "nowhere")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("option", ["", *CHANGES])
def test_every_option_that_selects_counts(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has as many kernels as ``count`` with the same words, or both refuse them."""
    seen: list[Subject] = []
    monkeypatch.setattr(serving, "serve", lambda site, *_: seen.append(site.subject({})))
    words = []
    for name, value in {**BASE, **CHANGES.get(option, {})}.items():
        words += [
            w for v in (value.split() if name == "--set" else [value]) for w in (name, v) if w
        ]
    counted, result = run("count", *words), run("explore", *words)
    assert result.exit_code == counted.exit_code, result.stderr
    if counted.exit_code:
        assert result.stderr == counted.stderr
    else:
        assert seen[0].counted(FieldChoice()).total == int(counted.stdout)


def test_a_catalog_is_counted_by_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels are listed: a relation over all fields does not compile as a whole."""
    seen: list[Subject] = []
    monkeypatch.setattr(serving, "serve", lambda site, *_: seen.append(site.subject({})))
    words = ("--catalog", "recommended", "--arch", "gfx942", "--variant", "bwd_weight")
    result = run("explore", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    listed = run("enumerate", *words, "--format", "jsonl").stdout.splitlines()
    points = [json.loads(line) for line in listed]
    counted = seen[0].counted(FieldChoice({"pipeline": ("compv3",)}))
    assert counted.total == sum(p["pipeline"] == "compv3" for p in points) > 0
    tiles = {m: n for m, n in counted.by["tile_m"].items() if n}
    assert tiles == Counter(p["tile_m"] for p in points if p["pipeline"] == "compv3")


def test_what_was_asked_for_is_where_the_page_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other GPUs, types, releases and families are made as the same options would."""
    seen: list[Site] = []
    monkeypatch.setattr(serving, "serve", lambda site, *_: seen.append(site))
    assert run("explore", *SMALL, "--where", "stride_h == 1").exit_code == 0
    (site,) = seen
    assert site.scope == {
        "variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ck": "2026.09",
    }  # fmt: skip
    other = site.subject({"arch": "gfx90a", "dtype": "bf16"})
    words = ("--variant", "forward_depthwise", "--arch", "gfx90a", "--dtype", "bf16")
    counted = run("count", *words, "--where", "stride_h == 1")
    assert other.space.count() == int(counted.stdout)
    assert other.title == "forward_depthwise on gfx90a, bf16, stride_h == 1"
    site.close()


def test_without_a_web_server_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith(("ckrules.explore", "starlette"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    result = run("explore", *SMALL)
    assert result.exit_code == 2
    assert result.stderr == "error: the page needs a web server: pip install 'ckrules[explore]'\n"

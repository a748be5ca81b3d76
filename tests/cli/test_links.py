"""Codes that are links on a terminal, where a setting says to which pages."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[2]

BAD = (
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    "_64x64x64_2x2x1_32x32x16_vec24_8_8"
)
TILE = "\x1b]8;;https://ck.example/rules/VEC001.html\x1b\\VEC001\x1b]8;;\x1b\\"


def on_terminal(folder: Path, *words: str, **more: str) -> str:
    """What a command writes to a terminal."""
    leader, follower = pty.openpty()
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    environment = {**plain, "TERM": "xterm", "PYTHONPATH": str(ROOT), **more}
    child = subprocess.Popen(
        [sys.executable, "-m", "ckrules", *words], cwd=folder, stdout=follower,
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the child has gone
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    child.wait()
    return seen.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose settings say where the pages are."""
    (tmp_path / "ckrules.toml").write_text('docs-url = "https://ck.example/{page}.html"\n')
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--arch", "gfx942", BAD),
        ("check", "--format", "concise", "--arch", "gfx942", BAD),
        ("explain", "VEC001"),
    ],
)
def test_codes_are_links(folder: Path, words: tuple[str, ...]) -> None:
    assert TILE in on_terminal(folder, *words)


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--color", "never", "check", "--arch", "gfx942", BAD), {}),
        (("check", "--arch", "gfx942", BAD), {"NO_COLOR": "1"}),
        (("explain", "VEC001"), {"NO_COLOR": "1"}),
        (("explain", "tile_k"), {}),
        (("check", "--format", "json", "--arch", "gfx942", BAD), {}),
    ],
)
def test_nothing_is_a_link_that_should_not_be(
    folder: Path, words: tuple[str, ...], more: dict[str, str]
) -> None:
    found = on_terminal(folder, *words, **more)
    assert "VEC001" in found or "tile_k" in found
    assert "\x1b]8" not in found


def test_without_a_setting_or_a_terminal_there_are_no_links(folder: Path, tmp_path: Path) -> None:
    (folder / "ckrules.toml").unlink()
    assert "\x1b]8" not in on_terminal(folder, "check", "--arch", "gfx942", BAD)
    (folder / "ckrules.toml").write_text('docs-url = "https://ck.example/{page}.html"\n')
    piped = subprocess.run(
        [sys.executable, "-m", "ckrules", "--color", "always", "check", "--arch", "gfx942", BAD],
        cwd=folder,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert "VEC001" in piped.stdout
    assert "\x1b]8" not in piped.stdout

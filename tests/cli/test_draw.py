"""`ckrules draw` as pictures: files that the page of a kernel shows, too."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.run import run

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_2x2x1_32x32x16_vec8_8_8"
WORDS = ("draw", "--arch", "gfx942", "--ck", "2025.11", NAME)


@pytest.mark.parametrize(("kind", "says"), [(None, "C: 64 x 64"), ("lds-a", "bank of the first")])
def test_a_picture_is_written(kind: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    found = run(*WORDS, "-o", str(file), *(("--of", kind) if kind else ()))
    assert found.exit_code == 0, found.stderr
    svg = file.read_text(encoding="utf-8")
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert says in svg
    assert "prefers-color-scheme: dark" in svg


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--of", "lds-a"), "--of is for pictures: give -o FILE.svg or --format svg"),
        (("--format", "svg", NAME.replace("64x64x64", "128x64x64")), "an SVG shows one kernel"),
        (("--format", "svg", "--of", "lds-c"), "lds-c"),
        (("-o", "x.svgg"), "did you mean .svg"),
    ],
)
def test_what_cannot_be_drawn_is_said(more: tuple[str, ...], said: str) -> None:
    found = run(*WORDS, *more)
    assert found.exit_code == 2
    assert said in found.stderr

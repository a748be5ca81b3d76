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


FORWARD = (
    "fmha_fwd_d128_fp16_batch_b128x64x32x128x16x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16"
    "_qr_async_trload_vr_pddv_nlogits_nbias_nmask_lse_ndropout_nskip_nsquant_trload"
)


def test_both_products_of_attention_are_drawn(tmp_path: Path) -> None:
    """Side by side in one scale: S is half as wide as O, and as high."""
    file = tmp_path / "x.svg"
    found = run("draw", "--arch", "gfx950", "--ck", "2025.11", FORWARD, "-o", str(file))
    assert found.exit_code == 0, found.stderr
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    name = "{http://www.w3.org/2000/svg}"
    texts = {t.text: t for t in root.iter(f"{name}text")}
    assert {"S = Q Kᵀ", "Q: 128 x 32", "Kᵀ: 32 x 64", "S: 128 x 64"} <= set(texts)
    assert {"O = P V", "P: 128 x 16", "V: 16 x 128", "O: 128 x 128"} <= set(texts)
    cells: dict[str, list[ET.Element]] = {}
    for rect in root.iter(f"{name}rect"):
        title = rect.findtext(f"{name}title") or ""
        cells.setdefault(title.partition(":")[0], []).append(rect)
    assert {k: len(v) for k, v in cells.items()} == {
        "Q": 8, "Kᵀ": 4, "S": 8, "P": 4, "V": 4, "O": 16,
    }  # fmt: skip
    sizes = {(r.get("width"), r.get("height")) for r in (*cells["S"], *cells["O"])}
    assert len(sizes) == 1, "warp tiles of 32 x 32 in both"
    width = float(root.get("width") or 0)
    assert all(float(t.get("x") or 0) < width for t in texts.values())


def test_attention_in_words() -> None:
    found = run("draw", "--arch", "gfx950", "--ck", "2025.11", FORWARD)
    assert found.exit_code == 0, found.stderr
    said = found.stdout.splitlines()
    assert said[1:3] == [
        "S = Q Kᵀ", "block tile 128 x 64 (seqlen_q x seqlen_k), 32 of hdim at a time",
    ]  # fmt: skip
    assert "seqlen_q hdim_v  0 32 64 96" in said
    assert "each wave: 1 x 4 warp tiles of O, 1 along seqlen_k: 4 warp GEMMs a block tile" in said


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

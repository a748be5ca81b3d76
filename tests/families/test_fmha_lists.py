"""What upstream's generator of attention lists, name by name, and names both ways.

``data/fmha_2025_11.json.gz`` has the lists that example/ck_tile/01_fmha/generate.py of CK 2025.11
writes for two GPUs, by direction and receipt; ``same_as`` names an equal list. Of further receipts
and of gfx950 ``data/fmha_2025_11_digests.json`` has how many names they have, and their hash.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.kernels.families import family_of
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name, styled_name

DATA = Path(__file__).parent.parent / "data" / "fmha_2025_11.json.gz"
DIGESTS: dict[str, list[int | str]] = json.loads(
    (DATA.parent / "fmha_2025_11_digests.json").read_text()
)
VARIANTS = {
    "fwd": ("fmha_fwd",),
    "fwd_splitkv": ("fmha_fwd_splitkv", "fmha_fwd_splitkv_combine"),
    "fwd_appendkv": ("fmha_fwd_appendkv",),
    "pagedkv_prefill": ("fmha_fwd_pagedkv",),
    "batch_prefill": ("fmha_batch_prefill",),
    "bwd": ("fmha_bwd", "fmha_bwd_dot_do_o", "fmha_bwd_convert_dq"),
}


@cache
def _lists() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(DATA.read_bytes()))
    return found


def _names(key: str) -> set[str]:
    entry = _lists()[key]
    if "same_as" in entry:
        return _names(entry["same_as"])
    return {n for n in entry["names"] if not n.endswith("_api")}


@cache
def _book(variant: str, profile: str) -> Any:
    return book(variant, ck="2025.11", profile=profile)


def _listed(gpu: str, direction: str, receipt: str) -> set[str]:
    return {
        styled_name(point, "generator")
        for variant in VARIANTS[direction]
        for point in _book(variant, f"receipt_{receipt}").space(variant=variant, arch=gpu)
    }


@pytest.mark.parametrize("gpu", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("direction", VARIANTS)
def test_every_list_is_reproduced(gpu: str, direction: str) -> None:
    keys = [k for k in _lists() if k.startswith(f"{gpu}/{direction}/")]
    assert len(keys) == 9
    for key in keys:
        assert _listed(*key.split("/")) == _names(key), key


@pytest.mark.parametrize("gpu", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("direction", VARIANTS)
def test_every_further_list_has_the_digest(gpu: str, direction: str) -> None:
    keys = [k for k in DIGESTS if k.startswith(f"{gpu}/{direction}/")]
    assert len(keys) == (13 if gpu == "gfx950" else 4)
    for key in keys:
        names = sorted(_listed(*key.split("/")))
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        assert [len(names), digest] == DIGESTS[key], key


@pytest.mark.parametrize("direction", [d for d in VARIANTS if d != "batch_prefill"])
def test_other_targets_are_refused(direction: str) -> None:
    assert not _listed("gfx1100", direction, "0")


def test_batch_prefill_does_not_ask_for_the_target() -> None:
    assert _listed("gfx1100", "batch_prefill", "0") == _names("gfx942/batch_prefill/0")


def test_target_names_the_gpus_of_a_direction() -> None:
    fwd, split = _listed("gfx950", "fwd", "0"), _listed("gfx950", "fwd_splitkv", "0")
    assert {n.rsplit("_", 1)[1] for n in fwd} == {"gfx950"}
    assert {n.rsplit("_", 1)[1] for n in split} == {"gfx9"}
    assert any("qr_async_trload" in n for n in fwd)


def test_names_are_read_and_written() -> None:
    names = {n for key in _lists() if "same_as" not in _lists()[key] for n in _names(key)}
    assert len(names) > 16000
    for name in names:
        parsed = parse_name(name)
        assert format_name(parsed.point, parsed.spelling) == name
        gpu = {"gfx9": "gfx942", "gfx12": "gfx1201"}.get(name.rsplit("_", 1)[1], "gfx942")
        assert styled_name({**parsed.point, "arch": gpu}, "generator") == name


@pytest.mark.parametrize("variant", [v for found in VARIANTS.values() for v in found])
def test_a_name_says_every_field(variant: str) -> None:
    rules = _book(variant, "receipt_0")
    for point in rules.space(variant=variant, arch="gfx950").sample(20, seed=3):
        parsed = parse_name(format_name(point)).point
        assert {**parsed, "arch": "gfx950"} == point
        assert family_of(variant).naming is not None


@pytest.mark.parametrize("variant", [v for found in VARIANTS.values() for v in found])
def test_names_of_legal_kernels_are_read(variant: str) -> None:
    """Also of those without a launch bound, and without rows of Q, which no list has."""
    for point in (
        book(variant, ck="2025.11").space(variant=variant, arch="gfx950").sample(60, seed=5)
    ):
        name = format_name(point)
        assert name.isidentifier()
        assert {**parse_name(name).point, "arch": "gfx950"} == point


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("fmha_fwd_d128_fp17_batch_b1", 15, "dtype"),
        ("fmha_bwd_d128_fp16_batch_b1x2", 30, "'x'"),
        ("fmha_fwd_appendkv_d128_bf16_b64x64x128x128_vr_pqq", 46, "the end"),
    ],
)
def test_faults_in_names_have_a_column(text: str, column: int, expected: str) -> None:
    with pytest.raises(KernelNameError) as caught:
        parse_name(text)
    assert caught.value.column == column
    assert expected in caught.value.expected

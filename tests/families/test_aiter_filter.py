"""The filter in front of aiter's generators."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckrules.compat.aiter import buildable, reasons
from ckrules.support.errors import CkrulesError

DATA = Path(__file__).parent.parent / "data" / "aiter" / "configurations.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text().splitlines()]


def _instance(row: dict[str, Any], **other: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**row["fields"], "name": row["name"], **other})


def test_every_instance_that_aiter_ships_is_kept() -> None:
    for row in ROWS:
        for gpu in (g for g in row["gpus"] if g.startswith("gfx")):
            dtype = {} if row["family"] != "moe_2stages" else {"list_name": row["list"]}
            assert reasons(_instance(row), gpu, **dtype) == [], row["name"]


def test_one_candidate_does_not_end_the_build_of_all() -> None:
    """ROCm/aiter#5265: 256x256x512 on gfx950 needs 262,144 bytes of LDS."""
    rows = [r for r in ROWS if r["list"] == "kernels_list_950"]
    kernels = {i: _instance(r) for i, r in enumerate(rows[:37])}
    kernels[37] = _instance(rows[0], MTile=256, NTile=256, KTile=512, name="the 38th")
    said: list[str] = []
    kept = buildable(kernels, "gfx950", report=said.append)
    assert list(kept) == list(range(37))
    (line,) = said
    assert line.startswith("the 38th is left out: LDS001: ")
    assert line.endswith("= 262144 bytes, more than the 163840 of gfx950")
    assert buildable(list(kernels.values()), "gfx950", report=said.append) == list(kept.values())


@pytest.mark.parametrize("gpus", ["", ";", " , ", None, ["gfx942"]])
def test_no_gpu_is_an_error(gpus: Any) -> None:
    """An empty ``GPU_ARCHS`` let every instance through; one that is not set was a traceback."""
    with pytest.raises(CkrulesError, match="names no GPU"):
        reasons(_instance(ROWS[0]), gpus)


def test_several_gpus_want_a_kernel_that_is_right_on_all() -> None:
    row = next(r for r in ROWS if r["list"] == "kernels_list_950" and r["fields"]["KWTile"] == 128)
    assert reasons(_instance(row), "gfx950") == []
    found = reasons(_instance(row), "gfx942;gfx950")
    assert found
    assert found == reasons(_instance(row), "MI300X")


def test_instances_of_the_same_fields_are_told_apart_by_their_names() -> None:
    """EPI011 refuses eight waves with scales of rows and columns, and block scales have them."""
    row = next(r for r in ROWS if r["family"] == "a8w8_blockscale")
    waves = {"M_Warp": 4, "N_Warp": 2, "M_Tile": 192, "N_Tile": 256, "K_Warp_Tile": 128}
    other = _instance(
        row, **waves, name="a8w8_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_2"
    )
    (said,) = reasons(other, "gfx950")
    assert said.startswith("EPI011: ")
    assert not any("EPI011" in why for why in reasons(_instance(row, **waves), "gfx950"))


def test_a_hundred_instances_take_milliseconds_each() -> None:
    rows = [r for r in ROWS if r["family"] == "a8w8_bpreshuffle"][:100]
    kernels = [_instance(r) for r in rows]
    buildable(kernels[:1], "gfx942")
    begin = time.process_time()
    buildable(kernels, "gfx942", report=lambda _: None)
    assert (time.process_time() - begin) / len(kernels) < 0.01


@pytest.mark.parametrize(
    ("kernel", "gpu", "said"),
    [
        (SimpleNamespace(a=1), "gfx942", "SimpleNamespace is not an instance of aiter's"),
        (_instance(ROWS[0]), "gfx9999", "gfx9999"),
        (_instance(next(r for r in ROWS if r["family"] == "moe_2stages")), "gfx942", "name dtype"),
    ],
)
def test_what_cannot_be_asked(kernel: object, gpu: str, said: str) -> None:
    with pytest.raises(CkrulesError, match=said):
        reasons(kernel, gpu)


def test_what_the_rules_do_not_describe_is_left_alone() -> None:
    row = next(r for r in ROWS if r["family"] == "a8w8_bpreshuffle")
    sparse = _instance(row, sUseStructuredSparsity=1, KTile=4096)
    assert reasons(sparse, "gfx942") == []
    assert reasons(_instance(row, MTile="wide"), "gfx942")[0].startswith("tile_m")

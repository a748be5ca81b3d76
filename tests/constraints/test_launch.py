"""Launch bounds: a field that only who asks for it opens, and what the compiler makes of bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.kernels.names import format_name, parse_name
from tests.cli.run import legal, run

FORWARD = book("forward")
BASE = FORWARD.vocabulary.baseline

BOUNDS = (8, 9, 10, 11)
#: VGPRs (gfx908: and as many AccVGPRs) of a kernel with 300 live values by waves of a SIMD
#: (amdgpu_waves_per_eu), compiled with clang 19 at -O2.
MEASURED = {
    "gfx90a": {2: 256, 3: 168, 4: 128, 8: 64},
    "gfx908": {2: 2 * 128, 3: 2 * 84, 4: 2 * 64, 8: 2 * 32, 9: 2 * 28},
    "gfx942": {1: 512, 2: 256, 3: 168, 4: 128, 8: 64},
    "gfx1100": {1: 256, 4: 256, 8: 192, 9: 168, 16: 96},
    "gfx1201": {1: 256, 4: 256, 8: 192, 9: 168, 16: 96},
}


def quantity(name: str, **fields: Any) -> Any:
    return FORWARD.resources({**BASE, **fields}, [name])[name]


@pytest.mark.parametrize("gpu", MEASURED)
def test_registers_under_a_bound_are_the_compilers(gpu: str) -> None:
    for blocks, registers in MEASURED[gpu].items():
        assert quantity("bound_vgprs", arch=gpu, block_per_cu=blocks) == registers, blocks


@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
def test_four_simds_of_rdna_share_the_lds_of_two_compute_units(gpu: str) -> None:
    """Clang 22 keeps a bound of 10 with 24 KB in 8 waves, and drops one of 11."""
    kernel: dict[str, Any] = {
        "arch": gpu, "tile_m": 128, "tile_n": 64, "wave_m": 4, "wave_n": 2, "warp_tile_m": 16,
        "warp_tile_n": 16,
    }  # fmt: skip
    assert quantity("lds_bytes", **kernel) == 24576
    assert quantity("shared_lds", **kernel) == 131072
    fits = {n: quantity("bound_blocks", **kernel, block_per_cu=n) * 24576 <= 131072 for n in BOUNDS}
    assert fits == {8: True, 9: True, 10: True, 11: False}
    strict = book("forward", profile="fast")
    told = {
        n: [v.code for v in strict.violations({**BASE, **kernel, "block_per_cu": n})]
        for n in BOUNDS
    }
    assert told == {8: [], 9: [], 10: [], 11: ["HW005"]}


def test_waves_of_a_block_are_dealt_out_unevenly() -> None:
    """Clang 22 keeps a bound of 8 for gfx950 with 30 KB in 6 waves: a SIMD has 8 of five blocks."""
    kernel: dict[str, Any] = {
        "arch": "gfx950", "tile_m": 96, "tile_n": 64, "tile_k": 96, "wave_m": 6, "wave_n": 1,
        "warp_tile_m": 16, "warp_tile_n": 16, "block_per_cu": 8,
    }  # fmt: skip
    assert quantity("lds_bytes", **kernel) == 30720
    assert quantity("bound_blocks", **kernel) == 5
    assert quantity("bound_blocks", **{**kernel, "wave_m": 1, "block_per_cu": 2}) == 5


@pytest.mark.parametrize(
    ("pipeline", "double", "blocks"),
    [("mem", False, 2), ("compv3", True, 1), ("compv4", True, 1), ("comp_async", False, 1),
     ("wavelet", True, 2), ("basic_v1", True, 2), ("compv6", False, 2)],
)  # fmt: skip
def test_upstreams_choice_and_another(pipeline: str, double: bool, blocks: int) -> None:
    fields = {"pipeline": pipeline, "double_smem_buffer": double}
    assert quantity("launch_blocks", **fields) == blocks
    assert quantity("launch_blocks", **fields, block_per_cu=5) == 5


def test_counts_are_those_of_upstreams_choice() -> None:
    small = ("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "2",
             "--set", "tile_m=64", "--set", "pipeline=compv4")  # fmt: skip
    once = int(run("count", *small).stdout)
    assert once > 0
    assert int(run("count", *small, "--set", "block_per_cu=0,2,4").stdout) == 3 * once
    fast = int(run("count", *small, "--profile", "fast").stdout)
    held = int(run("count", *small, "--profile", "fast", "--set", "block_per_cu=4").stdout)
    assert 0 < held < fast


def test_it_may_be_left_out() -> None:
    without = {k: v for k, v in BASE.items() if k != "block_per_cu"}
    assert FORWARD.violations(without) == []
    assert without in FORWARD.space(variant="forward", arch="gfx942", dtype="fp16")
    assert json.loads(run("fix", json.dumps(legal()), "--format", "json").stdout)["fixes"]


def test_names_say_a_bound_that_is_asked_for() -> None:
    name = format_name(dict(BASE))
    assert "_bpc" not in name
    assert "block_per_cu" not in parse_name(name).point
    bound = format_name({**BASE, "block_per_cu": 4})
    assert bound == f"{name}_bpc4"
    assert parse_name(bound).point["block_per_cu"] == 4
    result = run("check", "--arch", "gfx942", f"{name}_bpc3")
    assert result.exit_code == 0
    assert ": HW005 performance (warning): block_per_cu = 3 limits registers" in result.stdout


def test_kernels_have_the_bound(tmp_path: Path) -> None:
    """Two kernels that differ in it alone are two, each with its own bound."""
    rows = "".join(json.dumps(legal(block_per_cu=n)) + "\n" for n in (0, 4))
    done = run("generate", "-", "-o", str(tmp_path), "--ck", "2025.11", "-q", stdin=rows)
    assert done.exit_code == 0, done.output
    found = {p.stem[-5:]: p.read_text() for p in tmp_path.glob("grouped_conv_fwd_*.hpp")}
    bounds = {k: text.split("kBlockPerCu           = ")[1][0] for k, text in found.items()}
    assert bounds == {"8_8_8": "2", "_bpc4": "4"}


@pytest.mark.parametrize("value", [17, -1, True, "two"])
def test_what_is_no_bound(value: object) -> None:
    result = run("check", json.dumps(legal(block_per_cu=value)))
    assert (result.exit_code, "block_per_cu" in result.stderr) == (2, True)

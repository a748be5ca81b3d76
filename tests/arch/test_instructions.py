"""The stored table of matrix instructions is what clang 19 makes of the CK headers.

``python tests/arch/test_instructions.py`` compiles every entry again (some minutes) and
writes ``data/instructions_2025_11.json``; the test does it for a few telling ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
TABLE = DATA / "instructions_2025_11.json"
CACHE = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
TREE = Path(os.environ.get("CKRULES_TOOLCHAIN") or Path(CACHE, "ckrules", "toolchain"))
INCLUDE = TREE / "ck-2025.11" / "include"
CPP = {"fp16": "half_t", "fp32": "float"}  # other dtypes add _t to their name
MATRIX = re.compile(r"\bv_(?:s?mfma|wmma)\w*")

Entry = list[Any]


def assembly(gpu: str, entry: Entry) -> str | None:
    """The device assembly of one entry, None if it does not compile."""
    names = ("A", "B", "ACC", "M", "N", "K")
    values = [CPP.get(v, f"{v}_t") if isinstance(v, str) else v for v in entry]
    command = [
        *("clang-19", "-x", "hip", "--cuda-device-only", f"--offload-arch={gpu}", "-nogpulib"),
        *("-std=c++20", f"-I{INCLUDE}", "--rocm-path=/usr", "-D__HIP_PLATFORM_AMD__", "-w", "-O1"),
        *("-fconstexpr-steps=100000000", "-fbracket-depth=1024", "-S", "-o", "-"),
        *(f"-DPROBE_{name}={value}" for name, value in zip(names, values, strict=True)),
        str(DATA / "warp_tile_probe.cpp"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else None


def instructions(text: str | None) -> list[Any]:
    """How many matrix instructions an assembly holds and which; ``[]`` for none."""
    found = Counter(MATRIX.findall(text or ""))
    assert len(found) <= 1, found
    return next([count, name] for name, count in found.items()) if found else []


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("gpu", "entry"),
    [
        ("gfx942", ["fp16", "fp16", "fp32", 32, 32, 16]),
        ("gfx908", ["bf16", "bf16", "fp32", 32, 32, 8]),
        ("gfx90a", ["fp8", "fp8", "fp32", 32, 32, 16]),
        ("gfx90a", ["int8", "int8", "int32", 16, 16, 32]),
        ("gfx1201", ["fp16", "fp16", "fp32", 16, 16, 16]),
        ("gfx1201", ["fp16", "fp16", "fp32", 16, 16, 32]),
    ],
)
def test_the_stored_table(gpu: str, entry: Entry) -> None:
    if shutil.which("clang-19") is None or not INCLUDE.is_dir():
        pytest.skip("no toolchain (make toolchain)")
    stored = json.loads(TABLE.read_text())["gpus"][gpu]
    text = assembly(gpu, entry)
    assert text is not None
    assert instructions(text) == stored.get(" ".join(map(str, entry)), [])


@pytest.mark.toolchain
@pytest.mark.parametrize("gpu", ["gfx908", "gfx90a"])
def test_int8_keeps_floating_point_bits_in_its_accumulators(gpu: str) -> None:
    """Why these GPUs have no int8 warp tile although the header has a body for 32x32x16."""
    if shutil.which("clang-19") is None or not INCLUDE.is_dir():
        pytest.skip("no toolchain (make toolchain)")
    text = assembly(gpu, ["int8", "int8", "int32", 32, 32, 16])
    assert instructions(text) == [8, "v_mfma_f32_32x32x2f32"]
    assert text is not None
    assert "v_cvt_f32_i32" in text  # on the way in
    assert "v_cvt_i32_f32" not in text  # but not on the way out


def write_table() -> None:
    """Compile every entry for every GPU of the stored table and write it anew."""
    table = json.loads(TABLE.read_text())
    jobs = [(gpu, entry) for gpu in table["gpus"] for entry in table["entries"]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda job: instructions(assembly(*job)), jobs))
    for gpu in table["gpus"]:
        table["gpus"][gpu] = {}
    for (gpu, entry), value in zip(jobs, found, strict=True):
        if value:
            table["gpus"][gpu][" ".join(map(str, entry))] = value
    TABLE.write_text(render(table))


def render(table: dict[str, Any]) -> str:
    """The table as JSON with one entry a line."""

    def block(lines: list[str], indent: str) -> str:
        return ",\n".join(indent + line for line in lines)

    gpus = [
        f'"{gpu}": {{\n'
        + block([f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()], "      ")
        + "\n    }"
        for gpu, found in table["gpus"].items()
    ]
    entries = block([json.dumps(entry) for entry in table["entries"]], "    ")
    return (
        f'{{\n  "_about": {json.dumps(table["_about"])},\n  "entries": [\n{entries}\n  ],\n'
        f'  "gpus": {{\n{block(gpus, "    ")}\n  }}\n}}\n'
    )


def test_the_table_is_written_as_rendered() -> None:
    assert render(json.loads(TABLE.read_text())) == TABLE.read_text()


if __name__ == "__main__":
    write_table()

"""The stored table of matrix instructions is what clang makes of the CK headers.

``python -m tests.arch.test_instructions [GPU…]`` compiles every entry again (some minutes a GPU)
and writes ``data/instructions_2025_11.json``; the test does it for a few telling ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling import toolchain
from ckrules.compiling.compilers import COMPILERS, GAPS

DATA = Path(__file__).parent / "data"
TABLE = DATA / "instructions_2025_11.json"
INCLUDE = toolchain.root() / "ck-2025.11" / "include"
CPP = {"fp16": "half_t", "fp32": "float"}  # other dtypes add _t to their name
MATRIX = re.compile(r"\bv_(?:s?mfma|wmma)\w*")

Entry = list[Any]


def assembly(gpu: str, entry: Entry) -> str | None:
    """The device assembly of one entry, None if it does not compile."""
    names = ("A", "B", "ACC", "M", "N", "K")
    values = [CPP.get(v, f"{v}_t") if isinstance(v, str) else v for v in entry]
    compiler = toolchain.find_compiler(arch=gpu)
    assert not isinstance(compiler, toolchain.Missing)
    gaps = ["-include", str(GAPS)] if COMPILERS[compiler[0]].gaps else []
    command = [
        *(
            str(compiler[1]),
            *gaps,
            "-x",
            "hip",
            "--cuda-device-only",
            f"--offload-arch={gpu}",
            "-nogpulib",
        ),
        *("-nogpulib", "-std=c++20", f"-I{INCLUDE}", "--rocm-path=/usr"),
        *("-D__HIP_PLATFORM_AMD__", "-w", "-O1"),
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
        ("gfx1201", ["fp16", "fp16", "fp32", 16, 16, 32]),
        *(
            pytest.param(*each, marks=pytest.mark.certify)
            for each in (
                ("gfx908", ["bf16", "bf16", "fp32", 32, 32, 8]),
                ("gfx90a", ["fp8", "fp8", "fp32", 32, 32, 16]),
                ("gfx90a", ["int8", "int8", "int32", 16, 16, 32]),
                ("gfx1201", ["fp16", "fp16", "fp32", 16, 16, 16]),
                ("gfx950", ["fp16", "fp16", "fp32", 16, 16, 32]),
            )
        ),
    ],
)
@pytest.mark.whole
def test_the_stored_table(gpu: str, entry: Entry) -> None:
    if isinstance(toolchain.find_compiler(arch=gpu), toolchain.Missing) or not INCLUDE.is_dir():
        pytest.skip("no toolchain (make toolchain)")
    stored = json.loads(TABLE.read_text())["gpus"][gpu]
    text = assembly(gpu, entry)
    assert text is not None
    assert instructions(text) == stored.get(" ".join(map(str, entry)), [])


@pytest.mark.toolchain
@pytest.mark.certify
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


def write_table(gpus: Sequence[str], jobs_at_once: int | None) -> None:
    """Compile every entry for some GPUs, or those of the stored table, and write them again."""
    table = json.loads(TABLE.read_text())
    gpus = gpus or list(table["gpus"])
    jobs = [(gpu, entry) for gpu in gpus for entry in table["entries"]]
    with ThreadPoolExecutor(jobs_at_once or os.cpu_count()) as pool:
        found = list(pool.map(lambda job: instructions(assembly(*job)), jobs))
    for gpu in gpus:
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
    write_table(sys.argv[1:], int(os.environ.get("JOBS", "0")) or None)

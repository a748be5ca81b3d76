"""How long ``ckrules check`` takes as a whole process, and how much memory a large file needs.

python benchmarks/check.py [MEGABYTES [NAMES]]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RUNS = 5
LEGAL: dict[str, Any] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2,
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3",
    "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 8, "vector_b": 8, "vector_c": 8,
}  # fmt: skip


def kernel(i: int) -> dict[str, Any]:
    """The i-th configuration; about a fifth breaks a rule."""
    return LEGAL | {
        "tile_m": (64, 128, 256, 96)[i % 4], "tile_n": 64 << i // 4 % 2,
        "vector_a": 1 << i // 8 % 4, "vector_b": 1 << i // 32 % 4, "vector_c": 1 << i // 128 % 4,
        "specialization": ("default", "filter1x1_pad0")[i // 512 % 2],
    }  # fmt: skip


def name(i: int) -> str:
    """The i-th kernel name, each another; about nine in ten break a rule."""
    tile = "x".join(str((96, 64, 80, 112, 128, 48, 160)[i // 7**k % 7]) for k in range(3))
    i //= 7**3
    vector = "_".join(str(1 << i // 4**k % 4) for k in range(3))
    flags = f"_gm{2 + i // 64 % 63}"
    head = f"grouped_conv_bwd_weight_fp16_nhwgc_2d_{('compv3', 'mem')[i // 4032 % 2]}"
    tail = "32x32x8" if i // 8064 % 2 else "16x16x16"
    return f"{head}_cshuffle_intrawave_{tile}_2x2x1_{tail}_vec{vector}{flags}"


def measured(*words: str) -> tuple[float, float, float]:
    """Wall time and processor time of the quickest run, and the largest memory in MB."""
    wall, cpu, peak = [], [], 0.0
    for _ in range(RUNS if not words[-1].endswith((".jsonl", ".names")) else 1):
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "ckrules", "check", "--isolated", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        wall.append(time.perf_counter() - began)
        cpu.append(used.ru_utime + used.ru_stime)
        peak = max(peak, used.ru_maxrss / 1024)
    return min(wall), min(cpu), peak


def main() -> None:
    """Measures and prints a table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    names = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':36}{'wall s':>8}{'cpu s':>8}{'MB':>7}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "one.json").write_text(json.dumps(LEGAL))
        kernels = [kernel(i) for i in range(1000)]
        (folder / "many.json").write_text(json.dumps({"kernels": kernels}, indent=1))
        large = folder / "large.jsonl"
        lines = "".join(json.dumps(kernel(i)) + "\n" for i in range(1024))
        with large.open("w") as stream:
            while stream.tell() < megabytes << 20:
                stream.write(lines)
        for file, distinct in (("distinct.names", names), ("repeated.names", 1000)):
            with (folder / file).open("w") as stream:
                stream.writelines(f"{name(i % distinct)}\n" for i in range(names))
        rows = [
            ("one legal configuration", ["one.json"]),
            ("1,000 configurations", ["many.json"]),
            ("1,000 configurations, full", ["--format", "full", "many.json"]),
            ("1,000 configurations, sarif", ["--format", "sarif", "many.json"]),
            (f"{megabytes} MB of JSON Lines", ["--ignore", "CFG001", "large.jsonl"]),
            *(
                (
                    f"{names:,} {kind} names, {form}",
                    ["--arch", "gfx942", "--ignore", "CFG001", "--format", form, f"{kind}.names"],
                )
                for kind in ("distinct", "repeated")
                for form in ("concise", "sarif", "json", "jsonl", "github", "gitlab", "junit")
                if kind == "distinct" or form in ("concise", "sarif")
            ),
        ]
        for title, words in rows:
            wall, cpu, peak = measured(*words[:-1], str(folder / words[-1]))
            print(f"{title:36}{wall:8.2f}{cpu:8.2f}{peak:7.0f}")


if __name__ == "__main__":
    main()

"""The command line in this process and in one of its own, and a configuration to change."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from ckrules.cli.group import cli

ILLEGAL = (
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    "_96x64x64_2x2x1_32x32x8_vec4_8_8"
)
LEGAL: dict[str, Any] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2,
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3",
    "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 8, "vector_b": 8, "vector_c": 8,
}  # fmt: skip

#: A small part of the depthwise space, quick to compile.
SMALL = [
    *("--variant", "forward_depthwise", "--arch", "gfx942", "--dtype", "fp16"),
    *("--set", "filter=3", "--set", "nbatch=1", "--set", "stride_h=1", "--set", "stride_w=1"),
    *("--set", "pad_h=1", "--set", "pad_w=1"),
]


def run(*words: str, stdin: str | bytes | None = None) -> Result:
    """The command in this process; its ``stdout`` and ``stderr`` are kept apart."""
    return CliRunner().invoke(cli, list(words), input=stdin)


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "ckrules", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)


def legal(**changes: Any) -> dict[str, Any]:
    """The legal configuration with some fields changed; None takes a field away."""
    return {k: v for k, v in {**LEGAL, **changes}.items() if v is not None}


def write(folder: Path, name: str, content: str | bytes | Sequence[Any] | dict[str, Any]) -> str:
    """A file with this text, these bytes, or this value as JSON; returns its path."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def points_of(text: str) -> list[dict[str, Any]]:
    """The points of JSON Lines, without the CK version that each row says."""
    rows = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in row.items() if k != "ck"} for row in rows]

"""The kernels without rules that stand in aiter's lists and tables, by library.

Facts: ROCm/aiter of August 2026, aiter/configs and aiter/configs/model_configs (columns ``libtype`` and
``kernelName``), csrc/ck_gemm_* and csrc/ck_batched_gemm_* (dataclasses of the lists).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ckrules.kernels.reader_tables import OtherLibrary


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


OTHERS = tuple(
    OtherLibrary(**{key: _tuples(value) for key, value in said.items()})
    for said in tomllib.loads(
        Path(__file__).with_name("libraries.toml").read_text(encoding="utf-8")
    )["library"]
)
"""In the order in which a name is tried; the last takes every name."""

"""The package's model as what its file holds, for tests that change it."""

from __future__ import annotations

import copy
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from ckrules.ranking import ranker

MODEL = Path(ranker.__file__).parent / "models" / "forward_bf16_gfx950.model.gz"


@cache
def _text() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(MODEL.read_bytes()))
    return found


def content() -> dict[str, Any]:
    """The content, of its own for each caller."""
    return copy.deepcopy(_text())


def packed(changed: object) -> bytes:
    """A content as a file."""
    return gzip.compress(json.dumps(changed).encode(), 1)
